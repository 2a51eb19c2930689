#include "table/filter/compare.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_decimal.h>
#include <arrow/array/array_primitive.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/float16.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "table/filter/value_set.h"
#include "table/iceberg/calendar.h"

namespace forebay::table::filter {
namespace {

using iceberg::Int128;
using iceberg::TypeId;
using iceberg::Value;

// Longer lists are hashed.
constexpr size_t kShortList = 8;
constexpr int64_t kMillisPerDay = 86'400'000;

Status WrongType(const Column& column, const arrow::Array& array) {
  return Status::Internal(fmt::format(
      "a filtered column has another type than its table says: column={} type={} got={}",
      column.path.back(), column.type.ToString(), array.type()->ToString()));
}

template <typename T>
std::vector<T> ValuesAs(const Predicate& predicate) {
  std::vector<T> values;
  for (const Value& value : predicate.values) values.push_back(std::get<T>(value));
  return values;
}

template <typename Get, typename T>
Mask CompareWithList(int64_t rows, const Get& get, const std::vector<T>& values,
                     bool wanted) {
  if (values.size() <= kShortList) {
    return FillMask(rows, [&](int64_t i) {
      auto x = get(i);
      bool found = false;
      for (const T& value : values) found |= x == value;
      return found == wanted;
    });
  }
  ValueSet<T> set(values);
  return FillMask(rows, [&](int64_t i) { return set.Contains(get(i)) == wanted; });
}

// Comparisons are written so that NaN is above everything.
template <typename Get, typename T>
Mask CompareEach(int64_t rows, Operator op, const Get& get,
                 const std::vector<T>& values) {
  const T v = values.front();
  switch (op) {
    case Operator::kLess: return FillMask(rows, [&](int64_t i) { return get(i) < v; });
    case Operator::kLessEqual:
      return FillMask(rows, [&](int64_t i) { return get(i) <= v; });
    case Operator::kGreater:
      return FillMask(rows, [&](int64_t i) { return !(get(i) <= v); });
    case Operator::kGreaterEqual:
      return FillMask(rows, [&](int64_t i) { return !(get(i) < v); });
    case Operator::kEqual: return FillMask(rows, [&](int64_t i) { return get(i) == v; });
    case Operator::kNotEqual:
      return FillMask(rows, [&](int64_t i) { return get(i) != v; });
    default: return CompareWithList(rows, get, values, op == Operator::kIn);
  }
}

// In the array's own type, which is quicker than widening every value.
template <typename T>
Mask CompareNative(const Predicate& predicate, const arrow::Array& array,
                   const std::vector<T>& values) {
  const T* data = array.data()->GetValues<T>(1);
  return CompareEach(
      array.length(), predicate.op, [data](int64_t i) { return data[i]; }, values);
}

template <typename T, typename Wide>
Mask CompareWidened(const Predicate& predicate, const arrow::Array& array) {
  const T* data = array.data()->GetValues<T>(1);
  return CompareEach(
      array.length(), predicate.op,
      [data](int64_t i) { return static_cast<Wide>(data[i]); },
      ValuesAs<Wide>(predicate));
}

Mask CompareInt32(const Predicate& predicate, const arrow::Array& array) {
  std::vector<int32_t> narrow;
  for (const Value& value : predicate.values) {
    auto wide = std::get<int64_t>(value);
    if (wide != static_cast<int32_t>(wide)) {
      return CompareWidened<int32_t, int64_t>(predicate, array);
    }
    narrow.push_back(static_cast<int32_t>(wide));
  }
  return CompareNative<int32_t>(predicate, array, narrow);
}

Mask CompareFloat(const Predicate& predicate, const arrow::Array& array) {
  std::vector<float> narrow;
  for (const Value& value : predicate.values) {
    double wide = std::get<double>(value);
    if (wide != static_cast<double>(static_cast<float>(wide))) {
      return CompareWidened<float, double>(predicate, array);
    }
    narrow.push_back(static_cast<float>(wide));
  }
  return CompareNative<float>(predicate, array, narrow);
}

Result<Mask> CompareIntegers(const Predicate& predicate, const Column& column,
                             const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::INT8: return CompareWidened<int8_t, int64_t>(predicate, array);
    case arrow::Type::INT16: return CompareWidened<int16_t, int64_t>(predicate, array);
    case arrow::Type::INT32: return CompareInt32(predicate, array);
    case arrow::Type::INT64:
      return CompareNative<int64_t>(predicate, array, ValuesAs<int64_t>(predicate));
    case arrow::Type::UINT8: return CompareWidened<uint8_t, int64_t>(predicate, array);
    case arrow::Type::UINT16: return CompareWidened<uint16_t, int64_t>(predicate, array);
    case arrow::Type::UINT32: return CompareWidened<uint32_t, int64_t>(predicate, array);
    default: return WrongType(column, array);
  }
}

float HalfToFloat(uint16_t bits) {
  return arrow::util::Float16::FromBits(bits).ToFloat();
}

Result<Mask> CompareFloats(const Predicate& predicate, const Column& column,
                           const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::FLOAT: return CompareFloat(predicate, array);
    case arrow::Type::DOUBLE:
      return CompareNative<double>(predicate, array, ValuesAs<double>(predicate));
    case arrow::Type::HALF_FLOAT: {
      const auto* data = array.data()->GetValues<uint16_t>(1);
      return CompareEach(
          array.length(), predicate.op,
          [data](int64_t i) { return double{HalfToFloat(data[i])}; },
          ValuesAs<double>(predicate));
    }
    default: return WrongType(column, array);
  }
}

