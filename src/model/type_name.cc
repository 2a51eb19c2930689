#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

#include "model/schema.h"

namespace forebay::model {
namespace {

const std::unordered_map<std::string_view, std::string_view>& PlainNames() {
  static const std::unordered_map<std::string_view, std::string_view> names = {
      {"n", "null"},
      {"b", "bool"},
      {"c", "int8"},
      {"C", "uint8"},
      {"s", "int16"},
      {"S", "uint16"},
      {"i", "int32"},
      {"I", "uint32"},
      {"l", "int64"},
      {"L", "uint64"},
      {"e", "halffloat"},
      {"f", "float"},
      {"g", "double"},
      {"z", "binary"},
      {"Z", "large_binary"},
      {"u", "string"},
      {"U", "large_string"},
      {"tdD", "date32"},
      {"tdm", "date64"},
      {"tts", "time32[s]"},
      {"ttm", "time32[ms]"},
      {"ttu", "time64[us]"},
      {"ttn", "time64[ns]"},
      {"tDs", "duration[s]"},
      {"tDm", "duration[ms]"},
      {"tDu", "duration[us]"},
      {"tDn", "duration[ns]"},
      {"tiM", "month_interval"},
      {"tiD", "day_time_interval"},
      {"tin", "month_day_nano_interval"}};
  return names;
}

std::string Children(const Field& field) {
  std::string out;
  for (const Field& child : field.children) {
    if (!out.empty()) out += ", ";
    out += field.format == "+s" ? child.name + ": " + TypeName(child) : TypeName(child);
  }
  return out;
}

std::string TimestampName(std::string_view format) {
  std::string_view unit = format[2] == 's'   ? "s"
                          : format[2] == 'm' ? "ms"
                          : format[2] == 'u' ? "us"
                                             : "ns";
  std::string_view zone = format.substr(4);
  if (zone.empty()) return fmt::format("timestamp[{}]", unit);
  return fmt::format("timestamp[{}, {}]", unit, zone);
}

}  // namespace

std::string TypeName(const Field& field) {
  std::string_view format = field.format;
  if (auto it = PlainNames().find(format); it != PlainNames().end()) {
    return std::string(it->second);
  }
  if (format.starts_with("ts") && format.size() >= 4) return TimestampName(format);
  if (format.starts_with("w:")) return fmt::format("fixed[{}]", format.substr(2));
  if (format.starts_with("d:")) return fmt::format("decimal({})", format.substr(2));
  if (format == "+l") return fmt::format("list<{}>", Children(field));
  if (format == "+L") return fmt::format("large_list<{}>", Children(field));
  if (format == "+m") return fmt::format("map<{}>", Children(field));
  if (format == "+s") return fmt::format("struct<{}>", Children(field));
  if (format.starts_with("+w:")) {
    return fmt::format("fixed_size_list<{}>[{}]", Children(field), format.substr(3));
  }
  return std::string(format);
}

}  // namespace forebay::model
