#include "table/conform.h"

#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/extension_type.h>

namespace forebay::table {
namespace {

using arrow::Type;
using DataPtr = std::shared_ptr<arrow::ArrayData>;
using TypePtr = std::shared_ptr<arrow::DataType>;
using DataResult = arrow::Result<DataPtr>;

arrow::Status RegisterKernels() {
  static const arrow::Status status = arrow::compute::Initialize();
  return status;
}

DataResult Cast(const DataPtr& data, const TypePtr& type, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(RegisterKernels());
  arrow::compute::ExecContext context(pool);
  ARROW_ASSIGN_OR_RAISE(
      arrow::Datum out,
      arrow::compute::Cast(arrow::Datum(data), type, arrow::compute::CastOptions::Safe(),
                           &context));
  return out.array();
}

DataResult DecodeRunEnds(const DataPtr& data, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(RegisterKernels());
  arrow::compute::ExecContext context(pool);
  ARROW_ASSIGN_OR_RAISE(arrow::Datum out,
                        arrow::compute::RunEndDecode(arrow::Datum(data), &context));
  return out.array();
}

// Works for every value type, nested ones too, which a cast would not.
DataResult DecodeDictionary(const DataPtr& data, arrow::MemoryPool* pool) {
  ARROW_RETURN_NOT_OK(RegisterKernels());
  const auto& type = static_cast<const arrow::DictionaryType&>(*data->type);
  auto indices = data->Copy();
  indices->type = type.index_type();
  indices->dictionary = nullptr;
  arrow::compute::ExecContext context(pool);
  ARROW_ASSIGN_OR_RAISE(
      arrow::Datum out,
      arrow::compute::Take(arrow::Datum(data->dictionary), arrow::Datum(indices),
                           arrow::compute::TakeOptions::NoBoundsCheck(), &context));
  return out.array();
}

// What there is besides the data and its type.
struct Rules {
  arrow::MemoryPool* pool;
  const by_id::ColumnFill* fill;
};

DataResult Conform(const DataPtr& data, const TypePtr& type, const Rules& rules) {
  return table::Conform(data, type, rules.pool, rules.fill);
}

DataResult WithChild(const DataPtr& data, const TypePtr& type, const Rules& rules) {
  auto out = data->Copy();
  out->type = type;
  ARROW_ASSIGN_OR_RAISE(out->child_data[0],
                        Conform(data->child_data[0], type->field(0)->type(), rules));
  return out;
}

DataResult ConformFixedList(const DataPtr& data, const TypePtr& type,
                            const Rules& rules) {
  int32_t given = static_cast<const arrow::FixedSizeListType&>(*data->type).list_size();
  int32_t wanted = static_cast<const arrow::FixedSizeListType&>(*type).list_size();
  if (given == wanted) return WithChild(data, type, rules);
  return arrow::Status::Invalid("lists of ", given, " values are not lists of ", wanted);
}

// A struct's child that the file does not have, or that has one value in it. nullptr:
// the file's own.
arrow::Result<DataPtr> FillChild(const arrow::Field& field, bool in_file, int64_t rows,
                                 const Rules& rules) {
  std::shared_ptr<arrow::Scalar> scalar;
  if (rules.fill != nullptr) {
    scalar = by_id::ColumnFill::Find(rules.fill->constants, field.name());
    if (scalar == nullptr && !in_file) {
      scalar = by_id::ColumnFill::Find(rules.fill->defaults, field.name());
    }
  }
  if (scalar == nullptr && in_file) return nullptr;
  if (scalar == nullptr) scalar = arrow::MakeNullScalar(field.type());
  ARROW_ASSIGN_OR_RAISE(auto array,
                        arrow::MakeArrayFromScalar(*scalar, rows, rules.pool));
  return array->data();
}

DataResult ConformStruct(const DataPtr& data, const TypePtr& type, const Rules& rules) {
  auto out = data->Copy();
  out->type = type;
  out->child_data.clear();
  const auto& from = static_cast<const arrow::StructType&>(*data->type);
  for (const auto& field : type->fields()) {
    std::vector<int> places = from.GetAllFieldIndices(field->name());
    if (places.size() > 1) {
      return arrow::Status::Invalid("the struct has the field '", field->name(),
                                    "' more than once");
    }
    int index = places.empty() ? -1 : places[0];
    ARROW_ASSIGN_OR_RAISE(
        DataPtr child, FillChild(*field, index >= 0, data->offset + data->length, rules));
    if (child == nullptr) {
      ARROW_ASSIGN_OR_RAISE(child,
                            Conform(data->child_data[index], field->type(), rules));
    }
    out->child_data.push_back(std::move(child));
  }
  return out;
}

// Entries are key and value by place; writers name them as they like.
DataResult ConformMap(const DataPtr& data, const TypePtr& type, const Rules& rules) {
  auto out = data->Copy();
  out->type = type;
  auto entries = data->child_data[0]->Copy();
  entries->type = type->field(0)->type();
  for (int i = 0; i < 2; ++i) {
    ARROW_ASSIGN_OR_RAISE(
        entries->child_data[i],
        Conform(entries->child_data[i], entries->type->field(i)->type(), rules));
  }
  out->child_data[0] = std::move(entries);
  return out;
}

// Arrow's cast from list views copies their offsets as if they were in order; this does
// not depend on the order.
template <typename View, typename List>
DataResult FromView(const DataPtr& data, arrow::MemoryPool* pool) {
  ARROW_ASSIGN_OR_RAISE(auto list, List::FromListView(View(data), pool));
  return list->data();
}

// list → large_list, list views → lists: first the layout, then the values.
DataResult ConformList(const DataPtr& data, const TypePtr& type, const Rules& rules) {
  arrow::MemoryPool* pool = rules.pool;
  if (data->type->id() == Type::LIST_VIEW) {
    ARROW_ASSIGN_OR_RAISE(auto list,
                          (FromView<arrow::ListViewArray, arrow::ListArray>(data, pool)));
    return Conform(list, type, rules);
  }
  if (data->type->id() == Type::LARGE_LIST_VIEW) {
    ARROW_ASSIGN_OR_RAISE(
        auto list,
        (FromView<arrow::LargeListViewArray, arrow::LargeListArray>(data, pool)));
    return Conform(list, type, rules);
  }
  const auto& value = data->type->field(0)->type();
  TypePtr layout =
      type->id() == Type::LIST ? arrow::list(value) : arrow::large_list(value);
  ARROW_ASSIGN_OR_RAISE(auto list, Cast(data, layout, pool));
  return WithChild(list, type, rules);
}

int64_t UnitsPerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return 1;
    case arrow::TimeUnit::MILLI: return 1'000;
    case arrow::TimeUnit::MICRO: return 1'000'000;
    case arrow::TimeUnit::NANO: return 1'000'000'000;
  }
  return 1;
}

