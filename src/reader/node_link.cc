#include "reader/node_link.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "reader/cancel.h"

namespace forebay::reader {
namespace {

// How long a wait goes on before the caller is asked whether it still wants the answer.
constexpr milliseconds kPatience = milliseconds(50);

std::string ProgramName() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

NodeLink::NodeLink(NodeOptions options, OnEvicted on_evicted)
    : options_(std::move(options)), on_evicted_(std::move(on_evicted)) {}

Status NodeLink::Ensure(Deadline deadline) {
  if (channel_) return Status::OK();
  FB_ASSIGN_OR_RETURN(wire::Channel channel, ConnectToNode(options_, deadline));
  channel_.emplace(std::move(channel));
  ++generation_;
  wire::Hello hello{.pid = static_cast<uint32_t>(::getpid()), .program = ProgramName()};
  FB_ASSIGN_OR_RETURN(Answer answer, Call(hello, {}, deadline));
  auto* welcome = std::get_if<wire::Welcome>(&answer.message);
  if (welcome == nullptr) return Lost(Status::Corrupt("the node greets strangely"));
  node_ = *welcome;
  if (node_.protocol != wire::kProtocolVersion) {
    channel_.reset();
    return Status::Unsupported(fmt::format(
        "the node (pid {}, version {}) speaks reader protocol {} and this reader {}; "
        "upgrade the older one or stop that node",
        node_.pid, node_.node_version, node_.protocol, wire::kProtocolVersion));
  }
  return Status::OK();
}

bool NodeLink::interrupted() const {
  return CancelScope::Cancelled() || (options_.interrupted && options_.interrupted());
}

Status NodeLink::Lost(Status status) {
  if (channel_ && status.code() == StatusCode::kUnavailable) {
    status = LastWords(std::move(status));
  }
  channel_.reset();
  return status;
}

// Why the node hung up, if it said so: what it sent is there after it has gone. A reset
// connection says so once before it gives that out.
Status NodeLink::LastWords(Status lost) {
  for (int failures = 0; failures < 2;) {
    auto packet = channel_->TryReceive();
    if (!packet.ok()) {
      ++failures;
      continue;
    }
    if (!*packet) break;
    auto envelope = wire::Decode((*packet)->bytes);
    if (!envelope.ok()) break;
    auto* failure = std::get_if<wire::Failure>(&envelope->message);
    if (failure != nullptr && envelope->request == 0) return failure->status;
  }
  return lost;
}

Result<uint64_t> NodeLink::Send(wire::Message message, const std::vector<int>& fds,
                                Deadline deadline) {
  if (!channel_) return Status::Unavailable("the node has gone");
  uint64_t request = next_request_++;
  std::string bytes = wire::Encode({request, std::move(message)});
  if (bytes.size() > wire::kMessageBytesMax) {
    return Status::Invalid("a request is too large: give fewer or shorter options");
  }
  Status sent = channel_->Send(bytes, fds, deadline);
  if (!sent.ok()) return Lost(sent);
  return request;
}

Result<wire::Packet> NodeLink::ReceivePacket(Deadline deadline) {
  for (;;) {
    if (interrupted()) return Status::Cancelled("the wait was interrupted");
    Deadline pause = Deadline::After(std::min(kPatience, deadline.Remaining()));
    auto packet = channel_->Receive(pause);
    bool quiet = !packet.ok() && packet.status().code() == StatusCode::kDeadline;
    if (!quiet || deadline.passed()) return packet;
  }
}

Result<Answer> NodeLink::Receive(uint64_t request, Deadline deadline) {
  for (;;) {
    if (!channel_) return Status::Unavailable("the node has gone");
    auto packet = ReceivePacket(deadline);
    // After a deadline the answer may still come: the connection is of no more use.
    if (!packet.ok()) return Lost(packet.status());
    auto envelope = wire::Decode(packet->bytes);
    if (!envelope.ok()) return Lost(envelope.status());
    if (envelope->request == request) {
      return Answer{std::move(envelope->message), std::move(packet->fds)};
    }
    FB_RETURN_NOT_OK(OnEvent(*std::move(envelope)));
  }
}

Result<Answer> NodeLink::Call(wire::Message message, const std::vector<int>& fds,
                              Deadline deadline) {
  FB_ASSIGN_OR_RETURN(uint64_t request, Send(std::move(message), fds, deadline));
  FB_ASSIGN_OR_RETURN(Answer answer, Receive(request, deadline));
  if (auto* failure = std::get_if<wire::Failure>(&answer.message)) return failure->status;
  return answer;
}

Result<wire::WarmupState> NodeLink::Warmup(uint32_t view, const OnWarmup& report,
                                           Deadline deadline) {
  wire::Warmup warmup{.view = view,
                      .timeout_ms = static_cast<uint64_t>(deadline.Remaining().count())};
  FB_ASSIGN_OR_RETURN(uint64_t request, Send(warmup, {}, deadline));
  for (;;) {
    FB_ASSIGN_OR_RETURN(Answer answer, Receive(request, deadline));
    if (auto* failure = std::get_if<wire::Failure>(&answer.message)) {
      return failure->status;
    }
    FB_ASSIGN_OR_RETURN(auto state, Expect<wire::WarmupState>(std::move(answer)));
    if (report) report(state);
    if (state.done) return state;
  }
}

Status NodeLink::Poll() {
  while (channel_) {
    auto packet = channel_->TryReceive();
    if (!packet.ok()) return Lost(packet.status());
    if (!*packet) break;
    auto envelope = wire::Decode((*packet)->bytes);
    if (!envelope.ok()) return Lost(envelope.status());
    FB_RETURN_NOT_OK(OnEvent(*std::move(envelope)));
  }
  return Status::OK();
}

Status NodeLink::OnEvent(wire::Envelope envelope) {
  if (auto* evicted = std::get_if<wire::Evicted>(&envelope.message)) {
    on_evicted_(*evicted);
  }
  // The node serves this connection no longer.
  auto* failure = std::get_if<wire::Failure>(&envelope.message);
  if (failure != nullptr && envelope.request == 0) return Lost(failure->status);
  return Status::OK();  // a late answer to a request that was given up
}

}  // namespace forebay::reader
