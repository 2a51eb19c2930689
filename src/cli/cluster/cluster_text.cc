#include "cli/cluster/cluster_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/size.h"
#include "cli/cluster/head_call.h"
#include "cli/output.h"
#include "cli/text_table.h"

namespace forebay::cli {
namespace {

using nlohmann::json;

std::string Names(const json& list) {
  std::vector<std::string> names;
  for (const json& one : list) {
    if (one.is_string()) names.push_back(Printable(one.get<std::string>()));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string OptionsText(const json& dataset) {
  std::vector<std::string> options;
  if (dataset.contains("options") && dataset["options"].is_object()) {
    for (const auto& [name, value] : dataset["options"].items()) {
      options.push_back(Printable(fmt::format(
          "{}={}", name, value.is_string() ? value.get<std::string>() : value.dump())));
    }
  }
  return fmt::format("{}", fmt::join(options, " "));
}

std::string StoreText(const json& node) {
  uint64_t used = 0;
  uint64_t capacity = 0;
  if (node.contains("report")) {
    for (const json& tier : ListIn(node["report"], "tiers")) {
      used += NumberIn(tier, "used_bytes");
      capacity += NumberIn(tier, "capacity_bytes");
    }
  }
  return capacity == 0 ? "-"
                       : fmt::format("{} of {}", FormatSize(used), FormatSize(capacity));
}

std::string CachedText(const json& dataset) {
  if (!dataset.contains("cached_percent")) return "-";
  return fmt::format("{:.1f} %", RealIn(dataset, "cached_percent"));
}

// What people should know about datasets, a line each.
std::string NotesText(const json& answer) {
  std::string text;
  for (const json& dataset : ListIn(answer, "datasets")) {
    std::string note = TextIn(dataset, "note");
    if (note.empty()) continue;
    text += Printable(fmt::format("{}: {}", TextIn(dataset, "name"), note)) + "\n";
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string DatasetText(const json& dataset) {
  std::string columns = Names(ListIn(dataset, "columns"));
  return FactList({{"name", TextIn(dataset, "name")},
                   {"kind", TextIn(dataset, "kind")},
                   {"source", TextIn(dataset, "source")},
                   {"options", OptionsText(dataset)},
                   {"columns", columns.empty() ? "all" : columns},
                   {"replicas", std::to_string(NumberIn(dataset, "replicas"))},
                   {"version", TextIn(dataset, "version")},
                   {"rows", std::to_string(NumberIn(dataset, "rows"))},
                   {"files", std::to_string(NumberIn(dataset, "files"))}});
}

std::string DatasetsText(const json& answer) {
  TextTable table({{"NAME"},
                   {"ROWS", Align::kRight},
                   {"FILES", Align::kRight},
                   {"REPLICAS", Align::kRight},
                   {"CACHED", Align::kRight},
                   {"PHASE"},
                   {"SOURCE"}});
  for (const json& dataset : ListIn(answer, "datasets")) {
    std::string phase = TextIn(dataset, "phase");
    table.Add({TextIn(dataset, "name"), std::to_string(NumberIn(dataset, "rows")),
               std::to_string(NumberIn(dataset, "files")),
               std::to_string(NumberIn(dataset, "replicas")), CachedText(dataset),
               phase.empty() ? "-" : phase, TextIn(dataset, "source")});
  }
  return table.ToString();
}

std::string NodesText(const json& answer) {
  TextTable table({{"NODE"},
                   {"STATE"},
                   {"HOST"},
                   {"FLIGHT"},
                   {"WEIGHT", Align::kRight},
                   {"STORE", Align::kRight},
                   {"HEARD", Align::kRight}});
  for (const json& node : ListIn(answer, "nodes")) {
    table.Add({TextIn(node, "id"), TextIn(node, "state"), TextIn(node, "host"),
               TextIn(node, "flight"), fmt::format("{:g}", RealIn(node, "weight")),
               StoreText(node), fmt::format("{:.1f} s", RealIn(node, "silent_seconds"))});
  }
  return table.ToString();
}

std::string ClusterText(const json& status) {
  std::string ratio = "-";
  if (status.contains("hit_ratio") && status["hit_ratio"].is_number()) {
    ratio = fmt::format("{:.1f} %", 100 * RealIn(status, "hit_ratio"));
  }
  return FactList({{"head", TextIn(status, "leader")},
                   {"term", std::to_string(NumberIn(status, "term"))},
                   {"hit ratio", ratio}}) +
         "\n" + NodesText(status) + "\n" + DatasetsText(status) + NotesText(status);
}

std::string OperationText(const json& operation) {
  return FactList({{"operation", TextIn(operation, "id")},
                   {"dataset", TextIn(operation, "dataset")},
                   {"state", TextIn(operation, "state")},
                   {"units", fmt::format("{} of {}", NumberIn(operation, "units_done"),
                                         NumberIn(operation, "units"))},
                   {"rows", fmt::format("{} of {}", NumberIn(operation, "rows_done"),
                                        NumberIn(operation, "rows"))},
                   {"cached", FormatSize(NumberIn(operation, "bytes_done"))},
                   {"waiting for", Names(ListIn(operation, "waiting_for"))},
                   {"time", fmt::format("{:.1f} s", RealIn(operation, "seconds"))}});
}

}  // namespace forebay::cli
