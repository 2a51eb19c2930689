#include "cluster/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cluster/json_fields.h"

namespace forebay::cluster {
namespace {

constexpr char kPrefix[] = "members/";
constexpr size_t kIdBytesMax = 128;
constexpr size_t kAddressBytesMax = 512;
constexpr size_t kReportBytesMax = 1 << 20;
constexpr size_t kMembersMax = 10'000;

bool IsId(const std::string& id) {
  return !id.empty() && id.size() <= kIdBytesMax &&
         std::ranges::all_of(id, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

Status Check(const Registration& registration) {
  if (!IsId(registration.id)) {
    return Status::Invalid(
        "a node's id is 1 to 128 letters, digits, dots, dashes and underscores");
  }
  for (const std::string& text :
       {registration.host, registration.flight, registration.http}) {
    if (text.size() > kAddressBytesMax) {
      return Status::Invalid(
          fmt::format("an address of node {} is too long", registration.id));
    }
  }
  if (!(registration.weight > 0) || !std::isfinite(registration.weight)) {
    return Status::Invalid(fmt::format("the weight of node {} must be above 0: {}",
                                       registration.id, registration.weight));
  }
  return Status::OK();
}

Status UnknownNode(const std::string& id) {
  return Status::NotFound(fmt::format("the head knows no node {}", id));
}

Status NotKnownAsSuch(const std::string& id) {
  return Status::NotFound(fmt::format("node {} has to register first", id));
}

}  // namespace

Result<std::unique_ptr<Membership>> Membership::Load(Options options) {
  std::unique_ptr<Membership> membership(new Membership(options));
  FB_ASSIGN_OR_RETURN(meta::Listing listing, options.store->List(kPrefix));
  TimePoint now = options.clock->Now();
  for (const meta::Entry& entry : listing.entries) {
    auto fields = JsonFields::Parse(entry.value, "the metadata of " + entry.key);
    Record record;
    record.member = {.id = entry.key.substr(sizeof(kPrefix) - 1),
                     .host = fields.Text("host"),
                     .flight = fields.Text("flight"),
                     .http = fields.TextOr("http", ""),
                     .weight = fields.Real("weight"),
                     .store_bytes = fields.NumberOr("store_bytes", 0)};
    record.instance = fields.Text("instance");
    std::string state = fields.Text("state");
    if (!fields.status().ok()) return Status::Corrupt(fields.status().message());
    FB_ASSIGN_OR_RETURN(record.member.state, ParseMemberState(state));
    record.heard = now;
    membership->records_[record.member.id] = std::move(record);
  }
  membership->Publish();
  return membership;
}

// Not under the mutex: the store may be slow, and heartbeats must not wait for it.
Status Membership::Keep(const Record& record) {
  const Member& member = record.member;
  bool drains = member.state == MemberState::kDraining;
  nlohmann::json json = {{"host", member.host},
                         {"flight", member.flight},
                         {"http", member.http},
                         {"weight", member.weight},
                         {"instance", record.instance},
                         {"store_bytes", member.store_bytes},
                         {"state", drains ? "draining" : "up"}};
  std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  auto put = options_.store->Put(kPrefix + member.id, text, {});
  return put.ok() ? Status::OK() : put.status();
}

void Membership::Publish() {
  Roster::Options options{.epoch = Next(), .timeout = options_.timeout};
  for (const auto& [id, record] : records_) options.members.push_back(record.member);
  // Ids are keys of a map and weights were checked.
  roster_ = Roster::Make(std::move(options)).ValueOrDie();
}

void Membership::Sweep() {
  TimePoint now = options_.clock->Now();
  bool changed = false;
  for (auto it = records_.begin(); it != records_.end();) {
    Record& record = it->second;
    auto silence = now - record.heard;
    bool silent = record.left || silence >= options_.timeout;
    bool drains = record.member.state == MemberState::kDraining;
    if (silent && (drains || silence >= options_.place_kept)) {
      spdlog::info("node {} is gone", it->first);
      gone_.push_back(it->first);
      it = records_.erase(it);
      changed = true;
      continue;
    }
    if (silent && record.member.state == MemberState::kUp) {
      spdlog::warn("node {} is down", it->first);
      record.member.state = MemberState::kDown;
      changed = true;
    }
    ++it;
  }
  if (changed) Publish();
}

Result<Registered> Membership::Register(const Registration& registration) {
  FB_RETURN_NOT_OK(Check(registration));
  Record record;
  record.member = {.id = registration.id,
                   .host = registration.host,
                   .flight = registration.flight,
                   .http = registration.http,
                   .weight = registration.weight,
                   .store_bytes = registration.store_bytes};
  record.instance = registration.instance;
  bool known = false;
  {
    std::lock_guard lock(mutex_);
    Sweep();
    if (records_.size() >= kMembersMax) return Status::Full("the cluster has no room");
    auto found = records_.find(registration.id);
    if (found != records_.end()) {
      Record& old = found->second;
      // The same process registers again when its head has changed: drained it stays.
      bool same = old.instance == record.instance;
      bool drains = same && old.member.state == MemberState::kDraining;
      if (drains) record.member.state = MemberState::kDraining;
      Member as_kept = old.member;
      as_kept.state = record.member.state;
      as_kept.fence = 0;
      known = same && as_kept == record.member;
      record.report = old.report;
    }
  }
  if (!known) FB_RETURN_NOT_OK(Keep(record));
  std::lock_guard lock(mutex_);
  std::erase(gone_, registration.id);
  record.heard = options_.clock->Now();
  record.member.fence = Next();
  uint64_t fence = record.member.fence;
  records_[registration.id] = std::move(record);
  Publish();
  return Registered{.fence = fence, .roster = roster_};
}

Result<Membership::Record*> Membership::FindFenced(const Heartbeat& heartbeat) {
  auto found = records_.find(heartbeat.id);
  if (found == records_.end()) return NotKnownAsSuch(heartbeat.id);
  uint64_t fence = found->second.member.fence;
  if (heartbeat.fence < fence) {
    return Status::Changed(
        fmt::format("a newer process has joined as node {}", heartbeat.id));
  }
  // A fence of a head before this one.
  if (heartbeat.fence > fence) return NotKnownAsSuch(heartbeat.id);
  return &found->second;
}

Result<HeartbeatAnswer> Membership::Beat(const Heartbeat& heartbeat) {
  if (heartbeat.report.size() > kReportBytesMax) {
    return Status::Invalid(fmt::format("node {} reports too much", heartbeat.id));
  }
  std::lock_guard lock(mutex_);
  Sweep();
  FB_ASSIGN_OR_RETURN(Record * record, FindFenced(heartbeat));
  record->heard = options_.clock->Now();
  record->left = false;
  record->report = heartbeat.report;
  if (record->member.state == MemberState::kDown) {
    spdlog::info("node {} is back", heartbeat.id);
    record->member.state = MemberState::kUp;
    Publish();
  }
  HeartbeatAnswer answer;
  if (heartbeat.roster_epoch != roster_->epoch()) answer.roster = roster_;
  return answer;
}

Status Membership::Leave(const Heartbeat& goodbye) {
  std::lock_guard lock(mutex_);
  FB_ASSIGN_OR_RETURN(Record * record, FindFenced(goodbye));
  record->left = true;
  Sweep();
  return Status::OK();
}

Status Membership::Drain(const std::string& id) {
  Record kept;
  {
    std::lock_guard lock(mutex_);
    Sweep();
    auto found = records_.find(id);
    if (found == records_.end()) return UnknownNode(id);
    found->second.member.state = MemberState::kDraining;
    kept = found->second;
    Publish();
  }
  return Keep(kept);
}

std::shared_ptr<const Roster> Membership::roster() {
  std::lock_guard lock(mutex_);
  Sweep();
  return roster_;
}

std::vector<Membership::Node> Membership::nodes() {
  std::lock_guard lock(mutex_);
  Sweep();
  TimePoint now = options_.clock->Now();
  std::vector<Node> nodes;
  for (const auto& [id, record] : records_) {
    nodes.push_back(
        {.member = record.member,
         .report = record.report,
         .silence = std::chrono::duration_cast<milliseconds>(now - record.heard)});
  }
  return nodes;
}

Status Membership::ForgetGone() {
  std::vector<std::string> gone;
  {
    std::lock_guard lock(mutex_);
    Sweep();
    gone = gone_;
  }
  for (const std::string& id : gone) {
    Status status = options_.store->Delete(kPrefix + id);
    if (!status.ok() && status.code() != StatusCode::kNotFound) return status;
    std::lock_guard lock(mutex_);
    std::erase(gone_, id);
  }
  return Status::OK();
}

}  // namespace forebay::cluster
