#include "table/iceberg/value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "table/iceberg/calendar.h"
#include "table/iceberg/decimal.h"

namespace forebay::table::iceberg {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kNanos = 1'000'000'000;

int64_t UnitsPerSecond(TypeId id) {
  return id == TypeId::kTimestampNs || id == TypeId::kTimestampTzNs ? kNanos : kMicros;
}

bool HasZone(TypeId id) {
  return id == TypeId::kTimestampTz || id == TypeId::kTimestampTzNs;
}

template <typename T>
T Little(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

Status WrongSize(const Type& type, size_t size) {
  return Status::Corrupt(fmt::format(
      "a value has a wrong size for its type: type={} size={}", type.ToString(), size));
}

Result<Value> DecodeTimestamp(const Type& type, std::string_view bytes) {
  if (bytes.size() == 8) return Value(Little<int64_t>(bytes));
  if (bytes.size() != 4 || HasZone(type.id)) return WrongSize(type, bytes.size());
  // The column was a date when this was written.
  int64_t units = 0;
  if (__builtin_mul_overflow(Little<int32_t>(bytes) * kSecondsPerDay,
                             UnitsPerSecond(type.id), &units)) {
    return Status::Corrupt("a date does not fit the timestamp it was promoted to");
  }
  return Value(units);
}

Status NotOf(const Type& type, std::string_view json) {
  return Status::Corrupt(
      fmt::format("not a value of type {}: {}", type.ToString(), json.substr(0, 100)));
}

std::optional<std::string> FromHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    uint8_t byte = 0;
    auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

std::string ToHex(std::string_view bytes) {
  std::string hex;
  for (char c : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return hex;
}

std::optional<std::string> UuidFromText(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::string hex;
  for (size_t i = 0; i < text.size(); ++i) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash != (text[i] == '-')) return std::nullopt;
    if (!dash) hex += text[i];
  }
  return FromHex(hex);
}

std::optional<Value> FromText(const Type& type, const std::string& text) {
  auto value = [](auto parsed) -> std::optional<Value> {
    if (!parsed) return std::nullopt;
    return Value(*std::move(parsed));
  };
  switch (type.id) {
    case TypeId::kDecimal: return value(ParseDecimal(text, type));
    case TypeId::kDate: return value(ParseDate(text));
    case TypeId::kTime: return value(ParseTime(text, kMicros));
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: {
      auto parsed = ParseTimestamp(text, UnitsPerSecond(type.id));
      if (!parsed || parsed->has_zone != HasZone(type.id)) return std::nullopt;
      return Value(parsed->units);
    }
    case TypeId::kString: return Value(text);
    case TypeId::kUuid: return value(UuidFromText(text));
    case TypeId::kBinary: return value(FromHex(text));
    case TypeId::kFixed: {
      auto bytes = FromHex(text);
      if (bytes && bytes->size() != static_cast<size_t>(type.length)) return std::nullopt;
      return value(std::move(bytes));
    }
    case TypeId::kFloat:
    case TypeId::kDouble:
      if (text == "NaN") return Value(std::nan(""));
      if (text == "Infinity") return Value(HUGE_VAL);
      if (text == "-Infinity") return Value(-HUGE_VAL);
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Value> FromNumber(const Type& type, const Json& json) {
  if (type.id == TypeId::kFloat) {
    return Value(static_cast<double>(static_cast<float>(json.get<double>())));
  }
  if (type.id == TypeId::kDouble) return Value(json.get<double>());
  if (type.id != TypeId::kInt && type.id != TypeId::kLong) return std::nullopt;
  if (!json.is_number_integer()) return std::nullopt;
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) return std::nullopt;
  auto value = json.get<int64_t>();
  if (type.id == TypeId::kInt && value != static_cast<int32_t>(value)) {
    return std::nullopt;
  }
  return Value(value);
}

std::strong_ordering CompareDoubles(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) <=> std::isnan(b);
  if (a < b) return std::strong_ordering::less;
  return a > b ? std::strong_ordering::greater : std::strong_ordering::equal;
}

std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

std::string IntegerText(const Type& type, int64_t value) {
  switch (type.id) {
    case TypeId::kDate: return FormatDate(value);
    case TypeId::kTime: return FormatTime(value, kMicros);
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
      return FormatTimestamp(value, UnitsPerSecond(type.id)) +
             (HasZone(type.id) ? "Z" : "");
    default: return fmt::to_string(value);
  }
}

std::string BytesText(const Type& type, const std::string& bytes) {
  if (type.id == TypeId::kString) return Quoted(bytes);
  std::string hex = ToHex(bytes);
  if (type.id != TypeId::kUuid || hex.size() != 32) return "X'" + hex + "'";
  for (size_t dash : {20, 16, 12, 8}) hex.insert(dash, "-");
  return hex;
}

}  // namespace

