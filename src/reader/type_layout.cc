#include "reader/type_layout.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace forebay::reader {
namespace {

std::optional<uint64_t> ParseCount(std::string_view digits) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  // Wider would overflow the arithmetic of rows × width long before memory allows it.
  if (value > INT32_MAX) return std::nullopt;
  return value;
}

// Bytes of "d:precision,scale[,bits]".
std::optional<uint64_t> DecimalWidth(std::string_view format) {
  size_t first = format.find(',');
  if (first == std::string_view::npos) return std::nullopt;
  size_t second = format.find(',', first + 1);
  if (second == std::string_view::npos) return 16;
  auto bits = ParseCount(format.substr(second + 1));
  if (!bits || *bits == 0 || *bits % 8 != 0) return std::nullopt;
  return *bits / 8;
}

std::optional<uint64_t> PlainWidth(char c) {
  switch (c) {
    case 'c':
    case 'C': return 1;
    case 's':
    case 'S':
    case 'e': return 2;
    case 'i':
    case 'I':
    case 'f': return 4;
    case 'l':
    case 'L':
    case 'g': return 8;
    default: return std::nullopt;
  }
}

// Dates, times, timestamps, durations, intervals.
std::optional<uint64_t> TemporalWidth(std::string_view format) {
  if (format == "tdD" || format == "tts" || format == "ttm" || format == "tiM") return 4;
  if (format == "tdm" || format == "ttu" || format == "ttn" || format == "tiD") return 8;
  if (format == "tin") return 16;
  if (format.starts_with("ts") && format.size() >= 4 && format[3] == ':') return 8;
  if (format.starts_with("tD") && format.size() == 3) return 8;
  return std::nullopt;
}

std::optional<uint64_t> FixedWidth(std::string_view format) {
  if (format.size() == 1) return PlainWidth(format[0]);
  if (format.starts_with("w:")) return ParseCount(format.substr(2));
  if (format.starts_with("d:")) return DecimalWidth(format);
  return TemporalWidth(format);
}

std::optional<TypeLayout> FlatLayout(std::string_view format) {
  if (format == "n") return TypeLayout{Layout::kNull, 0};
  if (format == "b") return TypeLayout{Layout::kBool, 0};
  if (format == "u" || format == "z") return TypeLayout{Layout::kBinary32, 0};
  if (format == "U" || format == "Z") return TypeLayout{Layout::kBinary64, 0};
  if (auto width = FixedWidth(format)) return TypeLayout{Layout::kFixed, *width};
  return std::nullopt;
}

std::optional<TypeLayout> NestedLayout(std::string_view format) {
  if (format == "+l" || format == "+m") return TypeLayout{Layout::kList32, 0};
  if (format == "+L") return TypeLayout{Layout::kList64, 0};
  if (format == "+s") return TypeLayout{Layout::kStruct, 0};
  if (format.starts_with("+w:")) {
    if (auto n = ParseCount(format.substr(3))) return TypeLayout{Layout::kFixedList, *n};
  }
  return std::nullopt;
}

bool IsKnownElsewhere(std::string_view format) {
  return format == "vu" || format == "vz" || format == "+vl" || format == "+vL" ||
         format == "+r" || format.starts_with("+ud:") || format.starts_with("+us:");
}

}  // namespace

Result<TypeLayout> LayoutOf(const model::Field& field) {
  if (IsKnownElsewhere(field.format)) {
    return Status::Unsupported(fmt::format(
        "Column \"{}\" has the type {}, which batches do not carry: leave it out.",
        field.name, model::TypeName(field)));
  }
  auto flat = FlatLayout(field.format);
  if (flat && field.children.empty()) return *flat;
  auto nested = NestedLayout(field.format);
  bool any_children = nested && nested->layout == Layout::kStruct;
  if (nested && (any_children || field.children.size() == 1)) return *nested;
  return Status::Invalid(
      fmt::format("Column \"{}\" has the type \"{}\" with {} children, which is no type.",
                  field.name, field.format, field.children.size()));
}

int BufferCount(Layout layout) {
  switch (layout) {
    case Layout::kNull: return 0;
    case Layout::kFixedList:
    case Layout::kStruct: return 1;
    case Layout::kBool:
    case Layout::kFixed:
    case Layout::kList32:
    case Layout::kList64: return 2;
    case Layout::kBinary32:
    case Layout::kBinary64: return 3;
  }
  return 0;
}

}  // namespace forebay::reader
