// forebay node: becomes forebay-node, which lies beside this program. forebay node drain
// is a call of the head.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "cli/become.h"
#include "cli/verbs.h"
#include "reader/node_launcher.h"

namespace forebay::cli {
namespace {

struct Arguments {
  reader::NodeOptions node;
  std::vector<std::string> rest;
};

Result<std::vector<std::string>> CommandOf(const Arguments& arguments) {
  FB_ASSIGN_OR_RETURN(std::string binary, reader::FindNodeBinary(arguments.node));
  FB_ASSIGN_OR_RETURN(std::string store, reader::ResolveStore(arguments.node));
  std::string socket = arguments.node.socket;
  if (socket.empty()) {
    FB_ASSIGN_OR_RETURN(socket, reader::PrivateSocket(store));
  }
  std::vector<std::string> command = {binary, "--store", store, "--socket", socket};
  command.insert(command.end(), arguments.rest.begin(), arguments.rest.end());
  return command;
}

}  // namespace

Run DeclareNode(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("--store", arguments->node.store,
                 "where chunks are kept: mem:4GiB,ssd:/var/cache/forebay:100GiB "
                 "(default: FOREBAY_STORE, else the default store)");
  app.add_option("--socket", arguments->node.socket,
                 "where readers find this node (default: where they look for a private "
                 "node of this store)");
  app.allow_extras();
  CLI::App* drain = app.add_subcommand(
      "drain", "Take a node out of its cluster: its place goes at once");
  Run run_drain = DeclareNodeDrain(*drain);
  app.footer("All other options go to forebay-node; see forebay-node --help.");
  return [arguments, &app, drain, run_drain]() -> Result<ExitCode> {
    if (drain->parsed()) return run_drain();
    arguments->rest = app.remaining();
    FB_ASSIGN_OR_RETURN(std::vector<std::string> command, CommandOf(*arguments));
    return Become(command);
  };
}

}  // namespace forebay::cli
