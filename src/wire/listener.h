// The node's end of a Unix socket: where readers connect, and how they are turned away.
#pragma once

#include <optional>
#include <string>

#include "wire/channel.h"

namespace forebay::wire {

// What a reader is sent that is not served, or no longer: a Failure with request id 0.
std::string Refusal(const Status& why);
// Sends it; the caller closes the channel. Never waits: a reader that takes no messages
// hears nothing.
void TurnAway(Channel& reader, const Status& why);

// A listening socket that only this user can open (mode 0600). Keeps one descriptor in
// reserve: at the limit of open files a client is still accepted, and told that there is
// no room. Used by one thread.
class Listener {
 public:
  using Refuse = std::string (*)(const Status& why);

  Listener() = default;  // listens nowhere
  // `refuse` makes the message for clients that are turned away.
  static Result<Listener> At(const std::string& path, Refuse refuse = Refusal);

  // The next client; nullopt if none came before the deadline. kFull if one came for whom
  // there is no descriptor or memory: it was turned away, or waits for the next call.
  // After kFull the listener works as before.
  Result<std::optional<Channel>> Accept(Deadline deadline);
  int fd() const { return socket_.get(); }
  void Close() { socket_.Reset(); }

 private:
  Status SendAway(const Status& why);

  UniqueFd socket_;
  UniqueFd reserve_;
  Refuse refuse_ = Refusal;
};

}  // namespace forebay::wire
