#include "cli/duration.h"

#include <gtest/gtest.h>

namespace forebay::cli {
namespace {

TEST(Duration, ParsesWhatPeopleWrite) {
  const std::pair<const char*, int64_t> table[] = {{"500ms", 500},    {"30s", 30'000},
                                                   {"30", 30'000},    {"1.5m", 90'000},
                                                   {"2h", 7'200'000}, {"1d", 86'400'000}};
  for (const auto& [text, ms] : table) {
    EXPECT_EQ(ParseDuration(text).ValueOrDie().count(), ms) << text;
  }
}

TEST(Duration, RefusesWhatIsNone) {
  for (const char* text :
       {"", "s", "0", "-3s", "3 s", "3x", "1e3s", "nan", "inf", "0.1ms", "100000d"}) {
    EXPECT_EQ(ParseDuration(text).status().code(), StatusCode::kInvalid) << text;
  }
}

TEST(Duration, FormatsWithTwoUnitsAtMost) {
  const std::pair<int64_t, const char*> table[] = {{0, "0s"},
                                                   {999, "0s"},
                                                   {59'999, "59s"},
                                                   {64'000, "1m04s"},
                                                   {3'599'000, "59m59s"},
                                                   {7'500'000, "2h05m"},
                                                   {90'000'000, "1d01h"}};
  for (const auto& [ms, text] : table) EXPECT_EQ(FormatDuration(milliseconds(ms)), text);
}

}  // namespace
}  // namespace forebay::cli
