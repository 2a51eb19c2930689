#include "cli/node/running_nodes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/errno_status.h"
#include "base/mapping.h"
#include "reader/node_link.h"

namespace forebay::cli {
namespace {

// Where a node that serves a whole host listens.
constexpr const char* kHostSocket = "/run/forebay/node.sock";
constexpr milliseconds kAnswerTimeout = std::chrono::seconds(5);
constexpr uint64_t kAnswerBytesMax = uint64_t{256} << 20;

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
  return status;
}

}  // namespace

Result<std::vector<std::string>> NodeSockets(WhichNodes which) {
  FB_ASSIGN_OR_RETURN(std::string directory, reader::RuntimeDirectory());
  std::vector<std::string> sockets;
  if (which == WhichNodes::kAll) {
    sockets.emplace_back(kHostSocket);
    if (const char* given = std::getenv("FOREBAY_NODE")) sockets.emplace_back(given);
  }
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".sock") sockets.push_back(it->path().string());
  }
  std::ranges::sort(sockets);
  sockets.erase(std::unique(sockets.begin(), sockets.end()), sockets.end());
  return sockets;
}

Result<NodeStatus> AskNode(const std::string& socket) {
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

bool IsDead(const Status& status) {
  return status.code() == StatusCode::kNotFound ||
         status.code() == StatusCode::kUnavailable;
}

Result<std::vector<RunningNode>> RunningNodes(WhichNodes which) {
  FB_ASSIGN_OR_RETURN(std::vector<std::string> sockets, NodeSockets(which));
  std::vector<RunningNode> nodes;
  for (const std::string& socket : sockets) {
    auto channel = wire::Channel::Connect(socket);
    if (!channel.ok()) continue;
    auto pid = channel->PeerPid();
    if (pid.ok()) nodes.push_back({*pid, socket});
  }
  return nodes;
}

Status StopNode(const RunningNode& node, Deadline deadline) {
  if (node.pid <= 0) {
    return Status::Unsupported(fmt::format(
        "the node at {} runs in another container: stop it there", node.socket));
  }
  // A descriptor and not the number, which may be another process's in a moment.
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, node.pid, 0)));
  bool told = process.valid() &&
              ::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) == 0;
  if (!told && errno == ESRCH) return Status::OK();  // it has ended
  if (!told) return ErrnoStatus(errno, fmt::format("stop node {}", node.pid));
  pollfd ended{process.get(), POLLIN, 0};
  while (::poll(&ended, 1, static_cast<int>(deadline.Remaining().count())) <= 0) {
    if (!deadline.passed()) continue;  // a signal of ours
    return Status::Deadline(
        fmt::format("node {} was told to stop and does not end; kill -KILL {} ends it",
                    node.pid, node.pid));
  }
  return Status::OK();
}

}  // namespace forebay::cli
