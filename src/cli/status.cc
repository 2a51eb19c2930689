// forebay status: asks every node of this host that this user can reach.
#include "cli/status.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>

#include "cli/cluster/cluster_text.h"
#include "cli/cluster/head_call.h"
#include "cli/node/running_nodes.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

Result<ExitCode> ShowCluster(const std::string& heads, OutputFormat format) {
  FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(heads));
  FB_ASSIGN_OR_RETURN(nlohmann::json status, head.Get("/v1/status"));
  Print(format == OutputFormat::kJson ? ToText(status) : ClusterText(status));
  return ExitCode::kOk;
}

// Of the head that `forebay serve` is, if there is one on this machine.
bool ShowOwnCluster() {
  auto head = HeadCall::To("");
  if (!head.ok() || !head->Answers()) return false;
  auto status = head->Get("/v1/status");
  if (status.ok()) Print("\n" + ClusterText(*status));
  return status.ok();
}

}  // namespace

Run DeclareStatus(CLI::App& app) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::kTable);
  auto heads = std::make_shared<std::string>();
  AddOutputOption(app, format.get());
  app.add_option("--head", *heads,
                 "show the cluster of this head instead (default: FOREBAY_HEAD)")
      ->option_text("HOST:PORT");
  return [format, heads]() -> Result<ExitCode> {
    std::string given = GivenHeads(*heads);
    if (!given.empty()) return ShowCluster(given, *format);
    FB_ASSIGN_OR_RETURN(auto sockets, NodeSockets(WhichNodes::kAll));
    std::vector<NodeStatus> nodes;
    ExitCode code = ExitCode::kOk;
    for (const std::string& socket : sockets) {
      auto status = AskNode(socket);
      if (status.ok()) {
        nodes.push_back(*std::move(status));
      } else if (!IsDead(status.status())) {
        code = ExitCodeOf(status.status().code());
        Complain(fmt::format("{}: {}", socket, status.status().message()));
      }
    }
    Print(*format == OutputFormat::kJson ? ToText(StatusJson(nodes)) : StatusText(nodes));
    if (*format == OutputFormat::kTable && ShowOwnCluster()) return code;
    if (nodes.empty() && code == ExitCode::kOk) {
      Complain("no node of yours runs on this host; one starts when a table is opened");
    }
    return code;
  };
}

}  // namespace forebay::cli
