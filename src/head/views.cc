#include "head/views.h"

#include <algorithm>
#include <map>

#include "cluster/json_fields.h"
#include "cluster/work.h"
#include "model/schema.h"

namespace forebay::head {
namespace {

using cluster::NodeReport;
using nlohmann::json;

// A report that makes no sense says nothing.
NodeReport ReportOf(const cluster::Membership::Node& node) {
  auto report = cluster::ParseNodeReport(node.report);
  return report.ok() ? *std::move(report) : NodeReport{};
}

double Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return 100;
  return 100.0 * static_cast<double>(std::min(part, whole)) / static_cast<double>(whole);
}

struct Held {
  uint64_t units = 0;
  uint64_t bytes = 0;
};

// What the nodes that are up hold together.
struct Holdings {
  uint64_t node_count = 0;
  std::map<std::pair<std::string, std::string>, Held> held;  // by dataset and version
};

Holdings HoldingsOf(const std::vector<cluster::Membership::Node>& nodes) {
  Holdings all;
  for (const auto& node : nodes) {
    if (node.member.state != cluster::MemberState::kUp) continue;
    ++all.node_count;
    for (const cluster::VersionReport& version : ReportOf(node).versions) {
      Held& held = all.held[{version.dataset, version.version}];
      held.units += version.cached_units;
      held.bytes += version.cached_bytes;
    }
  }
  return all;
}

std::string PhaseOf(const Dataset& dataset, double percent, Warmups& warmups) {
  for (const cluster::WarmupOrder& order : warmups.orders().warmups) {
    if (order.dataset == dataset.name) return "loading";
  }
  if (percent >= 100) return "cached";
  return percent > 0 ? "partly cached" : "not cached";
}

json DatasetView(const Dataset& dataset, Reign& reign, const Holdings& holdings,
                 const model::AnyManifest* manifest) {
  json view = ShownDataset(dataset);
  auto found = holdings.held.find({dataset.name, dataset.version});
  Held held = found == holdings.held.end() ? Held{} : found->second;
  view["note"] = ReplicasNote(dataset.replicas, holdings.node_count);
  view["cached_bytes"] = held.bytes;
  view["cached_units"] = held.units;
  if (manifest == nullptr) return view;
  // A node has a unit once, however many replicas are wanted.
  uint64_t copies = std::clamp<uint64_t>(holdings.node_count, 1, dataset.replicas);
  uint64_t units = manifest->unit_count() * copies;
  double percent = Percent(held.units, units);
  view["rows"] = manifest->row_count();
  view["files"] = manifest->object_count();
  view["units"] = units;
  view["cached_percent"] = percent;
  view["phase"] = PhaseOf(dataset, percent, *reign.warmups);
  return view;
}

json TotalsOf(const std::vector<cluster::Membership::Node>& nodes) {
  std::map<std::string, uint64_t> totals;
  for (const auto& node : nodes) {
    for (const auto& [name, value] : ReportOf(node).counters) totals[name] += value;
  }
  json view = {{"counters", totals}};
  uint64_t hits = totals["chunk_hits_total"];
  uint64_t asked = hits + totals["chunk_misses_total"];
  view["hit_ratio"] =
      asked == 0 ? json() : json(static_cast<double>(hits) / static_cast<double>(asked));
  return view;
}

}  // namespace

json NodeView(const cluster::Membership::Node& node) {
  const cluster::Member& member = node.member;
  json report = cluster::ParseJson(node.report);
  return {{"id", member.id},
          {"host", member.host},
          {"flight", member.flight},
          {"http", member.http},
          {"weight", member.weight},
          {"state", MemberStateName(member.state)},
          {"fence", member.fence},
          {"silent_seconds", static_cast<double>(node.silence.count()) / 1000},
          {"report", report.is_object() ? report : json::object()}};
}

json OperationView(const Operation& operation) {
  json failures = json::array();
  for (const cluster::FailedFile& failure : operation.failures) {
    failures.push_back({{"file", failure.file}, {"error", failure.error}});
  }
  return {{"id", operation.order.operation},
          {"kind", "warmup"},
          {"dataset", operation.order.dataset},
          {"version", operation.order.version},
          {"columns", operation.order.columns},
          {"replicas", operation.order.replicas},
          {"state", OperationStateName(operation.state)},
          {"units", operation.units},
          {"units_done", operation.units_done},
          {"rows", operation.rows},
          {"rows_done", operation.rows_done},
          {"bytes_done", operation.bytes_done},
          {"percent", operation.units == 0 && operation.state == OperationState::kRunning
                          ? 0.0
                          : Percent(operation.units_done, operation.units)},
          {"failures", failures},
          {"failure_count", operation.failure_count},
          {"waiting_for", operation.waiting_for},
          {"reason", operation.reason},
          {"note", operation.note},
          {"seconds", static_cast<double>(operation.elapsed.count()) / 1000}};
}

json VersionView(const model::AnyManifest& manifest) {
  json view = {{"version", manifest.version().ToHex()},
               {"kind", manifest.files() != nullptr ? "files" : "table"},
               {"rows", manifest.row_count()},
               {"files", manifest.object_count()},
               {"units", manifest.unit_count()},
               {"manifest_bytes", manifest.bytes().size()}};
  if (manifest.files() != nullptr) {
    view["file_bytes"] = manifest.files()->file_bytes();
    view["left_out"] = manifest.files()->left_out_count();
    return view;
  }
  view["ranges"] = manifest.table()->ranges().size();
  view["columns"] = json::array();
  for (const model::Field& field : manifest.table()->schema().fields) {
    view["columns"].push_back({{"name", field.name}, {"type", model::TypeName(field)}});
  }
  return view;
}

json JobsView(const std::vector<cluster::Membership::Node>& nodes) {
  json jobs = json::array();
  for (const auto& node : nodes) {
    for (const cluster::JobReport& job : ReportOf(node).jobs) {
      jobs.push_back({{"node", node.member.id},
                      {"job", job.job},
                      {"version", job.version},
                      {"epoch", job.epoch},
                      {"position", job.position},
                      {"rows", job.rows},
                      {"percent", Percent(job.position, job.rows)}});
    }
  }
  return jobs;
}

Result<json> StatusView(Reign& reign, Versions& versions) {
  FB_ASSIGN_OR_RETURN(std::vector<Dataset> datasets, reign.datasets->List());
  std::vector<cluster::Membership::Node> nodes = reign.members->nodes();
  Holdings holdings = HoldingsOf(nodes);
  json view = TotalsOf(nodes);
  view["term"] = reign.members->term();
  view["roster_epoch"] = reign.members->roster()->epoch();
  view["nodes"] = json::array();
  for (const auto& node : nodes) view["nodes"].push_back(NodeView(node));
  view["datasets"] = json::array();
  for (const Dataset& dataset : datasets) {
    auto manifest = versions.Find(dataset.version);
    view["datasets"].push_back(
        DatasetView(dataset, reign, holdings, manifest.ok() ? &*manifest : nullptr));
  }
  return view;
}

}  // namespace forebay::head
