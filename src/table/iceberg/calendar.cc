#include "table/iceberg/calendar.h"

#include <fmt/format.h>

#include <algorithm>

namespace forebay::table::iceberg {
namespace {

// Years of Java's and Arrow's widest timestamps are far inside this.
constexpr int64_t kYearMax = 9'999'999;
// What damaged files hold may be any number.
constexpr int64_t kDaysMax = int64_t{1} << 40;

// Takes exactly `digits` digits.
std::optional<int64_t> TakeDigits(std::string_view* text, size_t digits) {
  if (text->size() < digits) return std::nullopt;
  int64_t value = 0;
  for (char c : text->substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text->remove_prefix(digits);
  return value;
}

bool Take(std::string_view* text, char expected) {
  if (text->empty() || text->front() != expected) return false;
  text->remove_prefix(1);
  return true;
}

int32_t DaysInMonth(int64_t year, int64_t month) {
  constexpr int8_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

std::optional<int64_t> TakeDate(std::string_view* text) {
  bool negative = Take(text, '-');
  bool wide = negative || Take(text, '+');
  size_t digits = 0;
  while (digits < text->size() && (*text)[digits] >= '0' && (*text)[digits] <= '9') {
    ++digits;
  }
  if (digits < 4 || digits > 7 || (digits > 4 && !wide)) return std::nullopt;
  auto year = TakeDigits(text, digits);
  if (!year || *year > kYearMax || !Take(text, '-')) return std::nullopt;
  auto month = TakeDigits(text, 2);
  if (!month || *month < 1 || *month > 12 || !Take(text, '-')) return std::nullopt;
  auto day = TakeDigits(text, 2);
  int64_t signed_year = negative ? -*year : *year;
  if (!day || *day < 1 || *day > DaysInMonth(signed_year, *month)) return std::nullopt;
  return DaysFromCivil({.year = signed_year,
                        .month = static_cast<int32_t>(*month),
                        .day = static_cast<int32_t>(*day)});
}

// ".123456" in units; fails on more digits than the unit has, unless they are zeros.
std::optional<int64_t> TakeFraction(std::string_view* text, int64_t units_per_second) {
  if (!Take(text, '.')) return 0;
  int64_t scale = units_per_second;
  int64_t value = 0;
  size_t digits = 0;
  for (; !text->empty() && text->front() >= '0' && text->front() <= '9'; ++digits) {
    int64_t digit = text->front() - '0';
    if (scale == 1 && digit != 0) return std::nullopt;
    if (scale > 1) {
      scale /= 10;
      value += digit * scale;
    }
    text->remove_prefix(1);
  }
  return digits == 0 ? std::nullopt : std::optional(value);
}

std::optional<int64_t> TakeTime(std::string_view* text, int64_t units_per_second) {
  auto hour = TakeDigits(text, 2);
  if (!hour || *hour > 23 || !Take(text, ':')) return std::nullopt;
  auto minute = TakeDigits(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  int64_t second = 0;
  int64_t fraction = 0;
  if (Take(text, ':')) {  // seconds may be left out when they are zero
    auto seconds = TakeDigits(text, 2);
    if (!seconds || *seconds > 59) return std::nullopt;
    auto rest = TakeFraction(text, units_per_second);
    if (!rest) return std::nullopt;
    second = *seconds;
    fraction = *rest;
  }
  return ((*hour * 60 + *minute) * 60 + second) * units_per_second + fraction;
}

// Seconds east of UTC; nothing: no zone.
bool TakeZone(std::string_view* text, std::optional<int64_t>* seconds) {
  if (text->empty()) return true;
  if (Take(text, 'Z') || Take(text, 'z')) {
    *seconds = 0;
    return true;
  }
  bool west = text->front() == '-';
  if (!Take(text, '+') && !Take(text, '-')) return false;
  auto hour = TakeDigits(text, 2);
  Take(text, ':');
  auto minute = text->empty() ? std::optional<int64_t>(0) : TakeDigits(text, 2);
  if (!hour || !minute || *hour > 18 || *minute > 59) return false;
  *seconds = (*hour * 3600 + *minute * 60) * (west ? -1 : 1);
  return true;
}

}  // namespace

// Counts years from March, so that the leap day is a year's last.
CivilDate CivilFromDays(int64_t days) {
  days = std::clamp(days, -kDaysMax, kDaysMax) + 719'468;  // since 0000-03-01
  int64_t era = FloorDivide(days, 146'097);
  int64_t day_of_era = days - era * 146'097;
  int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  int64_t month = (5 * day_of_year + 2) / 153;  // 0: March
  CivilDate date;
  date.day = static_cast<int32_t>(day_of_year - (153 * month + 2) / 5 + 1);
  date.month = static_cast<int32_t>(month < 10 ? month + 3 : month - 9);
  date.year = year_of_era + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

int64_t DaysFromCivil(const CivilDate& date) {
  int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  int64_t era = FloorDivide(year, 400);
  int64_t year_of_era = year - era * 400;
  int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
  int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
  int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

std::optional<int64_t> ParseDate(std::string_view text) {
  auto days = TakeDate(&text);
  return text.empty() ? days : std::nullopt;
}

std::string FormatDate(int64_t days) {
  CivilDate date = CivilFromDays(days);
  std::string_view sign = date.year < 0 ? "-" : date.year > 9999 ? "+" : "";
  return fmt::format("{}{:04}-{:02}-{:02}", sign, date.year < 0 ? -date.year : date.year,
                     date.month, date.day);
}

std::optional<int64_t> ParseTime(std::string_view text, int64_t units_per_second) {
  auto units = TakeTime(&text, units_per_second);
  return text.empty() ? units : std::nullopt;
}

std::string FormatTime(int64_t units, int64_t units_per_second) {
  int64_t seconds = units / units_per_second;
  int64_t fraction = units % units_per_second;
  std::string text =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (fraction == 0) return text;
  int digits = units_per_second == 1'000'000'000 ? 9 : units_per_second == 1000 ? 3 : 6;
  return text + fmt::format(".{:0{}}", fraction, digits);
}

std::optional<ParsedTimestamp> ParseTimestamp(std::string_view text,
                                              int64_t units_per_second) {
  auto days = TakeDate(&text);
  if (!days) return std::nullopt;
  int64_t time = 0;
  std::optional<int64_t> zone;
  if (!text.empty()) {
    if (!Take(&text, 'T') && !Take(&text, 't') && !Take(&text, ' ')) return std::nullopt;
    auto parsed = TakeTime(&text, units_per_second);
    if (!parsed || !TakeZone(&text, &zone) || !text.empty()) return std::nullopt;
    time = *parsed;
  }
  int64_t units = 0;
  if (__builtin_mul_overflow(*days * kSecondsPerDay - zone.value_or(0), units_per_second,
                             &units) ||
      __builtin_add_overflow(units, time, &units)) {
    return std::nullopt;
  }
  return ParsedTimestamp{.units = units, .has_zone = zone.has_value()};
}

std::string FormatTimestamp(int64_t units, int64_t units_per_second) {
  int64_t day_units = kSecondsPerDay * units_per_second;
  int64_t time = units % day_units;
  if (time < 0) time += day_units;
  return FormatDate(FloorDivide(units, day_units)) + "T" +
         FormatTime(time, units_per_second);
}

}  // namespace forebay::table::iceberg
