// Finds the node of this host or starts a private one: one per store and user, however
// many processes race to start it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "wire/channel.h"

namespace forebay::reader {

struct NodeOptions {
  std::string store;        // a store spec; empty: FOREBAY_STORE, else the default store
  std::string socket;       // a node to use and no other; empty: FOREBAY_NODE, else found
  std::string node_binary;  // forebay-node; empty: looked for beside this program
  milliseconds idle_timeout = std::chrono::minutes(10);
  bool await_named = true;  // false: one that does not answer is an error at once
  // Asked several times a second while waiting for an answer; true gives up with
  // kCancelled. So a person can end a long wait without a thread of ours.
  std::function<bool()> interrupted;
};

// The store spec that `options` means, canonical.
Result<std::string> ResolveStore(const NodeOptions& options);
// What to tell whoever chose that store, though it can be used. Sentences; none where a
// node is named, whose store it is.
std::vector<std::string> StoreWarnings(const NodeOptions& options);
// Where the sockets of this user's private nodes are; made when missing, mode 0700.
Result<std::string> RuntimeDirectory();
// The socket of the private node of a store (canonical spec).
Result<std::string> PrivateSocket(const std::string& store);
// forebay-node: as given, from FOREBAY_NODE_BINARY, or beside this program or library.
Result<std::string> FindNodeBinary(const NodeOptions& options);

// The socket that `options` or FOREBAY_NODE names; empty: none.
std::string GivenSocket(const NodeOptions& options);
// How long to wait for a named node that does not answer: it may be starting anew. Until
// the deadline if there is a trace of it, else 30 s at most. Over at once where no node
// was named.
Deadline PatienceFor(const NodeOptions& options, Deadline deadline);

// A channel to a running node, which is started if need be. Nothing was said on it yet.
// A named node is tried once; kUnavailable says that it does not answer.
Result<wire::Channel> ConnectToNode(const NodeOptions& options, Deadline deadline);

}  // namespace forebay::reader
