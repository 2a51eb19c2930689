#include "fuse/waiting_requests.h"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <fstream>

namespace forebay::fuse {
namespace {

constexpr size_t kEarlyMax = 64;

}  // namespace

std::shared_ptr<WaitingRequests::Ticket> WaitingRequests::Begin(uint64_t unique,
                                                                Asker asker) {
  std::lock_guard lock(mutex_);
  bool signalled = std::erase(early_, unique) > 0;  // seen by the next Check
  requests_.insert_or_assign(unique, Request{.asker = asker, .signalled = signalled});
  return std::make_shared<Ticket>(this, unique);
}

bool WaitingRequests::Take(uint64_t unique) {
  std::lock_guard lock(mutex_);
  auto found = requests_.find(unique);
  return found != requests_.end() && !std::exchange(found->second.taken, true);
}

void WaitingRequests::End(uint64_t unique) {
  std::lock_guard lock(mutex_);
  requests_.erase(unique);
}

void WaitingRequests::RememberEarly(uint64_t unique) {
  early_.push_back(unique);
  if (early_.size() > kEarlyMax) early_.pop_front();
}

void WaitingRequests::OnSignal(uint64_t unique) {
  {
    std::lock_guard lock(mutex_);
    auto found = requests_.find(unique);
    if (found == requests_.end()) return RememberEarly(unique);
    found->second.signalled = true;
  }
  Check();
}

void WaitingRequests::Check() {
  std::vector<std::pair<uint64_t, Asker>> signalled;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [unique, request] : requests_) {
      if (request.signalled && !request.taken) {
        signalled.emplace_back(unique, request.asker);
      }
    }
  }
  for (const auto& [unique, asker] : signalled) {
    if (is_dying_(asker.thread) && Take(unique)) asker.channel.Fail(unique, EINTR);
  }
}

bool IsDying(uint32_t thread) {
  std::ifstream file(fmt::format("/proc/{}/status", thread));
  for (std::string line; std::getline(file, line);) {
    // A signal that ends a process becomes SIGKILL for each of its threads.
    if (!line.starts_with("SigPnd:") && !line.starts_with("ShdPnd:")) continue;
    uint64_t pending = std::stoull(line.substr(7), nullptr, 16);
    if ((pending >> (SIGKILL - 1) & 1) != 0) return true;
  }
  return false;
}

}  // namespace forebay::fuse
