#include "fuse/supervisor_link.h"

#include <cstring>

namespace forebay::fuse {
namespace {

Result<Letter> Open(wire::Packet packet) {
  Letter letter;
  if (packet.bytes.size() < sizeof(Message)) {
    return Status::Corrupt("a message between the processes of a mount is too short");
  }
  std::memcpy(&letter.message, packet.bytes.data(), sizeof(Message));
  if (letter.message.version != kLinkVersion) {
    return Status::Unsupported("the supervisor of this mount is of another version");
  }
  letter.text = packet.bytes.substr(sizeof(Message));
  letter.fds = std::move(packet.fds);
  return letter;
}

}  // namespace

Status SupervisorLink::Send(const Message& message, const std::vector<int>& fds,
                            const std::string& text) {
  std::string bytes(reinterpret_cast<const char*>(&message), sizeof(message));
  return channel_.Send(bytes + text, fds, Deadline::After(timeout_));
}

Result<Letter> SupervisorLink::Receive() {
  FB_ASSIGN_OR_RETURN(wire::Packet packet, channel_.Receive(Deadline::Never()));
  return Open(std::move(packet));
}

Result<std::optional<Letter>> SupervisorLink::TryReceive() {
  FB_ASSIGN_OR_RETURN(std::optional<wire::Packet> packet, channel_.TryReceive());
  if (!packet) return std::optional<Letter>();
  FB_ASSIGN_OR_RETURN(Letter letter, Open(*std::move(packet)));
  return std::optional<Letter>(std::move(letter));
}

Result<Message> SupervisorLink::Call(const Message& message,
                                     const std::vector<int>& fds) {
  std::lock_guard lock(call_mutex_);
  FB_RETURN_NOT_OK(Send(message, fds));
  auto answer = channel_.Receive(Deadline::After(timeout_));
  Result<Letter> letter =
      answer.ok() ? Open(*std::move(answer)) : Result<Letter>(answer.status());
  if (!letter.ok()) {
    channel_.Shutdown();
    return letter.status();
  }
  if ((letter->message.flags & kFlagFull) != 0) {
    return Status::Full("the supervisor of the mount has too many files open");
  }
  return letter->message;
}

}  // namespace forebay::fuse
