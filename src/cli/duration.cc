#include "cli/duration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace forebay::cli {
namespace {

constexpr std::array<std::pair<std::string_view, int64_t>, 6> kUnits = {{
    {"ms", 1},
    {"s", 1000},
    {"", 1000},
    {"m", 60'000},
    {"h", 3'600'000},
    {"d", 86'400'000},
}};
constexpr int64_t kDaysMax = 365;

Status NotADuration(std::string_view text) {
  return Status::Invalid(
      fmt::format("'{}' is not a span of time; write 30s, 10m or 2h", text));
}

}  // namespace

Result<milliseconds> ParseDuration(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] =
      std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || !(number > 0)) return NotADuration(text);
  std::string_view unit(rest, static_cast<size_t>(end - rest));
  for (const auto& [name, ms] : kUnits) {
    if (unit != name) continue;
    double total = number * static_cast<double>(ms);
    if (total < 1 || total > static_cast<double>(kDaysMax * 86'400'000)) break;
    return milliseconds(static_cast<int64_t>(total));
  }
  return NotADuration(text);
}

std::string FormatDuration(milliseconds duration) {
  int64_t seconds = duration.count() / 1000;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  int64_t minutes = seconds / 60;
  if (minutes < 24 * 60) return fmt::format("{}h{:02}m", minutes / 60, minutes % 60);
  int64_t hours = minutes / 60;
  return fmt::format("{}d{:02}h", hours / 24, hours % 24);
}

std::string FormatAgo(int64_t wall_ns) {
  if (wall_ns == 0) return "-";
  int64_t seconds = (Clock::Real().WallNanos() - wall_ns) / 1'000'000'000;
  return FormatDuration(std::chrono::seconds(std::max<int64_t>(seconds, 0))) + " ago";
}

}  // namespace forebay::cli
