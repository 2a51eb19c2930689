#include "cluster/head_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/log.h"
#include "base/start_thread.h"

namespace forebay::cluster {
namespace {

constexpr milliseconds kGoodbyeTimeout{1'000};
// A first word that fails is tried again soon: a head that starts is back in a moment.
constexpr milliseconds kRetryPause{250};
constexpr milliseconds kBeatTimeoutMin{100};
// After joining, doubled with each beat: clusters that start have orders in a moment, and
// those who just came should not hear of them a whole interval later.
constexpr milliseconds kFirstPause{20};

std::string NewInstance() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

HeadLink::HeadLink(Options options) : options_(std::move(options)) {}

Result<std::unique_ptr<HeadLink>> HeadLink::Start(Options options) {
  if (options.self.has_value() && options.self->instance.empty()) {
    options.self->instance = NewInstance();
  }
  std::unique_ptr<HeadLink> link(new HeadLink(std::move(options)));
  link->caller_ = std::move(link->options_.caller);
  if (link->caller_ == nullptr) {
    FB_ASSIGN_OR_RETURN(link->caller_, HeadClient::Make(link->options_.client));
  }
  FB_ASSIGN_OR_RETURN(link->thread_, StartThread([raw = link.get()] { raw->Run(); }));
  return link;
}

HeadLink::~HeadLink() { Stop(); }

void HeadLink::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.request_stop();
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  Leave();
}

void HeadLink::Leave() {
  if (!options_.self.has_value() || fence_ == 0 || superseded_) return;
  cluster::Heartbeat goodbye{.id = options_.self->id, .fence = fence_};
  auto answer =
      caller_->Post(kLeavePath, ToJson(goodbye), Deadline::After(kGoodbyeTimeout));
  // It would have noticed by itself after T.
  if (!answer.ok()) spdlog::debug("no goodbye: {}", answer.status().message());
}

void HeadLink::Run() {
  bool reached = true;
  while (true) {
    Status status = Beat();
    if (stop_.stop_requested()) return;
    if (!status.ok() && reached) {
      spdlog::warn("no word from the head, trying on: {}", status.message());
    } else if (status.ok() && !reached) {
      spdlog::info("the head answers again");
    }
    reached = status.ok();
    std::unique_lock lock(mutex_);
    milliseconds pause = roster_->timeout() / 4;
    if (!reached) {
      pause = std::min(pause, kRetryPause);
    } else if (joined_pause_ < pause) {
      pause = std::exchange(joined_pause_, joined_pause_ * 2);
    }
    changed_.wait_for(lock, pause, [this] { return stopping_ || hurried_; });
    if (stopping_) return;
    hurried_ = false;
  }
}

void HeadLink::BeatSoon() {
  {
    std::lock_guard lock(mutex_);
    hurried_ = true;
  }
  changed_.notify_all();
}

Deadline HeadLink::BeatEnd() const {
  std::lock_guard lock(mutex_);
  return Deadline::After(std::max(roster_->timeout() / 4, kBeatTimeoutMin))
      .StoppedBy(stop_.get_token());
}

// Somebody newer is up under our id.
bool HeadLink::Superseded() const {
  std::lock_guard lock(mutex_);
  if (!superseded_) return false;
  const Member* member = roster_->Find(options_.self->id);
  return member != nullptr && member->state != MemberState::kDown &&
         member->fence > fence_;
}

Status HeadLink::Beat() {
  if (!options_.self.has_value()) return Watch();
  if (Superseded()) return Watch();
  if (!registered()) return Register();
  Status status = Heartbeat();
  if (status.code() == StatusCode::kNotFound) return Register();
  if (status.code() != StatusCode::kChanged) return status;
  spdlog::warn("another node has joined as {}: this one no longer owns anything",
               options_.self->id);
  {
    std::lock_guard lock(mutex_);
    superseded_ = true;
  }
  return Watch();
}

bool HeadLink::registered() const {
  std::lock_guard lock(mutex_);
  return fence_ != 0 && !superseded_;
}

// A stop does not end it: a member that the head knows has to say goodbye.
Status HeadLink::Register() {
  TimePoint asked = options_.clock->Now();
  FB_ASSIGN_OR_RETURN(
      std::string body,
      caller_->Post(kRegisterPath, ToJson(*options_.self), BeatEnd().StoppedBy({})));
  FB_ASSIGN_OR_RETURN(Registered answer, ParseRegistered(body));
  {
    std::lock_guard lock(mutex_);
    fence_ = answer.fence;
    superseded_ = false;
  }
  joined_pause_ = kFirstPause;
  Heard(asked, std::move(answer.roster));
  return Status::OK();
}

Status HeadLink::Heartbeat() {
  TimePoint asked = options_.clock->Now();
  cluster::Heartbeat beat{.id = options_.self->id,
                          .fence = fence(),
                          .roster_epoch = roster()->epoch(),
                          .report = options_.report ? options_.report() : ""};
  FB_ASSIGN_OR_RETURN(std::string body,
                      caller_->Post(kHeartbeatPath, ToJson(beat), BeatEnd()));
  FB_ASSIGN_OR_RETURN(HeartbeatAnswer answer, ParseHeartbeatAnswer(body));
  Heard(asked, std::move(answer.roster));
  if (!answer.orders.empty() && options_.on_orders) options_.on_orders(answer.orders);
  return Status::OK();
}

Status HeadLink::Watch() {
  TimePoint asked = options_.clock->Now();
  std::string path = fmt::format("{}?after={}", kRosterPath, roster()->epoch());
  FB_ASSIGN_OR_RETURN(std::string body, caller_->Get(path, BeatEnd()));
  FB_ASSIGN_OR_RETURN(HeartbeatAnswer answer, ParseHeartbeatAnswer(body));
  Heard(asked, std::move(answer.roster));
  return Status::OK();
}

void HeadLink::Heard(TimePoint asked, std::shared_ptr<const Roster> roster) {
  {
    std::lock_guard lock(mutex_);
    heard_ = asked;
    // An answer that was overtaken, or a head that no longer leads.
    if (roster == nullptr || roster->epoch() <= roster_->epoch()) return;
    roster_ = roster;
  }
  changed_.notify_all();
  if (options_.on_roster) options_.on_roster(*roster);
}

std::shared_ptr<const Roster> HeadLink::roster() const {
  std::lock_guard lock(mutex_);
  return roster_;
}

bool HeadLink::MayOwn() const {
  if (!options_.self.has_value()) return false;
  std::lock_guard lock(mutex_);
  if (fence_ == 0 || superseded_ || !heard_.has_value()) return false;
  // Counted from when we asked: the head counts from when it heard us, which is later.
  if (options_.clock->Now() - *heard_ >= roster_->timeout() / 2) return false;
  const Member* member = roster_->Find(options_.self->id);
  return member != nullptr && member->state == MemberState::kUp &&
         member->fence == fence_;
}

uint64_t HeadLink::fence() const {
  std::lock_guard lock(mutex_);
  return fence_;
}

Status HeadLink::WaitForRoster(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  bool there = changed_.wait_for(lock, deadline.stop(), deadline.Remaining(),
                                 [this] { return roster_->epoch() > 0; });
  if (there) return Status::OK();
  return Status::Unavailable(
      "no head of the cluster has answered yet: check its address and that it runs");
}

Result<std::string> HeadLink::Get(const std::string& path, Deadline deadline) {
  return caller_->Get(path, deadline);
}

Result<std::string> HeadLink::Post(const std::string& path, const std::string& json,
                                   Deadline deadline) {
  return caller_->Post(path, json, deadline);
}

}  // namespace forebay::cluster
