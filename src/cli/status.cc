// forebay status: asks every node of this host that this user can reach.
#include "cli/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/mapping.h"
#include "cli/cluster/cluster_text.h"
#include "cli/cluster/head_call.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "reader/node_link.h"

namespace forebay::cli {
namespace {

// Where a node that serves a whole host listens.
constexpr const char* kHostSocket = "/run/forebay/node.sock";
constexpr milliseconds kAnswerTimeout = std::chrono::seconds(5);
constexpr uint64_t kAnswerBytesMax = uint64_t{256} << 20;

Result<std::vector<std::string>> Sockets() {
  FB_ASSIGN_OR_RETURN(std::string directory, reader::RuntimeDirectory());
  std::vector<std::string> sockets = {kHostSocket};
  if (const char* given = std::getenv("FOREBAY_NODE")) sockets.emplace_back(given);
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".sock") sockets.push_back(it->path().string());
  }
  std::ranges::sort(sockets);
  sockets.erase(std::unique(sockets.begin(), sockets.end()), sockets.end());
  return sockets;
}

// Those who said who they are, without this very program.
bool IsReader(const NodeStatus& reader) {
  if (!reader.is_object()) return false;
  auto pid = reader.find("pid");
  return pid != reader.end() && *pid != 0 && *pid != ::getpid();
}

NodeStatus WithoutUs(NodeStatus status) {
  auto readers = status.find("readers");
  if (readers == status.end() || !readers->is_array()) return status;
  auto others = NodeStatus::array();
  for (NodeStatus& reader : *readers) {
    if (IsReader(reader)) others.push_back(std::move(reader));
  }
  *readers = std::move(others);
  return status;
}

Result<NodeStatus> AskConnected(reader::NodeLink& link, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(reader::Answer answer, link.Call(wire::GetStatus{}, {}, deadline));
  auto* text = std::get_if<wire::Text>(&answer.message);
  if (text == nullptr || answer.fds.size() != 1 || text->size > kAnswerBytesMax) {
    return Status::Corrupt("the node gave an answer that does not fit the question");
  }
  FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(answer.fds[0].get(), text->size,
                                                 Mapping::Mode::kShared));
  auto status = NodeStatus::parse(mapping->bytes(), nullptr, /*allow_exceptions=*/false);
  if (!status.is_object()) return Status::Corrupt("the node's answer is not JSON");
  return WithoutUs(std::move(status));
}

// kNotFound or kUnavailable when nobody lives behind the socket.
Result<NodeStatus> Ask(const std::string& socket) {
  Deadline deadline = Deadline::After(kAnswerTimeout);
  reader::NodeOptions options;
  options.socket = socket;
  reader::NodeLink link(options, [](const wire::Evicted&) {});
  Status greeted = link.Ensure(deadline);
  if (greeted.code() == StatusCode::kUnsupported) {
    // Of another version: what its greeting says is all there is to know.
    return NodeStatus{{"pid", link.node().pid},
                      {"version", link.node().node_version},
                      {"socket", socket},
                      {"store", link.node().store},
                      {"protocol", link.node().protocol}};
  }
  FB_RETURN_NOT_OK(greeted);
  return AskConnected(link, deadline);
}

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

bool IsDead(const Status& status) {
  return status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kUnavailable;
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
    FB_ASSIGN_OR_RETURN(std::vector<std::string> sockets, Sockets());
    std::vector<NodeStatus> nodes;
    ExitCode code = ExitCode::kOk;
    for (const std::string& socket : sockets) {
      auto status = Ask(socket);
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
