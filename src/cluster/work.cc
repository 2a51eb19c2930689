#include "cluster/work.h"

#include <nlohmann/json.hpp>

#include "cluster/json_fields.h"

namespace forebay::cluster {
namespace {

using nlohmann::json;

std::string TextIn(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t NumberIn(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>()
                                                              : 0;
}

// The objects of a list; anything else in it is left out.
std::vector<json> ObjectsIn(const json& object, const char* name) {
  std::vector<json> objects;
  auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return objects;
  for (const json& one : *found) {
    if (one.is_object()) objects.push_back(one);
  }
  return objects;
}

json JsonOf(const WarmupReport& report) {
  json failures = json::array();
  for (const FailedFile& failure : report.failures) {
    failures.push_back({{"file", failure.file}, {"error", failure.error}});
  }
  return {{"operation", report.operation},
          {"roster_epoch", report.roster_epoch},
          {"done", report.done},
          {"units", report.units},
          {"units_done", report.units_done},
          {"rows", report.rows},
          {"rows_done", report.rows_done},
          {"bytes_done", report.bytes_done},
          {"failures", failures},
          {"failure_count", report.failure_count}};
}

WarmupReport WarmupReportOf(const json& object) {
  WarmupReport report{.operation = TextIn(object, "operation"),
                      .roster_epoch = NumberIn(object, "roster_epoch"),
                      .done = object.value("done", json()) == json(true),
                      .units = NumberIn(object, "units"),
                      .units_done = NumberIn(object, "units_done"),
                      .rows = NumberIn(object, "rows"),
                      .rows_done = NumberIn(object, "rows_done"),
                      .bytes_done = NumberIn(object, "bytes_done"),
                      .failures = {},
                      .failure_count = NumberIn(object, "failure_count")};
  for (const json& failure : ObjectsIn(object, "failures")) {
    if (report.failures.size() >= WarmupReport::kFailuresMax) break;
    report.failures.push_back({TextIn(failure, "file"), TextIn(failure, "error")});
  }
  return report;
}

json TiersOf(const NodeReport& report) {
  json tiers = json::array();
  for (const TierReport& tier : report.tiers) {
    tiers.push_back({{"name", tier.name},
                     {"used_bytes", tier.used_bytes},
                     {"capacity_bytes", tier.capacity_bytes}});
  }
  return tiers;
}

json VersionsOf(const NodeReport& report) {
  json versions = json::array();
  for (const VersionReport& version : report.versions) {
    versions.push_back({{"dataset", version.dataset},
                        {"version", version.version},
                        {"cached_bytes", version.cached_bytes},
                        {"cached_units", version.cached_units}});
  }
  return versions;
}

json JobsOf(const NodeReport& report) {
  json jobs = json::array();
  for (const JobReport& job : report.jobs) {
    jobs.push_back({{"job", job.job},
                    {"version", job.version},
                    {"epoch", job.epoch},
                    {"position", job.position},
                    {"rows", job.rows}});
  }
  return jobs;
}

std::map<std::string, uint64_t> CountersIn(const json& object) {
  std::map<std::string, uint64_t> counters;
  auto found = object.find("counters");
  if (found == object.end() || !found->is_object()) return counters;
  for (const auto& [name, value] : found->items()) {
    if (value.is_number_unsigned()) counters[name] = value.get<uint64_t>();
  }
  return counters;
}

}  // namespace

std::string ToJson(const Orders& orders) {
  json warmups = json::array();
  for (const WarmupOrder& order : orders.warmups) {
    warmups.push_back({{"operation", order.operation},
                       {"dataset", order.dataset},
                       {"version", order.version},
                       {"columns", order.columns},
                       {"replicas", order.replicas}});
  }
  return DumpJson({{"warmups", warmups}});
}

Result<Orders> ParseOrders(std::string_view text) {
  auto fields = JsonFields::Parse(text, "orders of a head");
  FB_RETURN_NOT_OK(fields.status());
  Orders orders;
  for (const json& one : ObjectsIn(json{{"warmups", fields.Any("warmups")}}, "warmups")) {
    JsonFields warmup(one, "an order to warm up");
    WarmupOrder order{.operation = warmup.Text("operation"),
                      .dataset = warmup.Text("dataset"),
                      .version = warmup.Text("version"),
                      .columns = {},
                      .replicas = static_cast<uint32_t>(warmup.Number("replicas"))};
    for (const json& column : warmup.Array("columns")) {
      if (column.is_string()) order.columns.push_back(column.get<std::string>());
    }
    FB_RETURN_NOT_OK(warmup.status());
    orders.warmups.push_back(std::move(order));
  }
  return orders;
}

std::string ToJson(const NodeReport& report) {
  json warmups = json::array();
  for (const WarmupReport& warmup : report.warmups) warmups.push_back(JsonOf(warmup));
  return DumpJson({{"tiers", TiersOf(report)},
                   {"versions", VersionsOf(report)},
                   {"warmups", warmups},
                   {"jobs", JobsOf(report)},
                   {"counters", report.counters}});
}

Result<NodeReport> ParseNodeReport(std::string_view text) {
  json object = ParseJson(text);
  if (!object.is_object()) return Status::Invalid("a node's report is no JSON object");
  NodeReport report;
  for (const json& tier : ObjectsIn(object, "tiers")) {
    report.tiers.push_back({TextIn(tier, "name"), NumberIn(tier, "used_bytes"),
                            NumberIn(tier, "capacity_bytes")});
  }
  for (const json& version : ObjectsIn(object, "versions")) {
    report.versions.push_back({TextIn(version, "dataset"), TextIn(version, "version"),
                               NumberIn(version, "cached_bytes"),
                               NumberIn(version, "cached_units")});
  }
  for (const json& warmup : ObjectsIn(object, "warmups")) {
    report.warmups.push_back(WarmupReportOf(warmup));
  }
  for (const json& job : ObjectsIn(object, "jobs")) {
    report.jobs.push_back({TextIn(job, "job"), TextIn(job, "version"),
                           NumberIn(job, "epoch"), NumberIn(job, "position"),
                           NumberIn(job, "rows")});
  }
  report.counters = CountersIn(object);
  return report;
}

}  // namespace forebay::cluster
