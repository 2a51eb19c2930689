#include "base/memory_budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/size.h"

namespace forebay {
namespace {

int UrgencyOf(const std::atomic<int>* urgency) {
  return urgency == nullptr ? 0 : urgency->load();
}

}  // namespace

Result<MemoryBudget::Reservation> MemoryBudget::Reserve(const Request& request) {
  uint64_t bytes =
      request.alone ? capacity_bytes_ : std::min(request.bytes, capacity_bytes_);
  std::unique_lock lock(mutex_);
  if (request.instead_of != nullptr) {
    Reservation& old = *request.instead_of;
    FB_CHECK(old.budget_ == nullptr || old.budget_ == this);
    reserved_bytes_ -= old.budget_ == nullptr ? 0 : std::exchange(old.bytes_, 0);
    old.budget_ = nullptr;
    changed_.notify_all();
  }
  auto self = line_.insert(line_.end(), Waiter{bytes, request.urgency});
  bool may_start =
      changed_.wait_until(lock, request.deadline.stop(), request.deadline.when(),
                          [&] { return MayStart(self); });
  // A stop wins: whoever asked for it counts on the job not to run.
  if (may_start && !request.deadline.stopped()) {
    reserved_bytes_ += bytes;
    Leave(self);
    return Reservation(this, bytes);
  }
  Leave(self);
  if (request.deadline.stopped()) {
    return Status::Cancelled("the job was cancelled while it waited for memory");
  }
  return Status::Deadline(fmt::format(
      "time was up while waiting for {} of memory: other jobs hold {} of {}",
      FormatSize(bytes), FormatSize(reserved_bytes_), FormatSize(capacity_bytes_)));
}

std::optional<MemoryBudget::Reservation> MemoryBudget::TryReserve(uint64_t bytes) {
  bytes = std::min(bytes, capacity_bytes_);
  std::lock_guard lock(mutex_);
  if (!line_.empty() || !Fits(bytes)) return std::nullopt;
  reserved_bytes_ += bytes;
  return Reservation(this, bytes);
}

void MemoryBudget::Reorder() {
  // Under the lock, or a job between its last look and its sleep would not hear of it.
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

uint64_t MemoryBudget::reserved_bytes() const {
  std::lock_guard lock(mutex_);
  return reserved_bytes_;
}

size_t MemoryBudget::waiting() const {
  std::lock_guard lock(mutex_);
  return line_.size();
}

bool MemoryBudget::MayStart(Line::const_iterator waiter) const {
  if (!Fits(waiter->bytes)) return false;
  // min_element gives the first of several: the one that came first.
  auto first = std::ranges::min_element(
      line_, {}, [](const Waiter& other) { return UrgencyOf(other.urgency); });
  return first == waiter;
}

void MemoryBudget::Leave(Line::const_iterator waiter) {
  line_.erase(waiter);
  changed_.notify_all();
}

void MemoryBudget::Release(uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    reserved_bytes_ -= bytes;
  }
  changed_.notify_all();
}

}  // namespace forebay
