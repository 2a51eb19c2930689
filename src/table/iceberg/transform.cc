#include "table/iceberg/transform.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "table/iceberg/calendar.h"
#include "table/iceberg/decimal.h"
#include "table/iceberg/murmur3.h"

namespace forebay::table::iceberg {
namespace {

constexpr std::pair<std::string_view, TransformKind> kPlain[] = {
    {"identity", TransformKind::kIdentity}, {"year", TransformKind::kYear},
    {"month", TransformKind::kMonth},       {"day", TransformKind::kDay},
    {"hour", TransformKind::kHour},         {"void", TransformKind::kVoid},
};

int32_t WidthOf(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return 0;
  text.remove_prefix(name.size());
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return 0;
  int32_t width = 0;
  const char* last = text.data() + text.size() - 1;
  auto [end, error] = std::from_chars(text.data() + 1, last, width);
  return error == std::errc() && end == last ? width : 0;
}

int64_t UnitsPerSecond(const Type& source) {
  bool nanos = source.id == TypeId::kTimestampNs || source.id == TypeId::kTimestampTzNs;
  return nanos ? 1'000'000'000 : 1'000'000;
}

uint32_t HashLong(int64_t value) {
  return Murmur3({reinterpret_cast<const char*>(&value), sizeof(value)});
}

uint32_t HashDouble(double value) {
  if (std::isnan(value)) return HashLong(0x7ff8000000000000);
  if (value == 0) value = 0;  // no negative zero
  return HashLong(std::bit_cast<int64_t>(value));
}

uint32_t Hash(const Type& source, const Value& value) {
  switch (value.index()) {
    case 1: return HashLong(std::get<bool>(value) ? 1 : 0);
    case 2: {
      auto number = std::get<int64_t>(value);
      // Nanoseconds hash as the microseconds they fall into.
      if (UnitsPerSecond(source) == 1'000'000'000) number = FloorDivide(number, 1000);
      return HashLong(number);
    }
    case 3: return HashDouble(std::get<double>(value));
    case 4: return Murmur3(DecimalToBytes(std::get<Int128>(value)));
    default: return Murmur3(std::get<std::string>(value));
  }
}

// Rounds down to a multiple; wraps at the ends of the type as writers do.
template <typename T, typename U>
T TruncateNumber(T value, int32_t width) {
  T remainder = value % width;
  if (remainder < 0) remainder += width;
  return static_cast<T>(static_cast<U>(value) - static_cast<U>(remainder));
}

// The longest prefix of at most `count` code points.
std::string_view Prefix(std::string_view text, int32_t count) {
  size_t i = 0;
  for (; i < text.size(); ++i) {
    bool starts = (static_cast<uint8_t>(text[i]) & 0xc0) != 0x80;
    if (starts && count-- == 0) break;
  }
  return text.substr(0, i);
}

Value Truncate(const Type& source, const Value& value, int32_t width) {
  if (auto* number = std::get_if<int64_t>(&value)) {
    return TruncateNumber<int64_t, uint64_t>(*number, width);
  }
  if (auto* decimal = std::get_if<Int128>(&value)) {
    return TruncateNumber<Int128, unsigned __int128>(*decimal, width);
  }
  if (auto* text = std::get_if<std::string>(&value)) {
    if (source.id == TypeId::kString) return std::string(Prefix(*text, width));
    return text->substr(0, static_cast<size_t>(width));
  }
  return value;
}

Value TimePart(TransformKind kind, const Type& source, int64_t value) {
  int64_t hour = 3600 * UnitsPerSecond(source);
  if (kind == TransformKind::kHour) return FloorDivide(value, hour);
  int64_t days = source.id == TypeId::kDate ? value : FloorDivide(value, 24 * hour);
  if (kind == TransformKind::kDay) return days;
  CivilDate date = CivilFromDays(days);
  if (kind == TransformKind::kYear) return date.year - 1970;
  return (date.year - 1970) * 12 + date.month - 1;
}

}  // namespace

Transform Transform::Parse(std::string_view text) {
  for (const auto& [name, kind] : kPlain) {
    if (text == name) return {.kind = kind};
  }
  if (int32_t width = WidthOf(text, "bucket"); width > 0) {
    return {.kind = TransformKind::kBucket, .width = width};
  }
  if (int32_t width = WidthOf(text, "truncate"); width > 0) {
    return {.kind = TransformKind::kTruncate, .width = width};
  }
  return {.kind = TransformKind::kUnknown};
}

std::string Transform::ToString() const {
  if (kind == TransformKind::kBucket) return fmt::format("bucket[{}]", width);
  if (kind == TransformKind::kTruncate) return fmt::format("truncate[{}]", width);
  for (const auto& [name, plain] : kPlain) {
    if (plain == kind) return std::string(name);
  }
  return "unknown";
}

Type Transform::ResultType(const Type& source) const {
  switch (kind) {
    case TransformKind::kBucket:
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kHour: return {.id = TypeId::kInt};
    case TransformKind::kDay: return {.id = TypeId::kDate};
    case TransformKind::kUnknown: return {.id = TypeId::kUnknown};
    default: return source;
  }
}

Value Transform::Apply(const Type& source, const Value& value) const {
  if (IsNull(value)) return {};
  switch (kind) {
    case TransformKind::kIdentity: return value;
    case TransformKind::kBucket:
      return static_cast<int64_t>((Hash(source, value) & INT32_MAX) %
                                  static_cast<uint32_t>(width));
    case TransformKind::kTruncate: return Truncate(source, value, width);
    case TransformKind::kYear:
    case TransformKind::kMonth:
    case TransformKind::kDay:
    case TransformKind::kHour:
      if (auto* number = std::get_if<int64_t>(&value)) {
        return TimePart(kind, source, *number);
      }
      return {};
    case TransformKind::kVoid:
    case TransformKind::kUnknown: return {};
  }
  return {};
}

}  // namespace forebay::table::iceberg
