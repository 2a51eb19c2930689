// The nodes of this host that this user can reach.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cli/status.h"

namespace forebay::cli {

// Where this user's nodes listen: private ones, and with them (kAll) the node of the host
// and FOREBAY_NODE. Sockets that nobody serves are among them.
enum class WhichNodes { kPrivate, kAll };
Result<std::vector<std::string>> NodeSockets(WhichNodes which);

// What a node says of itself, without this program among its readers. kNotFound or
// kUnavailable when nobody lives behind the socket.
Result<NodeStatus> AskNode(const std::string& socket);
bool IsDead(const Status& status);

struct RunningNode {
  pid_t pid = 0;
  std::string socket;
};
// Those that somebody serves; none is asked anything.
Result<std::vector<RunningNode>> RunningNodes(WhichNodes which);

// Asks the node to end and waits until it has. Its readers go on with the next node.
Status StopNode(const RunningNode& node, Deadline deadline);

}  // namespace forebay::cli
