#include "cli/progress_meter.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/size.h"
#include "cli/duration.h"

namespace forebay::cli {
namespace {

constexpr milliseconds kBarInterval = milliseconds(100);
constexpr milliseconds kLineInterval = std::chrono::seconds(5);
// How long a rate remembers.
constexpr double kMemorySeconds = 5;
constexpr size_t kBarWidth = 24;
constexpr size_t kTerminalWidthMin = 20;

size_t TerminalWidth() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::max<size_t>(size.ws_col, kTerminalWidthMin);
}

double Share(const Progress& progress) {
  if (progress.total == 0) return 1;
  double share = static_cast<double>(progress.done) / static_cast<double>(progress.total);
  return std::min(share, 1.0);
}

// Rounded down: 100 % is said only when nothing is left.
std::string Percent(const Progress& progress) {
  return fmt::format("{:.1f} %", std::floor(Share(progress) * 1000) / 10);
}

double Since(uint64_t now, uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

ProgressMeter::Options ProgressMeter::Stderr(std::string label, std::string unit) {
  return {.label = std::move(label),
          .unit = std::move(unit),
          .terminal = ::isatty(STDERR_FILENO) == 1,
          .width = TerminalWidth(),
          .write = [](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stderr);
            std::fflush(stderr);
          }};
}

void ProgressMeter::Update(const Progress& progress) {
  Learn(progress);
  if (!IsDue()) return;
  shown_ = true;
  shown_time_ = options_.clock->Now();
  if (!options_.terminal) return options_.write(Line(progress));
  // Erases to the end of the line, so that a shorter bar leaves nothing behind.
  options_.write("\r" + Bar(progress) + "\x1b[K");
  drawn_ = true;
}

void ProgressMeter::End() {
  if (drawn_) options_.write("\r\x1b[K");
  drawn_ = false;
}

void ProgressMeter::Learn(const Progress& progress) {
  TimePoint now = options_.clock->Now();
  double seconds = std::chrono::duration<double>(now - last_time_).count();
  if (last_ && seconds <= 0) return;
  if (last_) {
    double keep = std::exp(-seconds / kMemorySeconds);
    auto mix = [&](double old, double fresh) { return keep * old + (1 - keep) * fresh; };
    done_rate_ = mix(done_rate_, Since(progress.done, last_->done) / seconds);
    bytes_rate_ = mix(bytes_rate_, Since(progress.bytes, last_->bytes) / seconds);
    weight_ = mix(weight_, 1);
  }
  last_ = progress;
  last_time_ = now;
}

bool ProgressMeter::IsDue() const {
  if (!shown_) return true;
  milliseconds interval = options_.terminal ? kBarInterval : kLineInterval;
  return options_.clock->Now() - shown_time_ >= interval;
}

std::string ProgressMeter::Rate() const {
  if (weight_ <= 0) return "";
  return FormatSize(static_cast<uint64_t>(bytes_rate_ / weight_)) + "/s";
}

std::optional<milliseconds> ProgressMeter::Left(const Progress& progress) const {
  if (weight_ <= 0 || done_rate_ <= 0) return std::nullopt;
  double seconds = Since(progress.total, progress.done) / (done_rate_ / weight_);
  constexpr double kLongest = 99 * 86400.0;
  return milliseconds(static_cast<int64_t>(std::min(seconds, kLongest) * 1000));
}

std::string ProgressMeter::Bar(const Progress& progress) const {
  auto full = static_cast<size_t>(Share(progress) * kBarWidth);
  std::string bar = fmt::format("{} [{:.<{}}] {}  {}/{} {}", options_.label,
                                std::string(full, '#'), kBarWidth, Percent(progress),
                                progress.done, progress.total, options_.unit);
  if (std::string rate = Rate(); !rate.empty()) bar += "  " + rate;
  if (auto left = Left(progress)) bar += "  ETA " + FormatDuration(*left);
  // One column stays free: a full line would wrap and could not be redrawn.
  bar.resize(std::min(bar.size(), options_.width - 1));
  return bar;
}

std::string ProgressMeter::Line(const Progress& progress) const {
  std::string line = fmt::format("{}: {}, {} of {} {}", options_.label, Percent(progress),
                                 progress.done, progress.total, options_.unit);
  if (std::string rate = Rate(); !rate.empty()) line += ", " + rate;
  if (auto left = Left(progress)) line += ", " + FormatDuration(*left) + " left";
  return line + "\n";
}

}  // namespace forebay::cli
