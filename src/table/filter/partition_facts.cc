#include "table/filter/partition_facts.h"

#include <cmath>
#include <limits>

#include "table/iceberg/calendar.h"

namespace forebay::table::filter {
namespace {

using iceberg::Int128;
using iceberg::TransformKind;
using iceberg::Type;
using iceberg::TypeId;
using iceberg::Value;

// Days and months of partitions beyond this are made up.
constexpr int64_t kOrdinalMax = int64_t{1} << 31;

std::optional<Value> Fitting(Int128 value) {
  if (value < std::numeric_limits<int64_t>::min() ||
      value > std::numeric_limits<int64_t>::max()) {
    return std::nullopt;
  }
  return Value(static_cast<int64_t>(value));
}

int64_t UnitsPerSecond(const Type& type) {
  bool nanos = type.id == TypeId::kTimestampNs || type.id == TypeId::kTimestampTzNs;
  return nanos ? 1'000'000'000 : 1'000'000;
}

bool IsTimestamp(const Type& type) {
  return type.id == TypeId::kTimestamp || type.id == TypeId::kTimestampTz ||
         type.id == TypeId::kTimestampNs || type.id == TypeId::kTimestampTzNs;
}

// The first value of the column that a year, month, day or hour begins with.
std::optional<Int128> BeginOf(const PartitionSource& source, int64_t ordinal) {
  Int128 days = ordinal;
  if (source.transform.kind == TransformKind::kYear) {
    days = iceberg::DaysFromCivil({.year = 1970 + ordinal, .month = 1, .day = 1});
  } else if (source.transform.kind == TransformKind::kMonth) {
    int64_t years = iceberg::FloorDivide(ordinal, 12);
    days =
        iceberg::DaysFromCivil({.year = 1970 + years,
                                .month = static_cast<int32_t>(ordinal - years * 12) + 1,
                                .day = 1});
  }
  if (source.type->id == TypeId::kDate) {
    if (source.transform.kind == TransformKind::kHour) return std::nullopt;
    return days;
  }
  if (!IsTimestamp(*source.type)) return std::nullopt;
  int64_t seconds =
      source.transform.kind == TransformKind::kHour ? 3600 : iceberg::kSecondsPerDay;
  return days * seconds * UnitsPerSecond(*source.type);
}

bool MadeUp(int64_t ordinal) { return ordinal > kOrdinalMax || ordinal < -kOrdinalMax; }

std::optional<Value> TimeLower(const PartitionSource& source, int64_t ordinal) {
  if (MadeUp(ordinal)) return std::nullopt;
  // Writers have rounded times before 1970 towards it: the value may belong one earlier.
  auto begin = BeginOf(source, ordinal <= 0 ? ordinal - 1 : ordinal);
  return begin ? Fitting(*begin) : std::nullopt;
}

std::optional<Value> TimeUpper(const PartitionSource& source, int64_t ordinal) {
  if (MadeUp(ordinal)) return std::nullopt;
  auto end = BeginOf(source, ordinal + 1);
  return end ? Fitting(*end - 1) : std::nullopt;
}

// Near the ends of a type truncation has wrapped around: the value tells nothing. An int
// column may be a long by now.
bool MayHaveWrapped(const Value& value, int32_t width) {
  auto* number = std::get_if<int64_t>(&value);
  if (number == nullptr) return false;
  int64_t int_max = std::numeric_limits<int32_t>::max();
  if (*number <= int_max && *number > int_max - width) return true;
  return *number > std::numeric_limits<int64_t>::max() - width;
}

struct Upper {
  std::optional<Value> value{};
  bool excluded = false;
};

Upper TruncatedUpper(const Value& value, int32_t width) {
  if (auto* number = std::get_if<int64_t>(&value)) {
    return {Value(*number + (width - 1))};
  }
  if (auto* decimal = std::get_if<Int128>(&value)) {
    Int128 upper = 0;
    if (__builtin_add_overflow(*decimal, Int128{width - 1}, &upper)) return {};
    return {Value(upper)};
  }
  auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return {};
  // Shorter than the width: nothing was cut off. Widths count characters, which are no
  // more than bytes.
  if (text->size() < static_cast<size_t>(width)) return {value};
  auto end = PrefixEnd(*text);
  return end ? Upper{Value(*end), true} : Upper{};
}

std::optional<Value> LowerOf(const PartitionSource& source, const Value& value) {
  switch (source.transform.kind) {
    case TransformKind::kIdentity: return value;
    case TransformKind::kTruncate:
      if (MayHaveWrapped(value, source.transform.width)) return std::nullopt;
      return value;
    default: return TimeLower(source, std::get<int64_t>(value));
  }
}

Upper UpperOf(const PartitionSource& source, const Value& value) {
  switch (source.transform.kind) {
    case TransformKind::kIdentity: return {value};
    case TransformKind::kTruncate:
      if (MayHaveWrapped(value, source.transform.width)) return {};
      return TruncatedUpper(value, source.transform.width);
    default: return {TimeUpper(source, std::get<int64_t>(value))};
  }
}

// Void and unknown values say nothing, not even of nulls.
bool SaysAnything(const iceberg::Transform& transform) {
  switch (transform.kind) {
    case TransformKind::kVoid:
    case TransformKind::kUnknown: return false;
    case TransformKind::kBucket:
    case TransformKind::kTruncate: return transform.width > 0;
    default: return true;
  }
}

bool IsNan(const Value& value) {
  auto* number = std::get_if<double>(&value);
  return number != nullptr && std::isnan(*number);
}

}  // namespace

bool IsBound(const Type& type, const Value& value) {
  switch (type.id) {
    case TypeId::kBoolean: return std::holds_alternative<bool>(value);
    case TypeId::kInt:
    case TypeId::kLong:
    case TypeId::kDate:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return std::holds_alternative<int64_t>(value);
    case TypeId::kFloat:
    case TypeId::kDouble: return std::holds_alternative<double>(value) && !IsNan(value);
    case TypeId::kDecimal: return std::holds_alternative<Int128>(value);
    case TypeId::kString:
    case TypeId::kUuid:
    case TypeId::kFixed:
    case TypeId::kBinary: return std::holds_alternative<std::string>(value);
    default: return false;
  }
}

ColumnFacts FactsOfPartition(const PartitionSource& source, const Value& value) {
  if (!SaysAnything(source.transform)) return {};
  if (iceberg::IsNull(value)) return {.may_be_nan = false, .may_be_value = false};
  if (IsNan(value)) return {.may_be_null = false, .may_be_value = false};
  return FactsOfRange(
      source,
      {.may_be_null = false, .may_be_nan = false, .lower = value, .upper = value});
}

ColumnFacts FactsOfRange(const PartitionSource& source, const PartitionRange& range) {
  if (!SaysAnything(source.transform)) return {};
  // Only identity keeps NaN what it is.
  bool identity = source.transform.kind == TransformKind::kIdentity;
  ColumnFacts facts{.may_be_null = range.may_be_null,
                    .may_be_nan = !identity || range.may_be_nan};
  if (source.transform.kind == TransformKind::kBucket) return facts;
  Type type = source.transform.ResultType(*source.type);
  if (range.lower && IsBound(type, *range.lower)) {
    facts.lower = LowerOf(source, *range.lower);
  }
  if (range.upper && IsBound(type, *range.upper)) {
    Upper upper = UpperOf(source, *range.upper);
    facts.upper = std::move(upper.value);
    facts.upper_excluded = upper.excluded;
  }
  return facts;
}

}  // namespace forebay::table::filter
