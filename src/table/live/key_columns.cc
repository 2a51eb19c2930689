#include "table/live/key_columns.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/arrow_status.h"
#include "base/hash.h"

namespace forebay::table::live {
namespace {

using arrow::Type;
using ArrayPtr = std::shared_ptr<arrow::Array>;

constexpr uint64_t kNullBits = 0x9AE16A3B2F90404F;

// A bijection, so that single integers are their hashes.
uint64_t Mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93;
  return x ^ (x >> 32);
}

uint64_t Combine(uint64_t hash, uint64_t bits) {
  return Mix(hash * 0x9E3779B97F4A7C15 + bits);
}

// The value's bits as one number: exact for types of at most eight bytes.
template <typename T>
uint64_t BitsOf(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) value = std::numeric_limits<T>::quiet_NaN();
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  } else {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
}

uint64_t BitsOf(std::string_view bytes) { return HashBytes(bytes).low; }

// Calls visit(row - first, bits) with the bits of a column's values.
template <typename Array, typename Visit>
void VisitBits(const arrow::Array& array, int64_t first, int64_t count, Visit visit) {
  const auto& values = static_cast<const Array&>(array);
  bool nulls = array.null_count() > 0;
  for (int64_t i = 0; i < count; ++i) {
    bool null = nulls && array.IsNull(first + i);
    if constexpr (std::is_base_of_v<arrow::BinaryArray, Array> ||
                  std::is_base_of_v<arrow::FixedSizeBinaryArray, Array>) {
      visit(i, null ? kNullBits : BitsOf(std::string_view(values.GetView(first + i))));
    } else {
      visit(i, null ? kNullBits : BitsOf(values.Value(first + i)));
    }
  }
}

// False for types that can't be keys.
template <typename Visit>
bool VisitColumn(const arrow::Array& array, int64_t first, int64_t count, Visit visit) {
  switch (array.type_id()) {
    case Type::BOOL: VisitBits<arrow::BooleanArray>(array, first, count, visit); break;
    case Type::INT32: VisitBits<arrow::Int32Array>(array, first, count, visit); break;
    case Type::DATE32: VisitBits<arrow::Date32Array>(array, first, count, visit); break;
    case Type::INT64: VisitBits<arrow::Int64Array>(array, first, count, visit); break;
    case Type::TIME64: VisitBits<arrow::Time64Array>(array, first, count, visit); break;
    case Type::TIMESTAMP:
      VisitBits<arrow::TimestampArray>(array, first, count, visit);
      break;
    case Type::FLOAT: VisitBits<arrow::FloatArray>(array, first, count, visit); break;
    case Type::DOUBLE: VisitBits<arrow::DoubleArray>(array, first, count, visit); break;
    case Type::DECIMAL128:
    case Type::FIXED_SIZE_BINARY:
      VisitBits<arrow::FixedSizeBinaryArray>(array, first, count, visit);
      break;
    case Type::STRING:
    case Type::BINARY: VisitBits<arrow::BinaryArray>(array, first, count, visit); break;
    default: return false;
  }
  return true;
}

bool FitsHash(Type::type type) {
  switch (type) {
    case Type::BOOL:
    case Type::INT32:
    case Type::DATE32:
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::FLOAT:
    case Type::DOUBLE: return true;
    default: return false;
  }
}

Result<ArrayPtr> FindColumn(const arrow::RecordBatch& batch, const ChunkPath& path) {
  ArrayPtr array = path.empty() ? nullptr : batch.GetColumnByName(path[0]);
  for (size_t i = 1; i < path.size() && array != nullptr; ++i) {
    if (array->type_id() != Type::STRUCT) return ArrayPtr();
    const auto& parent = static_cast<const arrow::StructArray&>(*array);
    int index = parent.struct_type()->GetFieldIndex(path[i]);
    if (index < 0) return ArrayPtr();
    // Null where the struct is.
    FB_ASSIGN_OR_RETURN(array, FromArrow(parent.GetFlattenedField(index)));
  }
  return array;
}

void AppendBits(uint64_t bits, std::string* out) {
  out->append(reinterpret_cast<const char*>(&bits), sizeof(bits));
}

std::string_view BytesAt(const arrow::Array& array, int64_t row) {
  if (array.type_id() == Type::STRING || array.type_id() == Type::BINARY) {
    return static_cast<const arrow::BinaryArray&>(array).GetView(row);
  }
  return static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row);
}

}  // namespace

bool HashIsKey(const std::vector<std::shared_ptr<arrow::DataType>>& types) {
  return types.size() == 1 && FitsHash(types[0]->id());
}

Result<KeyColumns> KeyColumns::Make(const arrow::RecordBatch& batch,
                                    const std::vector<ChunkPath>& paths) {
  KeyColumns keys;
  keys.row_count_ = batch.num_rows();
  std::vector<std::shared_ptr<arrow::DataType>> types;
  for (const ChunkPath& path : paths) {
    FB_ASSIGN_OR_RETURN(ArrayPtr column, FindColumn(batch, path));
    if (column == nullptr) return Status::Internal("a batch lacks a key column");
    if (!VisitColumn(*column, 0, 0, [](int64_t, uint64_t) {})) {
      return Status::Unsupported(
          fmt::format("equality deletes by a column of type {} are not read",
                      column->type()->ToString()));
    }
    types.push_back(column->type());
    keys.columns_.push_back(std::move(column));
  }
  keys.hash_is_key_ = HashIsKey(types);
  return keys;
}

bool KeyColumns::MayHaveNulls() const {
  for (const ArrayPtr& column : columns_) {
    if (column->null_count() > 0) return true;
  }
  return false;
}

void KeyColumns::Hash(int64_t first, int64_t count, uint64_t* out) const {
  bool started = false;
  for (const ArrayPtr& column : columns_) {
    if (!started) {
      VisitColumn(*column, first, count,
                  [&](int64_t i, uint64_t bits) { out[i] = Mix(bits); });
    } else {
      VisitColumn(*column, first, count,
                  [&](int64_t i, uint64_t bits) { out[i] = Combine(out[i], bits); });
    }
    started = true;
  }
}

void KeyColumns::Encode(int64_t row, std::string* out) const {
  out->clear();
  for (const ArrayPtr& column : columns_) {
    bool null = column->IsNull(row);
    out->push_back(null ? 0 : 1);
    if (null) continue;
    if (FitsHash(column->type_id())) {
      VisitColumn(*column, row, 1,
                  [&](int64_t, uint64_t bits) { AppendBits(bits, out); });
    } else {
      std::string_view bytes = BytesAt(*column, row);
      AppendBits(bytes.size(), out);
      out->append(bytes);
    }
  }
}

}  // namespace forebay::table::live