int64_t PerSecond(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return 1;
    case arrow::TimeUnit::MILLI: return 1'000;
    case arrow::TimeUnit::MICRO: return 1'000'000;
    case arrow::TimeUnit::NANO: return 1'000'000'000;
  }
  return 1;
}

// Values times `factor`; what overflows stays at the end of the range.
template <typename T>
Mask CompareScaled(const Predicate& predicate, const arrow::Array& array,
                   int64_t factor) {
  const T* data = array.data()->GetValues<T>(1);
  auto get = [data, factor](int64_t i) {
    int64_t value = data[i];
    int64_t scaled = 0;
    if (!__builtin_mul_overflow(value, factor, &scaled)) return scaled;
    return value < 0 ? std::numeric_limits<int64_t>::min()
                     : std::numeric_limits<int64_t>::max();
  };
  return CompareEach(array.length(), predicate.op, get, ValuesAs<int64_t>(predicate));
}

Result<Mask> CompareDates(const Predicate& predicate, const Column& column,
                          const arrow::Array& array) {
  if (array.type_id() == arrow::Type::DATE32) return CompareInt32(predicate, array);
  if (array.type_id() != arrow::Type::DATE64) return WrongType(column, array);
  const auto* data = array.data()->GetValues<int64_t>(1);
  return CompareEach(
      array.length(), predicate.op,
      [data](int64_t i) { return iceberg::FloorDivide(data[i], kMillisPerDay); },
      ValuesAs<int64_t>(predicate));
}

