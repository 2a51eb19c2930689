#include "node/peer_calls.h"

namespace forebay::node {

PeerCalls::Scope::Scope(PeerCalls* calls, Call call) : calls_(calls) {
  std::lock_guard lock(calls_->mutex_);
  entry_ = calls_->calls_.insert(calls_->calls_.end(), {std::move(call), {}});
}

PeerCalls::Scope::~Scope() {
  std::lock_guard lock(calls_->mutex_);
  calls_->calls_.erase(entry_);
}

void PeerCalls::OnRoster(const cluster::Roster& roster) {
  std::lock_guard lock(mutex_);
  for (Scope::Entry& entry : calls_) {
    const cluster::Member* member = roster.Find(entry.call.member);
    bool up = member != nullptr && member->state != cluster::MemberState::kDown;
    auto first = roster.Route(entry.call.unit, 1);
    bool ours = !first.empty() && roster.members()[first[0]].id == self_;
    if (!up || ours) entry.stop.request_stop();
  }
}

void PeerCalls::Avoid(const cluster::Member& member) {
  std::lock_guard lock(mutex_);
  silent_[member.id] = {member.fence, Clock::Real().Now() + kAvoidTime};
}

bool PeerCalls::Avoided(const cluster::Member& member) {
  std::lock_guard lock(mutex_);
  auto found = silent_.find(member.id);
  if (found == silent_.end()) return false;
  if (found->second.fence == member.fence && Clock::Real().Now() < found->second.until) {
    return true;
  }
  silent_.erase(found);
  return false;
}

}  // namespace forebay::node
