// What one call hears of its peer: how long it has said nothing, and whether its bytes
// come far more slowly than those of others. One thread hears, others look.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "node/peers/peer_rates.h"

namespace forebay::node {

class PeerSigns {
 public:
  // Bytes that take less time than this are never slow.
  static constexpr milliseconds kInterval{500};
  static constexpr milliseconds kLookGap{100};

  // Both must outlive this.
  explicit PeerSigns(PeerRates* rates, const Clock* clock = &Clock::Real())
      : rates_(*rates), clock_(*clock), heard_(clock->Now()), looked_(clock->Now()) {}

  // The call has begun: what was before does not count.
  void Begin() { heard_ = clock_.Now(); }
  void Heard();
  // It will be silent, however well it is: nothing follows from that.
  void Expect() { expected_ = true; }
  // A chunk's bytes follow; some of them were taken, after Heard; all of them were.
  void BodyBegins();
  void Took(uint64_t bytes);
  void BodyEnds();

  // While it lives this node is busy with what came, and waits for nothing: such time
  // does not count. By the thread that hears.
  class OwnTime {
   public:
    explicit OwnTime(PeerSigns* signs) : signs_(*signs) { signs_.own_time_ = true; }
    ~OwnTime();
    OwnTime(const OwnTime&) = delete;
    OwnTime& operator=(const OwnTime&) = delete;

   private:
    PeerSigns& signs_;
  };

  // Call this before each look at Trouble(), always from one thread. Where two looks are
  // further apart than kLookGap, this host stood still, and no silence of a peer follows
  // from the rest of the time.
  void Look();
  // How long it has been silent; or slow, which counts half.
  milliseconds Trouble() const;
  bool slow() const { return slow_.load() > milliseconds(0); }
  // Between two signs; by whoever hears.
  milliseconds longest_silence() const { return longest_; }

 private:
  struct Measured {
    uint64_t bytes = 0;
    std::chrono::nanoseconds waited{0};

    uint64_t rate() const;  // in bytes a second
  };

  PeerRates& rates_;
  const Clock& clock_;
  std::atomic<TimePoint> heard_;
  TimePoint looked_;
  std::atomic<bool> expected_{false};
  std::atomic<bool> own_time_{false};
  std::atomic<milliseconds> slow_{milliseconds(0)};
  milliseconds longest_{0};
  bool in_body_ = false;
  TimePoint waits_since_{};
  Measured body_;
  Measured interval_;
};

}  // namespace forebay::node
