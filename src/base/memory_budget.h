// Memory that jobs reserve before they use it, instead of failing when it runs out.
//
// A job says how much it needs at its peak and waits until that much is free. The most
// urgent job is first in line, and among equally urgent ones the one that came first.
// Nobody overtakes the first in line, so small jobs do not starve a large one.
//
// A job that holds a reservation must not wait for anything that itself needs one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/status.h"

namespace forebay {

// Thread-safe; outlives its reservations.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  class Reservation;

  struct Request {
    // More than the capacity: the job runs alone, and takes what the memory pool gives.
    uint64_t bytes = 0;
    bool alone = false;  // whatever `bytes` is
    // Lower is more urgent. May be lowered while the job waits; then call Reorder.
    // nullptr: 0.
    const std::atomic<int>* urgency = nullptr;
    Deadline deadline = Deadline::Never();
    // Given back first, whatever comes of it: a job never holds memory while it waits for
    // more. Nobody less urgent gets in between.
    Reservation* instead_of = nullptr;
  };

  // Given back when it ends.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Reservation&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Reservation() {
      if (budget_ != nullptr) budget_->Release(bytes_);
    }
    uint64_t bytes() const { return bytes_; }
    // True while no other job holds a reservation.
    bool alone() const {
      return budget_ != nullptr && bytes_ == budget_->capacity_bytes_;
    }

   private:
    friend class MemoryBudget;
    Reservation(MemoryBudget* budget, uint64_t bytes) : budget_(budget), bytes_(bytes) {}

    MemoryBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  // kDeadline or kCancelled when the job could not start in time.
  Result<Reservation> Reserve(const Request& request);
  // Nothing where it would have to wait.
  std::optional<Reservation> TryReserve(uint64_t bytes);
  // To be called after the urgency of a waiting job was lowered.
  void Reorder();

  uint64_t capacity_bytes() const { return capacity_bytes_; }
  uint64_t reserved_bytes() const;
  size_t waiting() const;  // jobs

 private:
  struct Waiter {
    uint64_t bytes;
    const std::atomic<int>* urgency;
  };
  using Line = std::list<Waiter>;  // in the order they came

  bool Fits(uint64_t bytes) const { return bytes <= capacity_bytes_ - reserved_bytes_; }
  bool MayStart(Line::const_iterator waiter) const;
  void Leave(Line::const_iterator waiter);
  void Release(uint64_t bytes);

  const uint64_t capacity_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  uint64_t reserved_bytes_ = 0;
  Line line_;
};

}  // namespace forebay
