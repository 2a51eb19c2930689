#include "cluster/membership.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cluster/json_fields.h"
#include "cluster/term.h"

namespace forebay::cluster {
namespace {

constexpr char kPrefix[] = "members/";
constexpr size_t kIdBytesMax = 128;
constexpr size_t kAddressBytesMax = 512;
constexpr size_t kReportBytesMax = 1 << 20;
// Where several processes register under one id at the same time.
constexpr int kTries = 5;

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
    record.version = entry.version;
    membership->records_[record.member.id] = std::move(record);
  }
  membership->Publish();
  return membership;
}

Result<uint64_t> Membership::Keep(const Record& record,
                                  std::optional<uint64_t> if_version) {
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
  return options_.store->Put(kPrefix + member.id, text, {.if_version = if_version});
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
      gone_[it->first] = record.version;
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

Result<bool> Membership::Inherit(Record* record) {
  auto found = records_.find(record->member.id);
  if (found == records_.end()) {
    if (records_.size() < options_.members_max) return false;
    return Status::Full(fmt::format("the cluster has {} nodes, and no room for another",
                                    options_.members_max));
  }
  const Record& old = found->second;
  // The same process registers again when its head has changed: drained it stays.
  bool same = old.instance == record->instance;
  bool drains = same && old.member.state == MemberState::kDraining;
  if (drains) record->member.state = MemberState::kDraining;
  record->report = old.report;
  record->version = old.version;
  Member as_kept = old.member;
  as_kept.state = record->member.state;
  as_kept.fence = 0;
  return same && as_kept == record->member;
}

Registered Membership::Admit(Record record) {
  std::string id = record.member.id;
  record.heard = options_.clock->Now();
  // A registration may arrive twice: a second fence would make the process take itself
  // for an older one.
  auto found = records_.find(id);
  bool again = found != records_.end() && found->second.instance == record.instance &&
               TermOf(found->second.member.fence) == options_.term;
  uint64_t fence = again ? found->second.member.fence : Next();
  record.member.fence = fence;
  records_[id] = std::move(record);
  Publish();
  return {.fence = fence, .roster = roster_};
}

Result<Registered> Membership::Register(const Registration& registration) {
  FB_RETURN_NOT_OK(Check(registration));
  FB_RETURN_NOT_OK(CatchUp());
  for (int i = 0; i < kTries; ++i) {
    Record record;
    record.member = {.id = registration.id,
                     .host = registration.host,
                     .flight = registration.flight,
                     .http = registration.http,
                     .weight = registration.weight,
                     .store_bytes = registration.store_bytes};
    record.instance = registration.instance;
    {
      std::lock_guard lock(mutex_);
      Sweep();
      FB_ASSIGN_OR_RETURN(bool known, Inherit(&record));
      if (known) return Admit(std::move(record));
    }
    FB_ASSIGN_OR_RETURN(record.version, Keep(record, {}));
    std::lock_guard lock(mutex_);
    auto found = records_.find(registration.id);
    // The store has to end up with whoever gets the larger fence.
    if (found != records_.end() && found->second.version > record.version) continue;
    return Admit(std::move(record));
  }
  return Status::Unavailable(fmt::format(
      "several processes register as node {} at once: give each an id of its own",
      registration.id));
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
  if (TermOf(heartbeat.roster_epoch) > kSeenTermMax) {
    return Status::Invalid(fmt::format(
        "node {} has a roster that no head has given out: start it anew", heartbeat.id));
  }
  std::lock_guard lock(mutex_);
  Sweep();
  Notice(heartbeat.roster_epoch);
  // It would ignore this head's rosters: it registers, and the term rises before that.
  if (heartbeat.roster_epoch > roster_->epoch()) return NotKnownAsSuch(heartbeat.id);
  FB_ASSIGN_OR_RETURN(Record * record, FindFenced(heartbeat));
  record->heard = options_.clock->Now();
  record->left = false;
  // Too large to be kept for everybody who asks; the node is alive all the same.
  bool fits = heartbeat.report.size() <= kReportBytesMax;
  record->report = fits ? heartbeat.report : R"({"too_large": true})";
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
  for (int i = 0; i < kTries; ++i) {
    Record record;
    {
      std::lock_guard lock(mutex_);
      Sweep();
      auto found = records_.find(id);
      if (found == records_.end()) return i == 0 ? UnknownNode(id) : Status::OK();
      if (found->second.member.state != MemberState::kDraining) {
        found->second.member.state = MemberState::kDraining;
        Publish();
      }
      record = found->second;
    }
    Status kept = KeepDrained(record);
    if (kept.code() != StatusCode::kChanged) return kept;
  }
  return Status::Unavailable(
      fmt::format("node {} registers again and again: try once more", id));
}

// kChanged: it has registered meanwhile, or is gone.
Status Membership::KeepDrained(const Record& record) {
  FB_ASSIGN_OR_RETURN(uint64_t version, Keep(record, record.version));
  std::lock_guard lock(mutex_);
  auto found = records_.find(record.member.id);
  if (found != records_.end()) {
    found->second.version = std::max(found->second.version, version);
  } else if (auto gone = gone_.find(record.member.id); gone != gone_.end()) {
    gone->second = version;
  }
  return Status::OK();
}

std::shared_ptr<const Roster> Membership::roster() {
  std::lock_guard lock(mutex_);
  Sweep();
  return roster_;
}

std::shared_ptr<const Roster> Membership::RosterAfter(uint64_t epoch) {
  std::lock_guard lock(mutex_);
  Sweep();
  if (TermOf(epoch) <= kSeenTermMax) Notice(epoch);
  return epoch == roster_->epoch() ? nullptr : roster_;
}

uint64_t Membership::term() {
  std::lock_guard lock(mutex_);
  return options_.term;
}

void Membership::Notice(uint64_t epoch) {
  if (epoch > roster_->epoch()) ahead_ = std::max(ahead_, epoch);
}

Status Membership::CatchUp() {
  std::lock_guard raise_lock(raise_mutex_);
  TermRaise raise;
  {
    std::lock_guard lock(mutex_);
    if (ahead_ == 0) return Status::OK();
    raise = {.own = options_.term, .seen = TermOf(ahead_)};
  }
  FB_ASSIGN_OR_RETURN(uint64_t term, RaiseTerm(*options_.store, raise));
  spdlog::warn(
      "nodes have rosters of term {}, but this head began with term {}: its metadata was "
      "wiped or restored; going on with term {}",
      raise.seen, raise.own, term);
  std::lock_guard lock(mutex_);
  options_.term = term;
  Publish();
  if (ahead_ < roster_->epoch()) ahead_ = 0;
  return Status::OK();
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
  std::map<std::string, uint64_t> gone;
  {
    std::lock_guard lock(mutex_);
    Sweep();
    gone = gone_;
  }
  for (const auto& [id, version] : gone) {
    Status status = options_.store->Delete(kPrefix + id, version);
    // Who registers meanwhile has written a new version, which stays.
    bool settled = status.ok() || status.code() == StatusCode::kNotFound ||
                   status.code() == StatusCode::kChanged;
    if (!settled) return status;
    std::lock_guard lock(mutex_);
    auto found = gone_.find(id);
    if (found != gone_.end() && found->second == version) gone_.erase(found);
  }
  return Status::OK();
}

}  // namespace forebay::cluster
