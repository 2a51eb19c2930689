#include "node/peers/peer_calls.h"

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
  std::erase_if(avoided_, [&](const auto& avoided) {
    return roster.Find(avoided.first) == nullptr;
  });
}

void PeerCalls::Avoid(const cluster::Member& member, Fault fault) {
  std::lock_guard lock(mutex_);
  avoided_[member.id] = {member.fence, clock_.Now() + kAvoidTime, fault};
}

std::optional<PeerCalls::Fault> PeerCalls::Avoided(const cluster::Member& member) {
  std::lock_guard lock(mutex_);
  auto found = avoided_.find(member.id);
  if (found == avoided_.end()) return std::nullopt;
  const Avoidance& avoided = found->second;
  if (avoided.fence == member.fence && clock_.Now() < avoided.until) {
    return avoided.fault;
  }
  avoided_.erase(found);
  return std::nullopt;
}

}  // namespace forebay::node
