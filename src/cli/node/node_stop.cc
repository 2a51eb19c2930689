// forebay node stop: ends nodes of this host. Readers that need one start the next.
#include "cli/node/node_stop.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "cli/output.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

constexpr milliseconds kStopTimeout = std::chrono::seconds(30);

struct Arguments {
  std::string node;
  bool all = false;
  OutputFormat format = OutputFormat::kTable;
};

std::string StoppedText(const std::vector<RunningNode>& nodes) {
  std::string text;
  for (const RunningNode& node : nodes) {
    text += fmt::format("stopped node {} at {}\n", node.pid, Printable(node.socket));
  }
  return text;
}

nlohmann::ordered_json StoppedJson(const std::vector<RunningNode>& nodes) {
  auto list = nlohmann::ordered_json::array();
  for (const RunningNode& node : nodes) {
    list.push_back({{"pid", node.pid}, {"socket", node.socket}});
  }
  return {{"stopped", std::move(list)}};
}

Result<ExitCode> Stop(const Arguments& arguments) {
  auto which = arguments.node.empty() ? WhichNodes::kPrivate : WhichNodes::kAll;
  FB_ASSIGN_OR_RETURN(std::vector<RunningNode> running, RunningNodes(which));
  FB_ASSIGN_OR_RETURN(
      auto chosen, ChooseNodes(running, {.node = arguments.node, .all = arguments.all}));
  std::vector<RunningNode> stopped;
  Status failure;
  for (const RunningNode& node : chosen) {
    Status status = StopNode(node, Deadline::After(kStopTimeout));
    if (status.ok()) stopped.push_back(node);
    if (!status.ok() && failure.ok()) failure = status;
  }
  Print(arguments.format == OutputFormat::kJson ? ToText(StoppedJson(stopped))
                                                : StoppedText(stopped));
  FB_RETURN_NOT_OK(failure);
  if (chosen.empty()) Complain("no private node of yours runs on this host");
  return ExitCode::kOk;
}

}  // namespace

Result<std::vector<RunningNode>> ChooseNodes(const std::vector<RunningNode>& running,
                                             const NodeChoice& choice) {
  if (choice.all) return running;
  std::vector<RunningNode> chosen;
  std::vector<std::string> names;
  for (const RunningNode& node : running) {
    names.push_back(std::to_string(node.pid));
    bool named = choice.node == names.back() || choice.node == node.socket;
    if (choice.node.empty() || named) chosen.push_back(node);
  }
  if (!choice.node.empty() && chosen.empty()) {
    return Status::NotFound(fmt::format(
        "no node {} runs on this host; forebay status shows those that do", choice.node));
  }
  if (chosen.size() > 1) {
    return Status::Invalid(fmt::format("{} nodes run: name one of {}, or give --all",
                                       names.size(), fmt::join(names, ", ")));
  }
  return chosen;
}

Run DeclareNodeStop(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  auto* node = app.add_option("ID", arguments->node,
                              "its number in forebay status, or the path of its socket; "
                              "not needed where only one runs");
  app.add_flag("--all", arguments->all, "every private node of yours")->excludes(node);
  AddOutputOption(app, &arguments->format);
  return [arguments] { return Stop(*arguments); };
}

}  // namespace forebay::cli
