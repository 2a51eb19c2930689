#include "table/filter/literal.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "table/filter/number.h"
#include "table/iceberg/calendar.h"

namespace forebay::table::filter {
namespace {

using iceberg::Int128;
using iceberg::Type;
using iceberg::TypeId;
using Kind = Literal::Kind;

constexpr size_t kShownBytes = 40;

std::string Shown(const Literal& literal) {
  if (literal.kind == Kind::kBytes) return "X'…'";
  std::string text = literal.text.substr(0, kShownBytes);
  while (text.size() == kShownBytes && !text.empty() &&
         (static_cast<unsigned char>(text.back()) & 0x80) != 0) {
    text.pop_back();  // may be half a character
  }
  if (text.size() < literal.text.size()) text += "…";
  return literal.kind == Kind::kString ? fmt::format("'{}'", text) : text;
}

Status Misfit(const Literal& literal, const Type& type, std::string_view advice) {
  std::string name = type.ToString();
  bool vowel = std::string_view("aeiou").find(name.front()) != std::string_view::npos;
  return Status::Invalid(fmt::format("{} is not {} {}: {}", Shown(literal),
                                     vowel ? "an" : "a", name, advice));
}

struct Limits {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};

Located WithinLimits(const Floored& floored, Limits limits) {
  if (floored.overflow < 0 || floored.value < limits.min) return {Position::kBelow};
  if (floored.overflow > 0 || floored.value > limits.max) return {Position::kAbove};
  return {floored.exact ? Position::kExact : Position::kBetween,
          static_cast<int64_t>(floored.value)};
}

std::optional<Number> NumberOf(const Literal& literal) {
  if (literal.kind != Kind::kNumber && literal.kind != Kind::kString) return std::nullopt;
  return Number::Parse(literal.text);
}

Result<Located> LocateInteger(const Literal& literal, const Type& type) {
  auto number = NumberOf(literal);
  if (!number) return Misfit(literal, type, "write a number");
  Limits limits;
  if (type.id == TypeId::kInt) {
    limits = {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
  }
  return WithinLimits(FloorAt(*number, 0), limits);
}

Result<Located> LocateDecimal(const Literal& literal, const Type& type) {
  auto number = NumberOf(literal);
  if (!number) return Misfit(literal, type, "write a number");
  Floored floored = FloorAt(*number, type.scale);
  if (floored.overflow < 0) return Located{Position::kBelow};
  if (floored.overflow > 0) return Located{Position::kAbove};
  return Located{floored.exact ? Position::kExact : Position::kBetween, floored.value};
}

std::optional<double> SpecialFloat(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  double infinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return std::nan("");
  if (text == "inf" || text == "+inf" || text == "infinity") return infinity;
  if (text == "-inf" || text == "-infinity") return -infinity;
  return std::nullopt;
}

// The nearest double; infinite where the number is beyond all finite ones.
double ToDouble(const Number& number) {
  if (number.digits.empty()) return 0;
  std::string text = fmt::format("{}e{}", number.digits, number.exponent);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    bool huge = number.exponent + static_cast<int64_t>(number.digits.size()) > 0;
    value = huge ? std::numeric_limits<double>::infinity() : 0;
  }
  return number.negative ? -value : value;
}

Result<Located> LocateFloat(const Literal& literal, const Type& type) {
  if (literal.kind == Kind::kString) {
    if (auto special = SpecialFloat(literal.text)) {
      if (std::isnan(*special)) return Located{Position::kNan};
      return Located{Position::kExact, *special};
    }
  }
  auto number = NumberOf(literal);
  if (!number) return Misfit(literal, type, "write a number");
  bool single = type.id == TypeId::kFloat;
  double value = ToDouble(*number);
  if (single) value = static_cast<double>(static_cast<float>(value));
  double largest = single ? double{std::numeric_limits<float>::max()}
                          : std::numeric_limits<double>::max();
  // A finite number beyond the finite values lies between them and infinity.
  if (std::isinf(value)) return Located{Position::kBetween, value > 0 ? largest : value};
  return Located{Position::kExact, value == 0 ? 0.0 : value};
}

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kNanos = 1'000'000'000;

// More digits than the unit has put it between two values.
Located FromNanos(int64_t nanos) {
  int64_t micros = iceberg::FloorDivide(nanos, 1000);
  return {micros * 1000 == nanos ? Position::kExact : Position::kBetween, micros};
}

Result<Located> LocateTime(const Literal& literal, const Type& type) {
  auto nanos = literal.kind == Kind::kString ? iceberg::ParseTime(literal.text, kNanos)
                                             : std::optional<int64_t>();
  if (!nanos) return Misfit(literal, type, "write it as '23:59:59' or '23:59:59.123456'");
  return FromNanos(*nanos);
}

bool HasZone(TypeId id) {
  return id == TypeId::kTimestampTz || id == TypeId::kTimestampTzNs;
}

bool HasNanos(TypeId id) {
  return id == TypeId::kTimestampNs || id == TypeId::kTimestampTzNs;
}

// A literal without a zone, for a column with one, is in UTC.
Result<Located> LocateTimestamp(const Literal& literal, const Type& type) {
  std::optional<iceberg::ParsedTimestamp> micros;
  std::optional<iceberg::ParsedTimestamp> nanos;
  if (literal.kind == Kind::kString) {
    micros = iceberg::ParseTimestamp(literal.text, kMicros);
    nanos = iceberg::ParseTimestamp(literal.text, kNanos);
  }
  if (!micros && !nanos) {
    return Misfit(literal, type,
                  HasZone(type.id) ? "write it as '2026-10-01T12:00:00Z'"
                                   : "write it as '2026-10-01T12:00:00'");
  }
  if ((micros ? micros : nanos)->has_zone && !HasZone(type.id)) {
    return Misfit(literal, type, "the column has no time zone, leave the zone out");
  }
  if (!HasNanos(type.id)) {
    return micros ? Located{Position::kExact, micros->units} : FromNanos(nanos->units);
  }
  if (nanos) return Located{Position::kExact, nanos->units};
  // Beyond the years that nanoseconds reach.
  return Located{micros->units < 0 ? Position::kBelow : Position::kAbove};
}

Result<Located> LocateDate(const Literal& literal, const Type& type) {
  auto days = literal.kind == Kind::kString ? iceberg::ParseDate(literal.text)
                                            : std::optional<int64_t>();
  if (!days) return Misfit(literal, type, "write it as '2026-10-01'");
  return Located{Position::kExact, *days};
}

Result<Located> LocateUuid(const Literal& literal, const Type& type) {
  constexpr size_t kUuidBytes = 16;
  if (literal.kind == Kind::kBytes && literal.text.size() == kUuidBytes) {
    return Located{Position::kExact, literal.text};
  }
  bool plain = literal.kind == Kind::kString &&
               literal.text.find_first_of("\"\\") == std::string::npos;
  auto value = plain ? iceberg::ValueFromJson(type, '"' + literal.text + '"')
                     : Result<iceberg::Value>(iceberg::Value());
  if (!value.ok() || iceberg::IsNull(*value)) {
    return Misfit(literal, type, "write it as 'f79c3e09-677c-4bbd-a479-3f349cb785e7'");
  }
  return Located{Position::kExact, *std::move(value)};
}

Result<Located> LocateBytes(const Literal& literal, const Type& type) {
  bool fits = literal.kind == Kind::kBytes || literal.kind == Kind::kString;
  if (type.id == TypeId::kFixed) {
    fits = fits && literal.text.size() == static_cast<size_t>(type.length);
  }
  if (!fits) return Misfit(literal, type, "write its bytes in hex, as in X'00ff'");
  return Located{Position::kExact, literal.text};
}

}  // namespace

Result<Located> Locate(const Literal& literal, const Type& type) {
  switch (type.id) {
    case TypeId::kBoolean:
      if (literal.kind != Kind::kBoolean) {
        return Misfit(literal, type, "write true or false");
      }
      return Located{Position::kExact, literal.text == "true"};
    case TypeId::kInt:
    case TypeId::kLong: return LocateInteger(literal, type);
    case TypeId::kFloat:
    case TypeId::kDouble: return LocateFloat(literal, type);
    case TypeId::kDecimal: return LocateDecimal(literal, type);
    case TypeId::kDate: return LocateDate(literal, type);
    case TypeId::kTime: return LocateTime(literal, type);
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return LocateTimestamp(literal, type);
    case TypeId::kString:
      if (literal.kind != Kind::kString) {
        return Misfit(literal, type, "put it in 'single quotes'");
      }
      return Located{Position::kExact, literal.text};
    case TypeId::kUuid: return LocateUuid(literal, type);
    case TypeId::kFixed:
    case TypeId::kBinary: return LocateBytes(literal, type);
    default: break;
  }
  return Misfit(literal, type, "such columns can only be tested with 'is null'");
}

}  // namespace forebay::table::filter
