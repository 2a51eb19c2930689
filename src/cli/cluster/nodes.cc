// forebay nodes: the nodes of a cluster. forebay node drain takes one out of it.
#include <CLI/App.hpp>
#include <memory>

#include "cli/cluster/cluster_text.h"
#include "cli/cluster/head_call.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

struct Arguments {
  std::string head;
  std::string node;
  OutputFormat format = OutputFormat::kTable;
};

}  // namespace

Run DeclareNodes(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddHeadOption(app, &arguments->head);
  AddOutputOption(app, &arguments->format);
  return [arguments]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(arguments->head));
    FB_ASSIGN_OR_RETURN(nlohmann::json answer, head.Get("/v1/nodes"));
    Print(arguments->format == OutputFormat::kJson ? ToText(answer) : NodesText(answer));
    return ExitCode::kOk;
  };
}

Run DeclareNodeDrain(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("NODE", arguments->node, "its id, see forebay nodes")->required();
  AddHeadOption(app, &arguments->head);
  return [arguments]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(HeadCall head, HeadCall::To(arguments->head));
    FB_RETURN_NOT_OK(head.DrainNode(arguments->node).status());
    return ExitCode::kOk;
  };
}

}  // namespace forebay::cli
