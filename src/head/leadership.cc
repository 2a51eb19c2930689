#include "head/leadership.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/start_thread.h"
#include "cluster/json_fields.h"

namespace forebay::head {
namespace {

constexpr char kLeaderKey[] = "leader";
constexpr milliseconds kRetryPause{300};
// How long a head that follows waits before it looks by itself.
constexpr milliseconds kFollowWait{1'000};

}  // namespace

Result<std::unique_ptr<Leadership>> Leadership::Start(Options options) {
  std::unique_ptr<Leadership> leadership(new Leadership(std::move(options)));
  FB_ASSIGN_OR_RETURN(leadership->thread_,
                      StartThread([raw = leadership.get()] { raw->Run(); }));
  return leadership;
}

Leadership::~Leadership() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Leadership::stopping() {
  std::lock_guard lock(mutex_);
  return stopping_;
}

bool Leadership::Pause(milliseconds time) {
  std::unique_lock lock(mutex_);
  return wake_.wait_for(lock, time, [this] { return stopping_; });
}

bool Leadership::leads() const {
  std::lock_guard lock(mutex_);
  // The store counts from when it heard us, which was later.
  return kept_.has_value() && options_.clock->Now() - *kept_ < options_.lease;
}

std::string Leadership::leader() const {
  if (leads()) return options_.address;
  std::lock_guard lock(mutex_);
  return leader_ == options_.address ? "" : leader_;
}

void Leadership::Run() {
  bool reached = true;
  while (!stopping()) {
    Status status = TryToLead();
    if (!status.ok() && reached) {
      spdlog::warn("the metadata store does not say who leads, asking on: {}",
                   status.message());
    } else if (status.ok() && !reached) {
      spdlog::info("the metadata store answers again");
    }
    reached = status.ok();
    if (lease_ != meta::kNoLease) {
      KeepLeading();
      Lose();
    } else if (!status.ok() && Pause(kRetryPause)) {
      return;
    }
  }
}

// Takes the lead where nobody has it; else waits for that to change, for a while.
Status Leadership::TryToLead() {
  FB_ASSIGN_OR_RETURN(meta::Listing listing, options_.store->List(kLeaderKey));
  if (listing.entries.empty()) return Take();
  auto fields = cluster::JsonFields::Parse(listing.entries[0].value, "the leader's key");
  {
    std::lock_guard lock(mutex_);
    leader_ = fields.TextOr("head", "");
  }
  return options_.store
      ->WaitForChange(kLeaderKey, listing.revision, Deadline::After(kFollowWait))
      .status();
}

Status Leadership::Take() {
  TimePoint asked = options_.clock->Now();
  FB_ASSIGN_OR_RETURN(meta::LeaseId lease, options_.store->GrantLease(options_.lease));
  auto put =
      options_.store->Put(kLeaderKey, nlohmann::json{{"head", options_.address}}.dump(),
                          {.if_version = meta::kAbsent, .lease = lease});
  auto term = put.ok() ? NextTerm(*options_.store) : Result<uint64_t>(put.status());
  Status began = term.ok() ? options_.on_lead(*term) : term.status();
  if (!began.ok()) {
    Status ended = options_.store->EndLease(lease);
    if (!ended.ok()) spdlog::debug("a lease was left to end: {}", ended.message());
    // Somebody was faster.
    return began.code() == StatusCode::kChanged ? Status::OK() : began;
  }
  spdlog::info("this head leads, term {}", *term);
  lease_ = lease;
  std::lock_guard lock(mutex_);
  kept_ = asked;
  return Status::OK();
}

void Leadership::KeepLeading() {
  while (leads() && !Pause(options_.lease / 6)) {
    TimePoint asked = options_.clock->Now();
    Status kept = options_.store->KeepAlive(lease_);
    if (kept.code() == StatusCode::kNotFound) return;
    if (!kept.ok()) continue;
    std::lock_guard lock(mutex_);
    kept_ = asked;
  }
}

void Leadership::Lose() {
  {
    std::lock_guard lock(mutex_);
    kept_.reset();
    leader_.clear();
  }
  options_.on_lose();
  Status ended = options_.store->EndLease(std::exchange(lease_, meta::kNoLease));
  spdlog::info("this head no longer leads");
  if (!ended.ok()) spdlog::debug("the lead ended by itself: {}", ended.message());
}

}  // namespace forebay::head
