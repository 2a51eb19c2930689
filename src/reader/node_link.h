// A reader's connection to its node: requests with answers, events in between. Connects
// on first use, and again after the node went away or the process forked. Not
// thread-safe; its dataset has the lock.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reader/node_launcher.h"
#include "wire/message.h"

namespace forebay::reader {

struct Answer {
  wire::Message message;
  std::vector<UniqueFd> fds;
};

// What an answer must be.
template <typename T>
Result<T> Expect(Answer answer) {
  if (auto* message = std::get_if<T>(&answer.message)) return std::move(*message);
  return Status::Corrupt("the node gave an answer that does not fit the question");
}

class NodeLink {
 public:
  using OnEvicted = std::function<void(const wire::Evicted&)>;

  NodeLink(NodeOptions options, OnEvicted on_evicted);

  // Counts connections; what was opened on an earlier one is unknown to the node.
  uint64_t generation() const { return generation_; }
  bool connected() const { return channel_.has_value(); }
  // The caller gave up waiting.
  bool interrupted() const;
  // Connected and greeted, or why not. A node of another version is kUnsupported.
  Status Ensure(Deadline deadline);
  void Disconnect() { channel_.reset(); }

  // Sends a request; the answers come from Receive with the same id.
  Result<uint64_t> Send(wire::Message message, const std::vector<int>& fds,
                        Deadline deadline);
  Result<Answer> Receive(uint64_t request, Deadline deadline);
  // Send, then one answer. A Failure becomes its status.
  Result<Answer> Call(wire::Message message, const std::vector<int>& fds,
                      Deadline deadline);
  // Has the node load all of a view; `report` hears how far it is.
  using OnWarmup = std::function<void(const wire::WarmupState&)>;
  Result<wire::WarmupState> Warmup(uint32_t view, const OnWarmup& report,
                                   Deadline deadline);
  // Takes events that have arrived, without waiting. An error means the node has gone.
  Status Poll();
  const wire::Welcome& node() const { return node_; }
  const NodeOptions& options() const { return options_; }

 private:
  Result<wire::Packet> ReceivePacket(Deadline deadline);
  Status OnEvent(wire::Envelope envelope);
  Status Lost(Status status);
  Status LastWords(Status lost);

  NodeOptions options_;
  OnEvicted on_evicted_;
  std::optional<wire::Channel> channel_;
  wire::Welcome node_;
  uint64_t generation_ = 0;
  uint64_t next_request_ = 1;
};

}  // namespace forebay::reader
