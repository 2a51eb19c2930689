#include "head/metrics.h"

#include <fmt/format.h>

#include <map>

#include "cluster/work.h"

namespace forebay::head {
namespace {

class Text {
 public:
  void Begin(const char* name, const char* type, const char* help) {
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void Add(const char* name, const std::string& labels, uint64_t value) {
    out_ += labels.empty() ? fmt::format("{} {}\n", name, value)
                           : fmt::format("{}{{{}}} {}\n", name, labels, value);
  }
  void One(const char* name, const char* type, const char* help, uint64_t value) {
    Begin(name, type, help);
    Add(name, "", value);
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string Quoted(const std::string& value) {
  std::string out;
  for (char c : value) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return "\"" + out + "\"";
}

void AddNodes(Reign& reign, Text* text) {
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
                fmt::format("node={},tier={}", Quoted(node.member.id), Quoted(tier.name)),
                tier.used_bytes);
    }
  }
}

void AddOperations(Reign& reign, Text* text) {
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

std::string MetricsText(Reign* reign, const Counts& counts) {
  Text text;
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
  text.One("forebay_head_term", "gauge", "How often a head began to lead.", reign->term);
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