Result<Value> DecodeValue(const Type& type, std::string_view bytes) {
  size_t size = bytes.size();
  switch (type.id) {
    case TypeId::kBoolean:
      if (size != 1) return WrongSize(type, size);
      return Value(bytes[0] != 0);
    case TypeId::kInt:
    case TypeId::kDate:
      if (size != 4) return WrongSize(type, size);
      return Value(static_cast<int64_t>(Little<int32_t>(bytes)));
    case TypeId::kLong:
      if (size == 4) return Value(static_cast<int64_t>(Little<int32_t>(bytes)));
      [[fallthrough]];
    case TypeId::kTime:
      if (size != 8) return WrongSize(type, size);
      return Value(Little<int64_t>(bytes));
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return DecodeTimestamp(type, bytes);
    case TypeId::kDouble:
      if (size == 8) return Value(Little<double>(bytes));
      [[fallthrough]];
    case TypeId::kFloat:
      if (size != 4) return WrongSize(type, size);
      return Value(static_cast<double>(Little<float>(bytes)));
    case TypeId::kDecimal: {
      auto unscaled = DecimalFromBytes(bytes);
      if (!unscaled) return WrongSize(type, size);
      return Value(*unscaled);
    }
    case TypeId::kUuid:
      if (size != 16) return WrongSize(type, size);
      return Value(std::string(bytes));
    case TypeId::kFixed:
      if (size != static_cast<size_t>(type.length)) return WrongSize(type, size);
      return Value(std::string(bytes));
    case TypeId::kString:
    case TypeId::kBinary: return Value(std::string(bytes));
    default:
      return Status::Unsupported("values of this type can't be decoded: type=" +
                                 type.ToString());
  }
}

Result<Value> ValueFromJson(const Type& type, std::string_view text) {
  if (!type.primitive()) {
    return Status::Unsupported("values of this type can't be read from JSON: type=" +
                               type.ToString());
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_null()) return Value();
  std::optional<Value> value;
  if (json.is_boolean() && type.id == TypeId::kBoolean) {
    value = Value(json.get<bool>());
  } else if (json.is_string()) {
    value = FromText(type, json.get<std::string>());
  } else if (json.is_number() && type.id == TypeId::kDecimal) {
    value = FromText(type, std::string(text));
  } else if (json.is_number()) {
    value = FromNumber(type, json);
  }
  if (!value) return NotOf(type, text);
  return *std::move(value);
}

std::strong_ordering Compare(const Type&, const Value& a, const Value& b) {
  if (a.index() != b.index()) return a.index() <=> b.index();
  switch (a.index()) {
    case 1: return std::get<bool>(a) <=> std::get<bool>(b);
    case 2: return std::get<int64_t>(a) <=> std::get<int64_t>(b);
    case 3: return CompareDoubles(std::get<double>(a), std::get<double>(b));
    case 4: {
      Int128 x = std::get<Int128>(a);
      Int128 y = std::get<Int128>(b);
      return x < y   ? std::strong_ordering::less
             : x > y ? std::strong_ordering::greater
                     : std::strong_ordering::equal;
    }
    case 5: {
      // char_traits<char> compares as unsigned bytes.
      int order = std::get<std::string>(a).compare(std::get<std::string>(b));
      return order <=> 0;
    }
    default: return std::strong_ordering::equal;
  }
}

std::string ToString(const Type& type, const Value& value) {
  switch (value.index()) {
    case 0: return "null";
    case 1: return std::get<bool>(value) ? "true" : "false";
    case 2: return IntegerText(type, std::get<int64_t>(value));
    case 3:
      return type.id == TypeId::kFloat
                 ? fmt::to_string(static_cast<float>(std::get<double>(value)))
                 : fmt::to_string(std::get<double>(value));
    case 4: return FormatDecimal(std::get<Int128>(value), type.scale);
    default: return BytesText(type, std::get<std::string>(value));
  }
}

}  // namespace forebay::table::iceberg
