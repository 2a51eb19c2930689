#include "head/leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/hash.h"
#include "cluster/json_fields.h"

namespace forebay::head {

using nlohmann::json;

namespace {

constexpr int kTries = 5;  // where another head writes at the same time
constexpr int64_t kLeaseMsMax = 7LL * 24 * 3'600'000;
constexpr size_t kNameBytesMax = 16 * 1024;
constexpr size_t kRequestBytesMax = 128;
constexpr size_t kAcknowledgedMax = 10'000;

constexpr char kPrefix[] = "leases/";

std::string KeyOf(const std::string& epoch) { return kPrefix + HashBytes(epoch).ToHex(); }

json LeaseJson(const plan::Lease& lease) {
  return {{"fence", lease.fence},
          {"first", lease.first},
          {"count", lease.count},
          {"expires_ms", lease.expires_ms},
          {"holder", lease.holder}};
}

plan::Lease ReadLease(const json& object, Status* status) {
  cluster::JsonFields fields(object, "a lease");
  plan::Lease lease{.fence = fields.Number("fence"),
                    .first = fields.Number("first"),
                    .count = fields.Number("count"),
                    .expires_ms = static_cast<int64_t>(fields.Number("expires_ms")),
                    .holder = fields.Text("holder")};
  if (!fields.status().ok()) *status = fields.status();
  return lease;
}

}  // namespace

struct Leases::Kept {
  uint64_t version = meta::kAbsent;
  uint64_t term = 0;  // of the head whose clock the times are of
  uint64_t rows = 0;
  plan::LeaseState state{};
  // What each holder acknowledged last: asked again, since the answer was lost, it is
  // told the same.
  std::map<std::string, std::pair<uint64_t, uint64_t>> acknowledged{};
  // By which request each lease was taken, by fence; kept as long as the lease.
  std::map<uint64_t, std::string> requests{};
};

int64_t Leases::NowMs() const {
  auto now = options_.clock->Now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

Result<Leases::Kept> Leases::Read(const Epoch& epoch) const {
  Kept kept{.term = options_.term, .rows = epoch.table.rows};
  auto entry = options_.store->Get(KeyOf(epoch.name));
  if (entry.status().code() == StatusCode::kNotFound) return kept;
  if (!entry.ok()) return entry.status();
  kept.version = entry->version;
  auto fields = cluster::JsonFields::Parse(entry->value, "a table of leases");
  kept.term = fields.Number("term");
  kept.rows = fields.Number("rows");
  kept.state.frontier = fields.Number("frontier");
  kept.state.next_fence = fields.Number("next_fence");
  Status status;
  for (const json& lease : fields.Array("held")) {
    kept.state.held.push_back(ReadLease(lease, &status));
    auto request = lease.find("request");
    if (request == lease.end() || !request->is_string()) continue;
    kept.requests[kept.state.held.back().fence] = request->get<std::string>();
  }
  for (const json& last : fields.Array("acknowledged")) {
    cluster::JsonFields one(last, "an acknowledgement");
    kept.acknowledged[one.Text("holder")] = {one.Number("fence"), one.Number("until")};
    if (!one.status().ok()) status = one.status();
  }
  FB_RETURN_NOT_OK(fields.status());
  FB_RETURN_NOT_OK(status);
  return kept;
}

Status Leases::Write(const Epoch& epoch, const Kept& kept) const {
  json held = json::array();
  for (const plan::Lease& lease : kept.state.held) {
    held.push_back(LeaseJson(lease));
    auto request = kept.requests.find(lease.fence);
    if (request != kept.requests.end()) held.back()["request"] = request->second;
  }
  json acknowledged = json::array();
  for (const auto& [holder, last] : kept.acknowledged) {
    acknowledged.push_back(
        {{"holder", holder}, {"fence", last.first}, {"until", last.second}});
  }
  json value = {{"epoch", epoch.name},
                {"rows", kept.rows},
                {"term", options_.term},
                {"frontier", kept.state.frontier},
                {"next_fence", kept.state.next_fence},
                {"held", std::move(held)},
                {"acknowledged", std::move(acknowledged)}};
  return options_.store
      ->Put(KeyOf(epoch.name), value.dump(), {.if_version = kept.version})
      .status();
}

Result<Leases::Kept> Leases::ReadNow(const Epoch& epoch) const {
  FB_ASSIGN_OR_RETURN(Kept kept, Read(epoch));
  if (kept.rows != epoch.table.rows) {
    return Status::Invalid(
        fmt::format("this epoch has {} rows in the head's leases, not {}", kept.rows,
                    epoch.table.rows));
  }
  // Another head's clock says nothing here: its leases begin anew.
  if (kept.term != options_.term) {
    for (plan::Lease& lease : kept.state.held) {
      lease.expires_ms = NowMs() + epoch.table.lease_ms;
    }
  }
  return kept;
}

Status Leases::Do(const Epoch& epoch, const Change& change) {
  std::lock_guard lock(mutex_);
  Status status;
  for (int i = 0; i < kTries; ++i) {
    FB_ASSIGN_OR_RETURN(Kept kept, ReadNow(epoch));
    FB_ASSIGN_OR_RETURN(auto table, plan::LeaseTable::Make(epoch.table, kept.state));
    FB_RETURN_NOT_OK(change(table, kept));
    kept.state = table.state();
    std::string key = KeyOf(epoch.name);
    if (kept.version == meta::kAbsent && used_.size() >= options_.tables_max) {
      return Status::Full(
          fmt::format("the head keeps leases of {} epochs, and no more: old ones go "
                      "after two weeks",
                      options_.tables_max));
    }
    used_[key] = options_.clock->Now();
    status = Write(epoch, kept);
    if (status.code() != StatusCode::kChanged) return status;
  }
  return Status::Unavailable("the table of leases is written by others all the time");
}

Status Leases::Forget() {
  FB_ASSIGN_OR_RETURN(meta::Listing listing, options_.store->List(kPrefix));
  std::lock_guard lock(mutex_);
  TimePoint now = options_.clock->Now();
  std::map<std::string, TimePoint> used;
  for (const meta::Entry& entry : listing.entries) {
    auto [known, added] = used_.try_emplace(entry.key, now);
    if (now - known->second <= options_.kept_unused) {
      used.insert(*known);
      continue;
    }
    // Somebody may be using it through another head.
    Status gone = options_.store->Delete(entry.key, entry.version);
    if (!gone.ok() && gone.code() != StatusCode::kNotFound) used.emplace(entry.key, now);
  }
  used_ = std::move(used);
  return Status::OK();
}

Result<json> Leases::Progress(const Epoch& epoch) const {
  FB_ASSIGN_OR_RETURN(Kept kept, ReadNow(epoch));
  FB_ASSIGN_OR_RETURN(auto table, plan::LeaseTable::Make(epoch.table, kept.state));
  uint64_t held = 0;
  for (const plan::Lease& lease : table.state().held) held += lease.count;
  return json{{"rows", epoch.table.rows},
              {"acknowledged", table.acknowledged_rows()},
              {"held", held}};
}

std::optional<plan::Lease> Leases::Repeated(const Epoch& epoch, const Kept& kept) {
  if (epoch.request.empty()) return std::nullopt;
  for (const plan::Lease& lease : kept.state.held) {
    auto taken_by = kept.requests.find(lease.fence);
    if (taken_by == kept.requests.end() || taken_by->second != epoch.request) continue;
    if (lease.holder == epoch.holder) return lease;
  }
  return std::nullopt;
}

Result<json> Leases::Take(const Epoch& epoch) {
  json answer;
  FB_RETURN_NOT_OK(Do(epoch, [&](plan::LeaseTable& table, Kept& kept) -> Status {
    int64_t now = NowMs();
    plan::LeaseGrant grant{.lease = Repeated(epoch, kept)};
    if (grant.lease) {
      FB_RETURN_NOT_OK(table.Renew(grant.lease->fence, now));
      grant.lease->expires_ms = now + epoch.table.lease_ms;
    } else {
      grant = table.Take(epoch.holder, now);
      if (grant.lease && !epoch.request.empty()) {
        kept.requests[grant.lease->fence] = epoch.request;
      }
    }
    answer = {{"finished", grant.finished}};
    if (grant.lease) answer["lease"] = LeaseJson(*grant.lease);
    if (!grant.lease) answer["wait_ms"] = std::max<int64_t>(0, grant.retry_ms - now);
    return Status::OK();
  }));
  return answer;
}

Status Leases::Acknowledge(const Epoch& epoch, uint64_t fence, uint64_t until) {
  return Do(epoch, [&](plan::LeaseTable& table, Kept& kept) -> Status {
    std::pair done{fence, until};
    auto last = kept.acknowledged.find(epoch.holder);
    if (last != kept.acknowledged.end() && last->second == done) return Status::OK();
    FB_RETURN_NOT_OK(table.Acknowledge(fence, until, NowMs()));
    // Holders of long ago ask for nothing any more: their answers arrived.
    if (kept.acknowledged.size() >= kAcknowledgedMax) {
      kept.acknowledged.erase(std::ranges::min_element(
          kept.acknowledged, {}, [](const auto& one) { return one.second.first; }));
    }
    kept.acknowledged[epoch.holder] = done;
    return Status::OK();
  });
}

Result<json> Leases::Answer(const std::string& verb, std::string_view request) {
  auto fields = cluster::JsonFields::Parse(request, "a request for leases");
  Epoch epoch{.name = fields.Text("epoch"),
              .table = {.rows = fields.Number("rows"),
                        .lease_rows = fields.Number("lease_rows"),
                        .lease_ms = static_cast<int64_t>(fields.Number("lease_ms"))},
              .holder = fields.Text("holder")};
  bool names_lease = verb == "acknowledge" || verb == "release";
  uint64_t fence = names_lease ? fields.Number("fence") : 0;
  uint64_t until = verb == "acknowledge" ? fields.Number("until") : 0;
  if (verb == "take") epoch.request = fields.TextOr("request", "");
  fields.RefuseUnknown();
  FB_RETURN_NOT_OK(fields.status());
  FB_RETURN_NOT_OK(Check(epoch));
  if (verb == "take") return Take(epoch);
  if (verb == "progress") return Progress(epoch);
  if (verb == "acknowledge") {
    FB_RETURN_NOT_OK(Acknowledge(epoch, fence, until));
    return json::object();
  }
  if (verb != "release") return Status::NotFound("leases have no " + verb);
  FB_RETURN_NOT_OK(Do(epoch, [&](plan::LeaseTable& table, Kept&) {
    return table.Release(fence, NowMs());
  }));
  return json::object();
}

Status Leases::Check(const Epoch& epoch) {
  if (epoch.table.lease_rows == 0) return Status::Invalid("lease_rows is 0");
  if (epoch.table.lease_ms <= 0 || epoch.table.lease_ms > kLeaseMsMax) {
    return Status::Invalid(
        fmt::format("lease_ms is 1 to {}, not {}", kLeaseMsMax, epoch.table.lease_ms));
  }
  if (epoch.name.size() > kNameBytesMax || epoch.holder.size() > kNameBytesMax) {
    return Status::Invalid(fmt::format(
        "the names of an epoch and of a holder have up to {} bytes", kNameBytesMax));
  }
  if (epoch.request.size() > kRequestBytesMax) {
    return Status::Invalid(
        fmt::format("the name of a request has up to {} bytes", kRequestBytesMax));
  }
  return Status::OK();
}

}  // namespace forebay::head
