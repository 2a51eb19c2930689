// forebay node: becomes forebay-node, which lies beside this program. forebay node stop
// ends one; forebay node drain is a call of the head.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <vector>

#include "cli/become.h"
#include "cli/verbs.h"
#include "reader/node_launcher.h"

namespace forebay::cli {
namespace {

struct Arguments {
  reader::NodeOptions node;
  std::vector<std::string> tiers;
  std::vector<std::string> rest;
};

Result<std::vector<std::string>> CommandOf(Arguments arguments) {
  if (!arguments.tiers.empty()) {
    arguments.node.store = fmt::format("{}", fmt::join(arguments.tiers, ","));
  }
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

void AddStore(CLI::App& app, const std::shared_ptr<Arguments>& arguments) {
  app.add_option("--store", arguments->node.store,
                 "where chunks are kept: mem:4GiB,ssd:/var/cache/forebay:100GiB "
                 "(default: FOREBAY_STORE, else the default store)");
  app.add_option("--tier", arguments->tiers,
                 "one tier of the store, the fastest first; may be given several times")
      ->excludes("--store");
  app.add_option("--socket", arguments->node.socket,
                 "where readers find this node (default: where they look for a private "
                 "node of this store)");
  app.allow_extras();
  app.footer("All other options go to forebay-node; see forebay-node --help.");
}

}  // namespace

Run DeclareNode(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddStore(app, arguments);
  CLI::App* drain = app.add_subcommand(
      "drain", "Take a node out of its cluster: its place goes at once");
  Run run_drain = DeclareNodeDrain(*drain);
  CLI::App* stop = app.add_subcommand("stop", "End a private node of this host");
  Run run_stop = DeclareNodeStop(*stop);
  return [=, &app]() -> Result<ExitCode> {
    if (drain->parsed()) return run_drain();
    if (stop->parsed()) return run_stop();
    arguments->rest = app.remaining();
    FB_ASSIGN_OR_RETURN(std::vector<std::string> command, CommandOf(*arguments));
    return Become(command);
  };
}

// A node that is the head as well.
Run DeclareServe(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  auto listen = std::make_shared<std::string>("127.0.0.1:7070");
  AddStore(app, arguments);
  app.add_option("--listen", *listen, "host:port of the head; port 0: any free one")
      ->capture_default_str();
  return [arguments, listen, &app]() -> Result<ExitCode> {
    arguments->rest = app.remaining();
    FB_ASSIGN_OR_RETURN(std::vector<std::string> command, CommandOf(*arguments));
    command.insert(command.end(), {"--serve", *listen});
    return Become(command);
  };
}

}  // namespace forebay::cli
