#include "base/size.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace forebay {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array<Unit, 13> kUnits = {{{"B", 1},
                                          {"K", 1 << 10},
                                          {"KiB", 1 << 10},
                                          {"KB", 1e3},
                                          {"M", 1 << 20},
                                          {"MiB", 1 << 20},
                                          {"MB", 1e6},
                                          {"G", 1 << 30},
                                          {"GiB", 1 << 30},
                                          {"GB", 1e9},
                                          {"T", 1099511627776.0},
                                          {"TiB", 1099511627776.0},
                                          {"TB", 1e12}}};

}  // namespace

Result<uint64_t> ParseSize(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (error == std::errc() && number >= 0 && std::isfinite(number)) {
    if (unit.empty() && number == 0) return uint64_t{0};
    if (unit.empty()) {
      return Status::Invalid(fmt::format("{0} what? write {0}GiB", text));
    }
    for (const Unit& known : kUnits) {
      if (known.name == unit && number * known.bytes < 9e18) {
        return static_cast<uint64_t>(number * known.bytes);
      }
    }
  }
  return Status::Invalid(
      fmt::format("not a size: '{}'; write it like 4GiB or 500MB", text));
}

std::string FormatSize(uint64_t bytes) {
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB", "GiB", "TiB"}) {
    value /= 1024;
    if (value < 1023.95 || std::string_view(unit) == "TiB") {
      return fmt::format("{:.1f} {}", value, unit);
    }
  }
  return "";
}

}  // namespace forebay
