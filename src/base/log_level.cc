#include "base/log_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/near_miss.h"

namespace forebay {
namespace {

using Level = spdlog::level::level_enum;

// In the order that errors list them; the others are other spellings.
constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error", "off"};
constexpr std::pair<std::string_view, Level> kSpellings[] = {
    {"debug", Level::debug},       {"info", Level::info}, {"warning", Level::warn},
    {"error", Level::err},         {"off", Level::off},   {"trace", Level::trace},
    {"critical", Level::critical}, {"warn", Level::warn}, {"err", Level::err}};

bool SameLetters(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

Result<Level> ParseLogLevel(std::string_view text) {
  for (const auto& [name, level] : kSpellings) {
    if (SameLetters(name, text)) return level;
  }
  return Status::Invalid(fmt::format("FOREBAY_LOG is '{}': the levels are {}{}", text,
                                     fmt::join(kLevels, ", "),
                                     DidYouMean(text, kLevels)));
}

Result<Level> LogLevel(Level default_level) {
  const char* wanted = std::getenv("FOREBAY_LOG");
  if (wanted == nullptr || *wanted == '\0') return default_level;
  return ParseLogLevel(wanted);
}

Status CheckLogLevel() { return LogLevel(Level::info).status(); }

}  // namespace forebay
