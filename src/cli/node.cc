// forebay node: becomes forebay-node, which lies beside this program.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/errno_status.h"
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

Status Become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return ErrnoStatus(errno, "start " + command[0]);
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
  app.footer("All other options go to forebay-node; see forebay-node --help.");
  return [arguments, &app]() -> Result<ExitCode> {
    arguments->rest = app.remaining();
    FB_ASSIGN_OR_RETURN(std::vector<std::string> command, CommandOf(*arguments));
    return Become(command);
  };
}

}  // namespace forebay::cli
