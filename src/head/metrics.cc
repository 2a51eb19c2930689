#include "head/metrics.h"

#include <fmt/format.h>

#include <map>

#include "base/metrics_text.h"
#include "cluster/work.h"

namespace forebay::head {
namespace {

void AddNodes(Reign& reign, MetricsText* text) {
  std::map<std::string_view, uint64_t> by_state = {
      {"up", 0}, {"down", 0}, {"draining", 0}};
  auto nodes = reign.members->nodes();
  for (const auto& node : nodes) ++by_state[MemberStateName(node.member.state)];
  text->Begin("forebay_head_nodes", "gauge", "Nodes by state.");
  for (const auto& [state, count] : by_state) {
    text->Add("forebay_head_nodes", fmt::format("state=\"{}\"", state), count);
  }
  text->Begin("forebay_head_store_used_bytes", "gauge", "What tiers of nodes hold.");
  for (const auto& node : nodes) {
    auto report = cluster::ParseNodeReport(node.report);
    if (!report.ok()) continue;
    for (const cluster::TierReport& tier : report->tiers) {
      text->Add("forebay_head_store_used_bytes",
                fmt::format("node={},tier={}", MetricsText::Quoted(node.member.id),
                            MetricsText::Quoted(tier.name)),
                tier.used_bytes);
    }
  }
}

void AddOperations(Reign& reign, MetricsText* text) {
  std::map<std::string_view, uint64_t> by_state = {
      {"running", 0}, {"done", 0}, {"failed", 0}, {"cancelled", 0}};
  for (const Operation& operation : reign.warmups->List()) {
    ++by_state[OperationStateName(operation.state)];
  }
  text->Begin("forebay_head_operations", "gauge", "Operations that are remembered.");
  for (const auto& [state, count] : by_state) {
    text->Add("forebay_head_operations", fmt::format("state=\"{}\"", state), count);
  }
}

}  // namespace

std::string HeadMetrics(Reign* reign, const Counts& counts) {
  MetricsText text;
  text.One("forebay_head_leads", "gauge", "1 while this head leads.",
           reign == nullptr ? 0 : 1);
  text.One("forebay_head_heartbeats_total", "counter", "Heartbeats of nodes.",
           counts.heartbeats);
  text.Begin("forebay_head_replies_total", "counter", "Answers by class of status.");
  for (size_t i = 2; i < counts.replies.size(); ++i) {
    text.Add("forebay_head_replies_total", fmt::format("status=\"{}xx\"", i),
             counts.replies[i]);
  }
  if (reign == nullptr) return text.Take();
  text.One("forebay_head_term", "gauge", "How often a head began to lead.",
           reign->members->term());
  text.One("forebay_head_roster_epoch", "gauge", "Of the newest roster.",
           reign->members->roster()->epoch());
  auto datasets = reign->datasets->List();
  if (datasets.ok()) {
    text.One("forebay_head_datasets", "gauge", "Datasets that are declared.",
             datasets->size());
  }
  AddNodes(*reign, &text);
  AddOperations(*reign, &text);
  return text.Take();
}

}  // namespace forebay::head
