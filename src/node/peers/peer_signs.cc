#include "node/peers/peer_signs.h"

#include <algorithm>

namespace forebay::node {
namespace {

// Smaller ones tell more of the way than of the rate.
constexpr uint64_t kTellingBytes = 256 * 1024;

}  // namespace

uint64_t PeerSigns::Measured::rate() const {
  double seconds = std::chrono::duration<double>(waited).count();
  return static_cast<uint64_t>(static_cast<double>(bytes) / std::max(seconds, 1e-6));
}

void PeerSigns::Heard() {
  TimePoint now = clock_.Now();
  auto gap = std::chrono::duration_cast<milliseconds>(now - heard_.load());
  longest_ = std::max(longest_, gap);
  heard_ = now;
  if (!in_body_) return;
  body_.waited += now - waits_since_;
  interval_.waited += now - waits_since_;
}

void PeerSigns::BodyBegins() {
  in_body_ = true;
  body_ = {};
}

void PeerSigns::Took(uint64_t bytes) {
  body_.bytes += bytes;
  interval_.bytes += bytes;
  if (interval_.waited < kInterval) return;
  bool slow = rates_.IsSlow(interval_.rate());
  rates_.Record(interval_.rate());
  auto waited = std::chrono::duration_cast<milliseconds>(interval_.waited);
  slow_ = slow ? slow_.load() + waited : milliseconds(0);
  interval_ = {};
}

void PeerSigns::BodyEnds() {
  in_body_ = false;
  if (body_.bytes < kTellingBytes) return;
  if (!rates_.IsSlow(body_.rate())) slow_ = milliseconds(0);
  // What lasted longer was recorded in parts.
  if (body_.waited < kInterval) rates_.Record(body_.rate());
}

PeerSigns::OwnTime::~OwnTime() {
  signs_.waits_since_ = signs_.clock_.Now();
  signs_.heard_ = signs_.waits_since_;
  signs_.own_time_ = false;
}

void PeerSigns::Look() {
  TimePoint now = clock_.Now();
  auto missed = now - looked_ - kLookGap;
  looked_ = now;
  if (missed <= missed.zero()) return;
  TimePoint heard = heard_;
  // Fails where the peer was heard meanwhile, which is just as well.
  heard_.compare_exchange_strong(heard, std::min(now, heard + missed));
}

milliseconds PeerSigns::Trouble() const {
  if (expected_) return milliseconds(0);
  milliseconds slow = slow_.load() / 2;
  if (own_time_) return slow;
  auto silent = std::chrono::duration_cast<milliseconds>(clock_.Now() - heard_.load());
  return std::max(silent, slow);
}

}  // namespace forebay::node
