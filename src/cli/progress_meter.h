// Shows how far a long verb is: a bar that is redrawn on a terminal, now and then a plain
// line elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace forebay::cli {

struct Progress {
  uint64_t done = 0;
  uint64_t total = 0;
  uint64_t bytes = 0;  // so far, for the rate
};

class ProgressMeter {
 public:
  struct Options {
    std::string label;  // "warmup"
    std::string unit;   // what `done` counts: "rows"
    bool terminal = false;
    size_t width = 80;  // of the terminal
    const Clock* clock = &Clock::Real();
    std::function<void(std::string_view)> write;
  };
  // To stderr, a bar if that is a terminal.
  static Options Stderr(std::string label, std::string unit);

  explicit ProgressMeter(Options options) : options_(std::move(options)) {}
  ~ProgressMeter() { End(); }
  ProgressMeter(const ProgressMeter&) = delete;
  ProgressMeter& operator=(const ProgressMeter&) = delete;

  void Update(const Progress& progress);
  // Takes the bar off the terminal, so that other lines can follow.
  void End();

 private:
  void Learn(const Progress& progress);
  bool IsDue() const;
  std::string Rate() const;
  std::optional<milliseconds> Left(const Progress& progress) const;
  std::string Bar(const Progress& progress) const;
  std::string Line(const Progress& progress) const;

  const Options options_;
  std::optional<Progress> last_;
  TimePoint last_time_;
  TimePoint shown_time_;
  bool shown_ = false;
  bool drawn_ = false;  // a bar is on the terminal
  // Per second, smoothed: what was cached before comes in no time and says nothing about
  // the rest.
  double done_rate_ = 0;
  double bytes_rate_ = 0;
  double weight_ = 0;
};

}  // namespace forebay::cli