int64_t FloorDivide(int64_t value, int64_t by) {
  int64_t quotient = value / by;
  return quotient - (value % by < 0 ? 1 : 0);
}

// Zones don't matter: both sides count from 1970 in UTC.
DataResult ConformTimestamp(const DataPtr& data, const TypePtr& type,
                            const Rules& rules) {
  const auto& wanted = static_cast<const arrow::TimestampType&>(*type);
  const auto& given = static_cast<const arrow::TimestampType&>(*data->type);
  auto out = data->Copy();
  out->type = type;
  if (given.unit() == wanted.unit()) return out;
  int64_t from = UnitsPerSecond(given.unit()), to = UnitsPerSecond(wanted.unit());
  arrow::TimestampArray values(data);
  ARROW_ASSIGN_OR_RAISE(
      auto buffer, arrow::AllocateBuffer((data->offset + data->length) * 8, rules.pool));
  auto* target = reinterpret_cast<int64_t*>(buffer->mutable_data());
  std::fill(target, target + data->offset, 0);
  for (int64_t i = 0; i < data->length; ++i) {
    int64_t value = values.IsNull(i) ? 0 : values.Value(i);
    int64_t& result = target[data->offset + i];
    if (from > to) {
      result = FloorDivide(value, from / to);
    } else if (__builtin_mul_overflow(value, to / from, &result)) {
      return arrow::Status::Invalid("a timestamp does not fit ", type->ToString());
    }
  }
  out->buffers[1] = std::move(buffer);
  return out;
}

// ORC has no fixed-size binary.
DataResult ConformFixed(const DataPtr& data, const TypePtr& type, const Rules& rules) {
  arrow::BinaryArray values(data);
  arrow::FixedSizeBinaryBuilder builder(type, rules.pool);
  ARROW_RETURN_NOT_OK(builder.Reserve(data->length));
  for (int64_t i = 0; i < data->length; ++i) {
    if (values.IsNull(i)) {
      builder.UnsafeAppendNull();
      continue;
    }
    std::string_view value = values.GetView(i);
    if (value.size() != static_cast<size_t>(builder.byte_width())) {
      return arrow::Status::Invalid("a value of ", value.size(), " bytes is not a ",
                                    type->ToString());
    }
    builder.UnsafeAppend(value);
  }
  ARROW_ASSIGN_OR_RAISE(auto array, builder.Finish());
  return array->data();
}

}  // namespace

DataResult Conform(const DataPtr& data, const TypePtr& type, arrow::MemoryPool* pool,
                   const by_id::ColumnFill* fill) {
  const Rules rules{pool, fill};
  Type::type from = data->type->id();
  Type::type to = type->id();
  if (from == Type::EXTENSION) {
    auto storage = data->Copy();
    storage->type = static_cast<const arrow::ExtensionType&>(*data->type).storage_type();
    return Conform(storage, type, rules);
  }
  if (from == Type::DICTIONARY) {
    ARROW_ASSIGN_OR_RAISE(auto plain, DecodeDictionary(data, pool));
    return Conform(plain, type, rules);
  }
  if (from == Type::RUN_END_ENCODED) {
    ARROW_ASSIGN_OR_RAISE(auto plain, DecodeRunEnds(data, pool));
    return Conform(plain, type, rules);
  }
  // Iceberg's type `unknown` reads as null whatever a file has; elsewhere values that no
  // column can hold are an error.
  bool is_unknown = fill != nullptr && to == Type::NA;
  if (from != to && (from == Type::NA || is_unknown)) {
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(type, data->length, pool));
    return nulls->data();
  }
  if (to == Type::LIST || to == Type::LARGE_LIST) {
    return from == to ? WithChild(data, type, rules) : ConformList(data, type, rules);
  }
  if (from == to && to == Type::STRUCT) return ConformStruct(data, type, rules);
  if (from == to && to == Type::MAP) return ConformMap(data, type, rules);
  if (from == to && to == Type::FIXED_SIZE_LIST) {
    return ConformFixedList(data, type, rules);
  }
  if (data->type->Equals(*type)) return data;
  if (fill != nullptr && from == Type::TIMESTAMP && to == Type::TIMESTAMP) {
    return ConformTimestamp(data, type, rules);
  }
  if (from == Type::BINARY && to == Type::FIXED_SIZE_BINARY) {
    return ConformFixed(data, type, rules);
  }
  return Cast(data, type, pool);
}

}  // namespace forebay::table
