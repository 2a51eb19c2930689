#include "table/by_id/value_scalar.h"

#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <limits>

namespace forebay::table::by_id {
namespace {

using arrow::Type;
using ScalarPtr = std::shared_ptr<arrow::Scalar>;
using TypePtr = std::shared_ptr<arrow::DataType>;

ScalarPtr OfInt(int64_t value, const TypePtr& type) {
  auto narrow = static_cast<int32_t>(value);
  bool fits = narrow == value;
  switch (type->id()) {
    case Type::INT32:
      return fits ? std::make_shared<arrow::Int32Scalar>(narrow) : nullptr;
    case Type::DATE32:
      return fits ? std::make_shared<arrow::Date32Scalar>(narrow) : nullptr;
    case Type::INT64: return std::make_shared<arrow::Int64Scalar>(value);
    case Type::TIME64: return std::make_shared<arrow::Time64Scalar>(value, type);
    case Type::TIMESTAMP: return std::make_shared<arrow::TimestampScalar>(value, type);
    default: return nullptr;
  }
}

ScalarPtr OfDouble(double value, const TypePtr& type) {
  if (type->id() == Type::FLOAT) {
    return std::make_shared<arrow::FloatScalar>(static_cast<float>(value));
  }
  return type->id() == Type::DOUBLE ? std::make_shared<arrow::DoubleScalar>(value)
                                    : nullptr;
}

ScalarPtr OfDecimal(iceberg::Int128 value, const TypePtr& type) {
  if (type->id() != Type::DECIMAL128) return nullptr;
  arrow::Decimal128 decimal(static_cast<int64_t>(value >> 64),
                            static_cast<uint64_t>(value));
  int32_t precision = static_cast<const arrow::Decimal128Type&>(*type).precision();
  if (!decimal.FitsInPrecision(precision)) return nullptr;
  return std::make_shared<arrow::Decimal128Scalar>(decimal, type);
}

ScalarPtr OfBytes(const std::string& value, const TypePtr& type) {
  auto bytes = arrow::Buffer::FromString(value);
  switch (type->id()) {
    case Type::STRING: return std::make_shared<arrow::StringScalar>(bytes);
    case Type::BINARY: return std::make_shared<arrow::BinaryScalar>(bytes);
    case Type::FIXED_SIZE_BINARY: {
      auto width = static_cast<const arrow::FixedSizeBinaryType&>(*type).byte_width();
      if (bytes->size() != width) return nullptr;
      return std::make_shared<arrow::FixedSizeBinaryScalar>(bytes, type);
    }
    default: return nullptr;
  }
}

}  // namespace

Result<ScalarPtr> ScalarOf(const iceberg::Value& value, const TypePtr& type) {
  ScalarPtr out;
  if (iceberg::IsNull(value)) return arrow::MakeNullScalar(type);
  if (auto* v = std::get_if<bool>(&value)) {
    if (type->id() == Type::BOOL) out = std::make_shared<arrow::BooleanScalar>(*v);
  } else if (auto* v = std::get_if<int64_t>(&value)) {
    out = OfInt(*v, type);
  } else if (auto* v = std::get_if<double>(&value)) {
    out = OfDouble(*v, type);
  } else if (auto* v = std::get_if<iceberg::Int128>(&value)) {
    out = OfDecimal(*v, type);
  } else if (auto* v = std::get_if<std::string>(&value)) {
    out = OfBytes(*v, type);
  }
  if (out == nullptr) {
    return Status::Invalid(
        fmt::format("a value in the table's metadata is not a {}", type->ToString()));
  }
  return out;
}

}  // namespace forebay::table::by_id
