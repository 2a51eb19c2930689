// forebay worker HOST PORT: becomes a worker of Kubeflow's data cache. Its head is
// `forebay head HOST PORT`.
#include "cli/cluster/worker.h"

#include <CLI/App.hpp>
#include <memory>

#include "cli/become.h"

namespace forebay::cli {
namespace {

struct Arguments {
  std::string host;
  std::string port;
};

}  // namespace

Run DeclareWorker(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("HOST", arguments->host, "the address to serve on, as 0.0.0.0")
      ->required();
  app.add_option("PORT", arguments->port, "the port to serve on, as 50052")->required();
  app.footer(
      "All else comes from the environment, as Kubeflow Trainer sets it "
      "(docs/kubeflow.md).");
  return [arguments]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(std::string binary,
                        FindBeside("forebay-kubeflow", "FOREBAY_KUBEFLOW_BINARY"));
    return Become({binary, "worker", arguments->host, arguments->port});
  };
}

}  // namespace forebay::cli
