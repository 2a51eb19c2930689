// Days and microseconds since 1970 as civil dates and times, and back (proleptic
// Gregorian, as ISO 8601 has it).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace forebay::table::iceberg {

struct CivilDate {
  int64_t year = 1970;
  int32_t month = 1;
  int32_t day = 1;
};

inline constexpr int64_t kSecondsPerDay = 86'400;

// Rounds down, also below zero.
constexpr int64_t FloorDivide(int64_t value, int64_t divisor) {
  int64_t quotient = value / divisor;
  return quotient - (value % divisor != 0 && (value < 0) != (divisor < 0) ? 1 : 0);
}

CivilDate CivilFromDays(int64_t days);
int64_t DaysFromCivil(const CivilDate& date);

// "2026-10-01", also with a signed year of more than four digits.
std::optional<int64_t> ParseDate(std::string_view text);
std::string FormatDate(int64_t days);

// "22:31:08.123456": units since midnight, `units_per_second` of them to a second; more
// digits than the unit has are refused.
std::optional<int64_t> ParseTime(std::string_view text, int64_t units_per_second);
std::string FormatTime(int64_t units, int64_t units_per_second);

struct ParsedTimestamp {
  int64_t units = 0;      // since 1970, in UTC where an offset was given
  bool has_zone = false;  // "Z" or "+02:00"
};
// "2017-11-16T22:31:08.123456+00:00"; a blank instead of the T and a plain date are also
// understood.
std::optional<ParsedTimestamp> ParseTimestamp(std::string_view text,
                                              int64_t units_per_second);
std::string FormatTimestamp(int64_t units, int64_t units_per_second);

}  // namespace forebay::table::iceberg