Result<Mask> CompareTimestamps(const Predicate& predicate, const Column& column,
                               const arrow::Array& array) {
  if (array.type_id() != arrow::Type::TIMESTAMP) return WrongType(column, array);
  const auto& type = static_cast<const arrow::TimestampType&>(*array.type());
  bool nanos =
      column.type.id == TypeId::kTimestampNs || column.type.id == TypeId::kTimestampTzNs;
  int64_t factor = (nanos ? 1'000'000'000 : 1'000'000) / PerSecond(type.unit());
  if (factor == 0) return WrongType(column, array);
  if (factor > 1) return CompareScaled<int64_t>(predicate, array, factor);
  return CompareNative<int64_t>(predicate, array, ValuesAs<int64_t>(predicate));
}

// A plain file may have nanoseconds, which are finer than the literals.
Result<Mask> CompareTimes(const Predicate& predicate, const Column& column,
                          const arrow::Array& array) {
  if (array.type_id() == arrow::Type::TIME32) {
    auto unit = static_cast<const arrow::Time32Type&>(*array.type()).unit();
    return CompareScaled<int32_t>(predicate, array, 1'000'000 / PerSecond(unit));
  }
  if (array.type_id() != arrow::Type::TIME64) return WrongType(column, array);
  std::vector<int64_t> values = ValuesAs<int64_t>(predicate);
  auto unit = static_cast<const arrow::Time64Type&>(*array.type()).unit();
  if (unit == arrow::TimeUnit::NANO) {
    for (int64_t& value : values) value *= 1000;
  }
  return CompareNative<int64_t>(predicate, array, values);
}

template <typename T>
Int128 LoadDecimal(const uint8_t* bytes) {
  T value{};
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
Mask CompareUnscaled(const Predicate& predicate, const arrow::Array& array) {
  const uint8_t* data =
      array.data()->GetValues<uint8_t>(1, array.offset() * int64_t{sizeof(T)});
  return CompareEach(
      array.length(), predicate.op,
      [data](int64_t i) { return LoadDecimal<T>(data + i * int64_t{sizeof(T)}); },
      ValuesAs<Int128>(predicate));
}

Result<Mask> CompareDecimals(const Predicate& predicate, const Column& column,
                             const arrow::Array& array) {
  if (array.type_id() == arrow::Type::UINT64 && column.type.scale == 0) {
    return CompareUnscaled<uint64_t>(predicate, array);
  }
  if (!arrow::is_decimal(array.type_id()) ||
      static_cast<const arrow::DecimalType&>(*array.type()).scale() !=
          column.type.scale) {
    return WrongType(column, array);
  }
  switch (array.type_id()) {
    case arrow::Type::DECIMAL32: return CompareUnscaled<int32_t>(predicate, array);
    case arrow::Type::DECIMAL64: return CompareUnscaled<int64_t>(predicate, array);
    case arrow::Type::DECIMAL128: return CompareUnscaled<Int128>(predicate, array);
    default: return WrongType(column, array);
  }
}

template <typename Get>
Mask CompareTexts(const Predicate& predicate, int64_t rows, const Get& get) {
  std::vector<std::string_view> values;
  for (const Value& value : predicate.values) {
    values.emplace_back(std::get<std::string>(value));
  }
  bool prefix = predicate.op == Operator::kStartsWith;
  if (prefix || predicate.op == Operator::kNotStartsWith) {
    std::string_view v = values.front();
    return FillMask(rows, [&](int64_t i) { return get(i).starts_with(v) == prefix; });
  }
  return CompareEach(rows, predicate.op, get, values);
}

template <typename ArrayType>
Mask CompareViews(const Predicate& predicate, const arrow::Array& array) {
  const auto& typed = static_cast<const ArrayType&>(array);
  return CompareTexts(predicate, array.length(), [&typed](int64_t i) -> std::string_view {
    return typed.GetView(i);
  });
}

Result<Mask> CompareStrings(const Predicate& predicate, const Column& column,
                            const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return CompareViews<arrow::BinaryArray>(predicate, array);
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      return CompareViews<arrow::LargeBinaryArray>(predicate, array);
    case arrow::Type::FIXED_SIZE_BINARY:
      return CompareViews<arrow::FixedSizeBinaryArray>(predicate, array);
    default: return WrongType(column, array);
  }
}

Result<Mask> CompareBooleans(const Predicate& predicate, const Column& column,
                             const arrow::Array& array) {
  if (array.type_id() != arrow::Type::BOOL) return WrongType(column, array);
  const uint8_t* bits = array.data()->GetValues<uint8_t>(1, 0);
  int64_t offset = array.offset();
  // vector<bool> has no values to refer to.
  std::vector<int> values;
  for (const Value& value : predicate.values) values.push_back(std::get<bool>(value));
  return CompareEach(
      array.length(), predicate.op,
      [bits, offset](int64_t i) {
        return int{arrow::bit_util::GetBit(bits, offset + i)};
      },
      values);
}

}  // namespace

Result<Mask> Compare(const Predicate& predicate, const Column& column,
                     const arrow::Array& array) {
  if (array.length() == 0) return Mask();
  switch (column.type.id) {
    case TypeId::kBoolean: return CompareBooleans(predicate, column, array);
    case TypeId::kInt:
    case TypeId::kLong: return CompareIntegers(predicate, column, array);
    case TypeId::kFloat:
    case TypeId::kDouble: return CompareFloats(predicate, column, array);
    case TypeId::kDecimal: return CompareDecimals(predicate, column, array);
    case TypeId::kDate: return CompareDates(predicate, column, array);
    case TypeId::kTime: return CompareTimes(predicate, column, array);
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return CompareTimestamps(predicate, column, array);
    case TypeId::kString:
    case TypeId::kUuid:
    case TypeId::kFixed:
    case TypeId::kBinary: return CompareStrings(predicate, column, array);
    default: return WrongType(column, array);
  }
}

Result<Mask> FindNans(const Column& column, const arrow::Array& array) {
  switch (array.type_id()) {
    case arrow::Type::FLOAT: {
      const auto* data = array.data()->GetValues<float>(1);
      return FillMask(array.length(), [data](int64_t i) { return data[i] != data[i]; });
    }
    case arrow::Type::DOUBLE: {
      const auto* data = array.data()->GetValues<double>(1);
      return FillMask(array.length(), [data](int64_t i) { return data[i] != data[i]; });
    }
    case arrow::Type::HALF_FLOAT: {
      const auto* data = array.data()->GetValues<uint16_t>(1);
      return FillMask(array.length(),
                      [data](int64_t i) { return std::isnan(HalfToFloat(data[i])); });
    }
    default: return WrongType(column, array);
  }
}

}  // namespace forebay::table::filter
