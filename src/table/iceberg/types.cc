#include "table/iceberg/types.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace forebay::table::iceberg {
namespace {

constexpr std::pair<std::string_view, TypeId> kNames[] = {
    {"boolean", TypeId::kBoolean},
    {"int", TypeId::kInt},
    {"long", TypeId::kLong},
    {"float", TypeId::kFloat},
    {"double", TypeId::kDouble},
    {"date", TypeId::kDate},
    {"time", TypeId::kTime},
    {"timestamp", TypeId::kTimestamp},
    {"timestamptz", TypeId::kTimestampTz},
    {"timestamp_ns", TypeId::kTimestampNs},
    {"timestamptz_ns", TypeId::kTimestampTzNs},
    {"string", TypeId::kString},
    {"uuid", TypeId::kUuid},
    {"binary", TypeId::kBinary},
    {"variant", TypeId::kVariant},
    {"geometry", TypeId::kGeometry},
    {"geography", TypeId::kGeography},
    {"unknown", TypeId::kUnknown},
};

constexpr int32_t kDecimalPrecisionMax = 38;
// Wider ones are no values of a column that anybody trains on.
constexpr int32_t kFixedLengthMax = 1 << 24;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<int32_t> ParseInt(std::string_view text) {
  text = Trim(text);
  int32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What stands between `open` and the closing character at the end of "name(…)".
std::optional<std::string_view> Arguments(std::string_view text, std::string_view name,
                                          std::string_view brackets) {
  if (!text.starts_with(name)) return std::nullopt;
  text = Trim(text.substr(name.size()));
  if (text.size() < 2 || text.front() != brackets[0] || text.back() != brackets[1]) {
    return std::nullopt;
  }
  return text.substr(1, text.size() - 2);
}

Status BadType(std::string_view text) {
  return Status::Corrupt(fmt::format("not a valid type: {}", text.substr(0, 100)));
}

Result<Type> ParseDecimal(std::string_view text, std::string_view arguments) {
  size_t comma = arguments.find(',');
  if (comma == arguments.npos) return BadType(text);
  auto precision = ParseInt(arguments.substr(0, comma));
  auto scale = ParseInt(arguments.substr(comma + 1));
  if (!precision || !scale || *precision < 1 || *precision > kDecimalPrecisionMax ||
      *scale < 0 || *scale > *precision) {
    return BadType(text);
  }
  return Type{.id = TypeId::kDecimal, .precision = *precision, .scale = *scale};
}

const Field* FindIn(const std::vector<Field>& fields, int32_t id) {
  for (const Field& field : fields) {
    if (field.id == id) return &field;
    if (const Field* inner = FindIn(field.type.fields, id)) return inner;
  }
  return nullptr;
}

}  // namespace

bool operator==(const Type& a, const Type& b) {
  return a.id == b.id && a.precision == b.precision && a.scale == b.scale &&
         a.length == b.length && a.fields == b.fields;
}

std::string Type::ToString() const {
  switch (id) {
    case TypeId::kDecimal: return fmt::format("decimal({},{})", precision, scale);
    case TypeId::kFixed: return fmt::format("fixed[{}]", length);
    case TypeId::kList: return fmt::format("list<{}>", fields[0].type.ToString());
    case TypeId::kMap:
      return fmt::format("map<{},{}>", fields[0].type.ToString(),
                         fields[1].type.ToString());
    case TypeId::kStruct: {
      std::string text = "struct<";
      for (const Field& field : fields) {
        if (&field != fields.data()) text += ",";
        text += field.name + ":" + field.type.ToString();
      }
      return text + ">";
    }
    default: break;
  }
  for (const auto& [name, type] : kNames) {
    if (type == id) return std::string(name);
  }
  return "unknown";
}

const Field* Schema::FindById(int32_t field_id) const { return FindIn(fields, field_id); }

const Field* Schema::FindByName(std::string_view name) const {
  for (const Field& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

Result<Type> ParsePrimitive(std::string_view text) {
  text = Trim(text);
  for (const auto& [name, id] : kNames) {
    if (text == name) return Type{.id = id};
  }
  if (auto arguments = Arguments(text, "decimal", "()")) {
    return ParseDecimal(text, *arguments);
  }
  if (auto arguments = Arguments(text, "fixed", "[]")) {
    auto length = ParseInt(*arguments);
    if (!length || *length < 0 || *length > kFixedLengthMax) return BadType(text);
    return Type{.id = TypeId::kFixed, .length = *length};
  }
  if (Arguments(text, "geometry", "()")) return Type{.id = TypeId::kGeometry};
  if (Arguments(text, "geography", "()")) return Type{.id = TypeId::kGeography};
  return Status::Unsupported(fmt::format(
      "the type is not known to this version of Forebay: type={}", text.substr(0, 100)));
}

}  // namespace forebay::table::iceberg
