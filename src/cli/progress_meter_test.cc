#include "cli/progress_meter.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay::cli {
namespace {

using std::chrono::seconds;

struct Fixture {
  FakeClock clock;
  std::vector<std::string> written;

  ProgressMeter::Options Options(bool terminal, size_t width = 100) {
    return {.label = "warmup",
            .unit = "rows",
            .terminal = terminal,
            .width = width,
            .clock = &clock,
            .write = [this](std::string_view text) { written.emplace_back(text); }};
  }
};

constexpr uint64_t kMiB = 1 << 20;

TEST(ProgressMeter, DrawsABarWithRateAndTimeLeft) {
  Fixture f;
  ProgressMeter meter(f.Options(true));
  meter.Update({.done = 0, .total = 1000, .bytes = 0});
  f.clock.Advance(seconds(1));
  meter.Update({.done = 250, .total = 1000, .bytes = 10 * kMiB});
  ASSERT_EQ(f.written.size(), 2);
  EXPECT_EQ(f.written[0], "\rwarmup [........................] 0.0 %  0/1000 rows\x1b[K");
  EXPECT_EQ(f.written[1],
            "\rwarmup [######..................] 25.0 %  250/1000 rows  10.0 MiB/s  "
            "ETA 3s\x1b[K");
  meter.End();
  EXPECT_EQ(f.written.back(), "\r\x1b[K");
}

TEST(ProgressMeter, WritesPlainLinesNowAndThenWithoutATerminal) {
  Fixture f;
  {
    ProgressMeter meter(f.Options(false));
    for (uint64_t i = 0; i <= 100; ++i) {
      meter.Update({.done = i, .total = 100, .bytes = i * kMiB});
      f.clock.Advance(std::chrono::milliseconds(100));
    }
  }
  EXPECT_EQ(f.written, (std::vector<std::string>{
                           "warmup: 0.0 %, 0 of 100 rows\n",
                           "warmup: 50.0 %, 50 of 100 rows, 10.0 MiB/s, 5s left\n",
                           "warmup: 100.0 %, 100 of 100 rows, 10.0 MiB/s, 0s left\n"}));
}

TEST(ProgressMeter, NeverSaysHundredPercentTooEarly) {
  Fixture f;
  ProgressMeter meter(f.Options(false));
  meter.Update({.done = 999'999, .total = 1'000'000});
  EXPECT_EQ(f.written.back(), "warmup: 99.9 %, 999999 of 1000000 rows\n");
}

TEST(ProgressMeter, OfNothingIsDone) {
  Fixture f;
  ProgressMeter meter(f.Options(false));
  meter.Update({});
  EXPECT_EQ(f.written.back(), "warmup: 100.0 %, 0 of 0 rows\n");
}

TEST(ProgressMeter, FitsANarrowTerminal) {
  Fixture f;
  ProgressMeter meter(f.Options(true, 20));
  meter.Update({.done = 1, .total = 2});
  EXPECT_EQ(f.written.back(), "\rwarmup [###########\x1b[K");
}

TEST(ProgressMeter, ForgetsWhatWasCachedBefore) {
  Fixture f;
  ProgressMeter meter(f.Options(false));
  meter.Update({.done = 0, .total = 10'000});
  f.clock.Advance(seconds(1));
  meter.Update({.done = 5'000, .total = 10'000});
  for (int i = 0; i < 60; ++i) {
    f.clock.Advance(seconds(1));
    meter.Update({.done = 5'000 + static_cast<uint64_t>(i) * 10, .total = 10'000});
  }
  // 10 rows a second and about 4,400 to go, though the average would say 50 s.
  std::string line = f.written.back();
  EXPECT_NE(line.find("7m"), std::string::npos) << line;
}

}  // namespace
}  // namespace forebay::cli
