#include <charconv>
#include <string_view>

#include "table/filter/bind.h"

namespace forebay::table::filter {
namespace {

using iceberg::Type;
using iceberg::TypeId;

// Of "9,2" or "9,2,128".
Type DecimalType(std::string_view arguments) {
  Type type{.id = TypeId::kDecimal};
  const char* end = arguments.data() + arguments.size();
  auto precision = std::from_chars(arguments.data(), end, type.precision);
  if (precision.ec != std::errc() || precision.ptr == end) return {};
  auto scale = std::from_chars(precision.ptr + 1, end, type.scale);
  // 256 bits and negative scales have no place in Iceberg.
  bool fits = scale.ec == std::errc() && type.precision <= 38 && type.scale >= 0;
  return fits && !std::string_view(scale.ptr, end).starts_with(",256") ? type : Type{};
}

bool IsUuid(const model::Field& field) {
  for (const auto& [key, value] : field.metadata) {
    if (key == "ARROW:extension:name" && value == "arrow.uuid") return true;
  }
  return false;
}

Type FixedType(const model::Field& field) {
  if (field.format == "w:16" && IsUuid(field)) return {.id = TypeId::kUuid};
  Type type{.id = TypeId::kFixed};
  std::string_view size = std::string_view(field.format).substr(2);
  std::from_chars(size.data(), size.data() + size.size(), type.length);
  return type;
}

// "tsu:UTC", "tdD", "ttm", …
Type TimeType(std::string_view format) {
  if (format.starts_with("td")) return {.id = TypeId::kDate};
  if (format.starts_with("tt")) return {.id = TypeId::kTime};
  if (!format.starts_with("ts") || format.size() < 4) return {};
  bool zone = format.size() > 4;
  if (format[2] == 'n') {
    return {.id = zone ? TypeId::kTimestampTzNs : TypeId::kTimestampNs};
  }
  return {.id = zone ? TypeId::kTimestampTz : TypeId::kTimestamp};
}

Type LetterType(char letter) {
  switch (letter) {
    case 'b': return {.id = TypeId::kBoolean};
    case 'c':
    case 'C':
    case 's':
    case 'S':
    case 'i': return {.id = TypeId::kInt};
    case 'I':
    case 'l': return {.id = TypeId::kLong};
    case 'L': return {.id = TypeId::kDecimal, .precision = 20};  // uint64 has 20 digits
    case 'e':
    case 'f': return {.id = TypeId::kFloat};
    case 'g': return {.id = TypeId::kDouble};
    case 'u':
    case 'U': return {.id = TypeId::kString};
    case 'z':
    case 'Z': return {.id = TypeId::kBinary};
    default: return {};
  }
}

class Converter {
 public:
  explicit Converter(int32_t next_id) : next_id_(next_id) {}

  iceberg::Field Convert(const model::Field& field, int32_t id) {
    iceberg::Field converted;
    converted.id = id;
    converted.name = field.name;
    converted.required = !field.nullable;
    converted.type = ConvertType(field);
    return converted;
  }

 private:
  Type ConvertType(const model::Field& field) {
    std::string_view format = field.format;
    if (format.size() == 1) return LetterType(format[0]);
    if (format.starts_with("w:")) return FixedType(field);
    if (format.starts_with("d:")) return DecimalType(format.substr(2));
    if (format.starts_with("t")) return TimeType(format);
    if (format == "+s") return {.id = TypeId::kStruct, .fields = Children(field)};
    if (format == "+m" && field.children.size() == 1) {
      return {.id = TypeId::kMap, .fields = Children(field.children[0])};
    }
    if (format == "+l" || format == "+L" || format.starts_with("+w:")) {
      return {.id = TypeId::kList, .fields = Children(field)};
    }
    return {};
  }

  std::vector<iceberg::Field> Children(const model::Field& field) {
    std::vector<iceberg::Field> children;
    for (const model::Field& child : field.children) {
      int32_t id = next_id_++;
      children.push_back(Convert(child, id));
    }
    return children;
  }

  int32_t next_id_;
};

}  // namespace

iceberg::Schema FromPlainSchema(const model::Schema& schema) {
  iceberg::Schema converted;
  Converter converter(static_cast<int32_t>(schema.fields.size()));
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    converted.fields.push_back(
        converter.Convert(schema.fields[i], static_cast<int32_t>(i)));
  }
  return converted;
}

}  // namespace forebay::table::filter
