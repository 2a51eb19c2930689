#include "head/warmups.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/log.h"
#include "cluster/json_fields.h"

namespace forebay::head {
namespace {

using cluster::JsonFields;
using cluster::WarmupOrder;
using cluster::WarmupReport;
using nlohmann::json;

constexpr char kPrefix[] = "operations/";
constexpr size_t kEndedMax = 200;
constexpr size_t kRunningMax = 100;

std::string OrderJson(const WarmupOrder& order, uint64_t units, uint64_t rows) {
  return json{{"dataset", order.dataset}, {"version", order.version},
              {"columns", order.columns}, {"replicas", order.replicas},
              {"units", units},           {"rows", rows}}
      .dump();
}

bool SameWork(WarmupOrder a, const WarmupOrder& b) {
  a.operation = b.operation;
  return a == b;
}

std::vector<std::string> UpIn(const cluster::Roster& roster) {
  std::vector<std::string> up;
  for (const cluster::Member& member : roster.members()) {
    if (member.state == cluster::MemberState::kUp) up.push_back(member.id);
  }
  return up;
}

}  // namespace

std::string ReplicasNote(uint32_t replicas, size_t nodes_up) {
  if (nodes_up == 0 || replicas <= nodes_up) return {};
  size_t missing = replicas - nodes_up;
  return fmt::format(
      "{} replicas are wanted, but {} up: each row has {} until {} more {}", replicas,
      nodes_up == 1 ? "1 node is" : fmt::format("{} nodes are", nodes_up),
      nodes_up == 1 ? "1 copy" : fmt::format("{} copies", nodes_up),
      missing == 1 ? "1 node" : fmt::format("{} nodes", missing),
      missing == 1 ? "joins" : "join");
}

std::string_view OperationStateName(OperationState state) {
  switch (state) {
    case OperationState::kRunning: return "running";
    case OperationState::kDone: return "done";
    case OperationState::kFailed: return "failed";
    case OperationState::kCancelled: return "cancelled";
  }
  return "unknown";
}

Result<std::unique_ptr<Warmups>> Warmups::Load(Options options) {
  std::unique_ptr<Warmups> warmups(new Warmups(options));
  FB_ASSIGN_OR_RETURN(meta::Listing listing, options.store->List(kPrefix));
  for (const meta::Entry& entry : listing.entries) {
    auto fields = JsonFields::Parse(entry.value, "the metadata of " + entry.key);
    Running running;
    running.operation.order = {
        .operation = entry.key.substr(sizeof(kPrefix) - 1),
        .dataset = fields.Text("dataset"),
        .version = fields.Text("version"),
        .columns = {},
        .replicas = static_cast<uint32_t>(fields.Number("replicas"))};
    for (const json& column : fields.Array("columns")) {
      if (column.is_string()) {
        running.operation.order.columns.push_back(column.get<std::string>());
      }
    }
    running.unit_count = fields.Number("units");
    running.row_count = fields.Number("rows");
    running.began = options.clock->Now();
    if (!fields.status().ok()) return Status::Corrupt(fields.status().message());
    warmups->running_[running.operation.order.operation] = std::move(running);
  }
  return warmups;
}

Result<Operation> Warmups::Start(const Dataset& dataset,
                                 const model::AnyManifest& manifest,
                                 const cluster::Roster& roster) {
  Running running;
  running.unit_count = manifest.unit_count();
  running.row_count = manifest.row_count();
  running.began = options_.clock->Now();
  WarmupOrder& order = running.operation.order;
  order = {.operation = {},
           .dataset = dataset.name,
           .version = dataset.version,
           .columns = dataset.columns,
           .replicas = dataset.replicas};
  {
    std::lock_guard lock(mutex_);
    if (const Running* other = FindSame(order)) return Shown(*other);
    if (running_.size() >= kRunningMax) {
      return Status::Unavailable("as many operations run as may: wait for one to end");
    }
    order.operation = NewId();
  }
  auto put = options_.store->Put(kPrefix + order.operation,
                                 OrderJson(order, running.unit_count, running.row_count),
                                 {.if_version = meta::kAbsent});
  if (!put.ok()) return put.status();
  std::lock_guard lock(mutex_);
  // Another caller may have been faster while the store was written.
  if (const Running* other = FindSame(order)) {
    to_forget_.push_back(order.operation);
    return Shown(*other);
  }
  Running& kept = running_[order.operation] = running;
  Follow(roster);
  AddUp(kept);
  return Shown(kept);
}

// Nodes know operations by their ids alone, also those of a head whose store was wiped or
// restored since and which counted alike.
std::string Warmups::NewId() {
  std::random_device random;
  return fmt::format("{}-{}-{:08x}", options_.term, next_++, random());
}

const Warmups::Running* Warmups::FindSame(const WarmupOrder& order) const {
  for (const auto& [id, running] : running_) {
    if (SameWork(order, running.operation.order)) return &running;
  }
  return nullptr;
}

Operation Warmups::Shown(const Running& running) const {
  Operation shown = running.operation;
  shown.elapsed =
      std::chrono::duration_cast<milliseconds>(options_.clock->Now() - running.began);
  return shown;
}

Result<Operation> Warmups::Get(const std::string& id) {
  std::lock_guard lock(mutex_);
  if (auto found = running_.find(id); found != running_.end()) {
    return Shown(found->second);
  }
  for (const Operation& operation : ended_) {
    if (operation.order.operation == id) return operation;
  }
  return Status::NotFound(fmt::format("there is no operation {}", id));
}

std::vector<Operation> Warmups::List() {
  std::lock_guard lock(mutex_);
  std::vector<Operation> operations = ended_;
  for (const auto& [id, running] : running_) operations.push_back(Shown(running));
  return operations;
}

Result<Operation> Warmups::Cancel(const std::string& id) {
  {
    std::lock_guard lock(mutex_);
    if (running_.contains(id)) End(id, OperationState::kCancelled);
  }
  return Get(id);
}

cluster::Orders Warmups::orders() {
  std::lock_guard lock(mutex_);
  cluster::Orders orders;
  for (const auto& [id, running] : running_) {
    orders.warmups.push_back(running.operation.order);
  }
  return orders;
}

void Warmups::Follow(const cluster::Roster& roster) {
  std::vector<std::string> up = UpIn(roster);
  if (up == up_) return;
  up_ = std::move(up);
  routes_epoch_ = roster.epoch();
}

// Exact: every figure is what nodes that are up have said, or 0.
void Warmups::AddUp(Running& running) const {
  Operation& operation = running.operation;
  uint64_t copies = std::min<uint64_t>(operation.order.replicas, up_.size());
  cluster::WarmupOrder order = operation.order;
  operation = Operation{.order = std::move(order)};
  operation.units = running.unit_count * copies;
  operation.rows = running.row_count * copies;
  for (const std::string& node : up_) {
    auto found = running.reports.find(node);
    bool current =
        found != running.reports.end() && found->second.roster_epoch >= routes_epoch_;
    if (!current || !found->second.done) operation.waiting_for.push_back(node);
    if (found == running.reports.end()) continue;
    const WarmupReport& report = found->second;
    operation.units_done += report.units_done;
    operation.rows_done += report.rows_done;
    operation.bytes_done += report.bytes_done;
    operation.failure_count += std::max(report.failure_count, report.failures.size());
    for (const cluster::FailedFile& failure : report.failures) {
      if (operation.failures.size() >= WarmupReport::kFailuresMax) break;
      operation.failures.insert(failure);
    }
  }
  if (up_.empty()) operation.reason = "no node is up";
  operation.note = ReplicasNote(operation.order.replicas, up_.size());
}

void Warmups::End(const std::string& id, OperationState state) {
  Running& running = running_.at(id);
  running.operation.state = state;
  if (ended_.size() >= kEndedMax) ended_.erase(ended_.begin());
  ended_.push_back(Shown(running));
  running_.erase(id);
  to_forget_.push_back(id);
}

void Warmups::Report(const std::string& node, const std::vector<WarmupReport>& reports,
                     const cluster::Roster& roster) {
  std::lock_guard lock(mutex_);
  for (const WarmupReport& report : reports) {
    auto found = running_.find(report.operation);
    if (found != running_.end()) found->second.reports[node] = report;
  }
  Settle(roster);
}

void Warmups::Settle(const cluster::Roster& roster) {
  Follow(roster);
  std::vector<std::string> complete;
  for (auto& [id, running] : running_) {
    AddUp(running);
    if (!up_.empty() && running.operation.waiting_for.empty()) complete.push_back(id);
  }
  for (const std::string& id : complete) {
    const Operation& operation = running_.at(id).operation;
    bool failed = operation.failure_count > 0 || operation.units_done != operation.units;
    End(id, failed ? OperationState::kFailed : OperationState::kDone);
  }
}

void Warmups::Update(const cluster::Roster& roster) {
  std::vector<std::string> forget;
  {
    std::lock_guard lock(mutex_);
    Settle(roster);
    forget.swap(to_forget_);
  }
  Forget(forget);
}

// Not under the mutex. What the store could not forget is tried again: the next head
// would go on with it, even if it was cancelled.
void Warmups::Forget(const std::vector<std::string>& ended) {
  for (const std::string& id : ended) {
    Status status = options_.store->Delete(kPrefix + id);
    if (status.ok() || status.code() == StatusCode::kNotFound) continue;
    spdlog::debug("operation {} is still kept: {}", id, status.message());
    std::lock_guard lock(mutex_);
    to_forget_.push_back(id);
  }
}

}  // namespace forebay::head
