#include <fmt/format.h>

#include "base/size.h"
#include "cli/duration.h"
#include "cli/status.h"
#include "cli/text_table.h"

namespace forebay::cli {
namespace {

uint64_t Number(const NodeStatus& json, const char* key) {
  auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return 0;
  double value = found->get<double>();
  return value > 0 ? static_cast<uint64_t>(value) : 0;
}

std::string Text(const NodeStatus& json, const char* key) {
  auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "-";
}

std::string Count(const NodeStatus& json, const char* key) {
  return fmt::format("{}", Number(json, key));
}

// The objects of a list; nothing where there is no such list.
std::vector<NodeStatus> Objects(const NodeStatus& json, const char* key) {
  std::vector<NodeStatus> objects;
  auto found = json.find(key);
  if (found == json.end() || !found->is_array()) return objects;
  for (const NodeStatus& item : *found) {
    if (item.is_object()) objects.push_back(item);
  }
  return objects;
}

// A node in the foreground logs to its stderr, and says nothing here.
std::string LogText(const NodeStatus& node) {
  std::string log = Text(node, "log");
  return log.empty() ? "-" : log;
}

std::string NodesTable(const std::vector<NodeStatus>& nodes) {
  TextTable table({{"NODE", Align::kRight},
                   {"VERSION"},
                   {"UP", Align::kRight},
                   {"FILLS", Align::kRight},
                   {"FAILED", Align::kRight},
                   {"QUEUED", Align::kRight},
                   {"FETCHED", Align::kRight},
                   {"READERS", Align::kRight},
                   {"SOCKET"},
                   {"LOG"}});
  for (const NodeStatus& node : nodes) {
    auto up = milliseconds(Number(node, "uptime_seconds") * 1000);
    table.Add({Count(node, "pid"), Text(node, "version"), FormatDuration(up),
               Count(node, "fills"), Count(node, "failed_fills"),
               Count(node, "fills_queued"), FormatSize(Number(node, "source_bytes")),
               fmt::format("{}", Objects(node, "readers").size()), Text(node, "socket"),
               LogText(node)});
  }
  return table.ToString();
}

std::string TierName(const NodeStatus& tier) {
  std::string path = Text(tier, "path");
  return Text(tier, "medium") + (path.empty() || path == "-" ? "" : ":" + path);
}

std::string TiersTable(const std::vector<NodeStatus>& nodes) {
  TextTable table({{"NODE", Align::kRight},
                   {"TIER"},
                   {"USED", Align::kRight},
                   {"QUOTA", Align::kRight},
                   {"CHUNKS", Align::kRight},
                   {"EVICTED", Align::kRight}});
  for (const NodeStatus& node : nodes) {
    for (const NodeStatus& tier : Objects(node, "tiers")) {
      // Without a quota, what the disk has room for.
      uint64_t quota = Number(tier, "quota_bytes");
      if (quota == 0) quota = Number(tier, "capacity_bytes");
      table.Add({Count(node, "pid"), TierName(tier),
                 FormatSize(Number(tier, "used_bytes")),
                 quota == 0 ? "-" : FormatSize(quota), Count(tier, "chunks"),
                 Count(tier, "evictions")});
    }
  }
  return table.ToString();
}

std::string PositionText(const NodeStatus& view) {
  uint64_t position = Number(view, "position");
  uint64_t positions = Number(view, "positions");
  if (positions == 0) return "-";
  return fmt::format(
      "{:.1f} %", 100 * static_cast<double>(position) / static_cast<double>(positions));
}

std::string ReadersTable(const std::vector<NodeStatus>& nodes) {
  TextTable table({{"NODE", Align::kRight},
                   {"READER", Align::kRight},
                   {"PROGRAM"},
                   {"CHUNKS", Align::kRight},
                   {"READ", Align::kRight},
                   {"TABLE"}});
  bool any = false;
  for (const NodeStatus& node : nodes) {
    for (const NodeStatus& reader : Objects(node, "readers")) {
      std::vector<NodeStatus> views = Objects(reader, "views");
      if (views.empty()) views.push_back(NodeStatus::object());
      for (const NodeStatus& view : views) {
        table.Add({Count(node, "pid"), Count(reader, "pid"), Text(reader, "program"),
                   Count(reader, "chunks"), PositionText(view), Text(view, "uri")});
        any = true;
      }
    }
  }
  return any ? "\n" + table.ToString() : "";
}

}  // namespace

nlohmann::ordered_json StatusJson(const std::vector<NodeStatus>& nodes) {
  auto list = nlohmann::ordered_json::array();
  for (const NodeStatus& node : nodes) list.push_back(node);
  return {{"nodes", std::move(list)}};
}

std::string StatusText(const std::vector<NodeStatus>& nodes) {
  if (nodes.empty()) return "";
  return NodesTable(nodes) + "\n" + TiersTable(nodes) + ReadersTable(nodes);
}

}  // namespace forebay::cli
