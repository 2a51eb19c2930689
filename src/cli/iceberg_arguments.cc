#include "cli/iceberg_arguments.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <charconv>
#include <chrono>
#include <optional>

namespace forebay::cli {
namespace {

using Options = std::map<std::string, std::string>;

// Takes exactly `digits` digits from the front.
bool TakeDigits(std::string_view* text, size_t digits, int* out) {
  if (text->size() < digits) return false;
  const char* end = text->data() + digits;
  auto [rest, error] = std::from_chars(text->data(), end, *out);
  if (error != std::errc() || rest != end || text->front() == '-') return false;
  text->remove_prefix(digits);
  return true;
}

bool Take(std::string_view* text, std::string_view one_of) {
  if (text->empty() || one_of.find(text->front()) == one_of.npos) return false;
  text->remove_prefix(1);
  return true;
}

// "12:30", "12:30:05", "12:30:05.123456"
std::optional<int64_t> TakeClock(std::string_view* text) {
  int hours = 0, minutes = 0, seconds = 0;
  if (!TakeDigits(text, 2, &hours) || !Take(text, ":") ||
      !TakeDigits(text, 2, &minutes)) {
    return std::nullopt;
  }
  int64_t ms = 0;
  if (Take(text, ":")) {
    if (!TakeDigits(text, 2, &seconds)) return std::nullopt;
    int digit = 0;
    if (Take(text, ".,")) {
      if (text->empty() || text->front() < '0' || text->front() > '9')
        return std::nullopt;
      for (int64_t unit = 100; TakeDigits(text, 1, &digit); unit /= 10)
        ms += digit * unit;
    }
  }
  if (hours > 23 || minutes > 59 || seconds > 59) return std::nullopt;
  return ms + 1000 * (seconds + 60 * (minutes + 60 * int64_t{hours}));
}

// "Z", "+02:00", "+0200", "-07" or nothing: how far it is ahead of UTC.
std::optional<int64_t> TakeZone(std::string_view* text) {
  if (text->empty() || Take(text, "Zz")) return 0;
  int sign = text->front() == '-' ? -1 : 1;
  int hours = 0, minutes = 0;
  if (!Take(text, "+-") || !TakeDigits(text, 2, &hours)) return std::nullopt;
  Take(text, ":");
  if (!text->empty() && !TakeDigits(text, 2, &minutes)) return std::nullopt;
  if (hours > 18 || minutes > 59) return std::nullopt;
  return int64_t{sign} * (hours * 60 + minutes) * 60'000;
}

std::optional<int64_t> ParseIso(std::string_view text) {
  int year = 0, month = 0, day = 0;
  if (!TakeDigits(&text, 4, &year) || !Take(&text, "-") ||
      !TakeDigits(&text, 2, &month) || !Take(&text, "-") || !TakeDigits(&text, 2, &day)) {
    return std::nullopt;
  }
  std::chrono::year_month_day date(std::chrono::year(year),
                                   std::chrono::month(static_cast<unsigned>(month)),
                                   std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  int64_t ms = std::chrono::sys_days(date).time_since_epoch().count() * 86'400'000LL;
  if (text.empty()) return ms;
  if (!Take(&text, "Tt ")) return std::nullopt;
  auto clock = TakeClock(&text);
  if (!clock) return std::nullopt;
  auto zone = TakeZone(&text);
  if (!zone || !text.empty()) return std::nullopt;
  return ms + *clock - *zone;
}

std::optional<int64_t> ParseWhole(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number;
}

Status AddState(const IcebergArguments& arguments, Options* out) {
  int count = 0;
  for (const std::string* one :
       {&arguments.snapshot, &arguments.tag, &arguments.branch, &arguments.as_of}) {
    count += one->empty() ? 0 : 1;
  }
  if (count > 1) {
    return Status::Invalid("give at most one of --snapshot, --tag, --branch and --as-of");
  }
  if (!arguments.snapshot.empty()) {
    if (!ParseWhole(arguments.snapshot)) {
      return Status::Invalid(
          fmt::format("--snapshot wants the number of a snapshot, not "
                      "'{}'; for names there are --tag and --branch",
                      arguments.snapshot));
    }
    out->emplace("forebay.snapshot", arguments.snapshot);
  }
  if (!arguments.as_of.empty()) {
    FB_ASSIGN_OR_RETURN(int64_t ms, ParseInstant(arguments.as_of));
    out->emplace("forebay.as-of", std::to_string(ms));
  }
  if (!arguments.tag.empty()) out->emplace("forebay.tag", arguments.tag);
  if (!arguments.branch.empty()) out->emplace("forebay.branch", arguments.branch);
  return Status::OK();
}

Status AddRemaps(const std::vector<std::string>& remaps, Options* out) {
  for (const std::string& remap : remaps) {
    size_t equals = remap.find('=');
    if (equals == remap.npos || equals == 0 || equals + 1 == remap.size()) {
      return Status::Invalid(fmt::format(
          "--remap wants OLD=NEW, as s3://old-bucket/=s3://new-bucket/, not '{}'",
          remap));
    }
    std::string name = "forebay.remap." + remap.substr(0, equals);
    if (!out->emplace(name, remap.substr(equals + 1)).second) {
      return Status::Invalid(
          fmt::format("--remap {} is given twice", remap.substr(0, equals)));
    }
  }
  return Status::OK();
}

}  // namespace

void AddIcebergArguments(CLI::App& app, IcebergArguments* arguments) {
  auto add = [&app](const char* name, auto* value, const char* what, const char* text) {
    return app.add_option(name, *value, what)->option_text(text)->group("Iceberg");
  };
  add("--snapshot", &arguments->snapshot, "the state after this snapshot", "ID");
  add("--tag", &arguments->tag, "the state that this tag names", "NAME");
  add("--branch", &arguments->branch, "the newest state of this branch", "NAME");
  add("--as-of", &arguments->as_of, "the state at this time: 2026-10-01T00:00:00Z",
      "TIME");
  add("--filter", &arguments->filter,
      "only rows for which this holds: \"day >= '2026-10-01'\"", "TEXT");
  add("--remap", &arguments->remaps,
      "where paths in the metadata begin with OLD, read NEW; may be repeated", "OLD=NEW")
      ->take_all()
      ->allow_extra_args(false);
  add("--allow", &arguments->allowed,
      "files may also lie below this prefix; may be repeated", "PREFIX")
      ->take_all()
      ->allow_extra_args(false);
  add("--catalog", &arguments->catalog, "a catalog of PyIceberg's configuration", "NAME");
  add("--warehouse", &arguments->warehouse, "of the REST catalog", "NAME");
}

Result<Options> IcebergOptions(const IcebergArguments& arguments) {
  Options out;
  FB_RETURN_NOT_OK(AddState(arguments, &out));
  FB_RETURN_NOT_OK(AddRemaps(arguments.remaps, &out));
  for (size_t i = 0; i < arguments.allowed.size(); ++i) {
    out.emplace(fmt::format("forebay.allow.{}", i), arguments.allowed[i]);
  }
  if (!arguments.filter.empty()) out.emplace("forebay.filter", arguments.filter);
  if (!arguments.catalog.empty()) out.emplace("catalog", arguments.catalog);
  if (!arguments.warehouse.empty()) out.emplace("warehouse", arguments.warehouse);
  return out;
}

Result<int64_t> ParseInstant(std::string_view text) {
  if (auto iso = ParseIso(text)) return *iso;
  if (auto ms = ParseWhole(text)) return *ms;
  return Status::Invalid(
      fmt::format("'{}' is not a time; write 2026-10-01T00:00:00Z, "
                  "2026-10-01 or milliseconds since 1970",
                  text));
}

}  // namespace forebay::cli
