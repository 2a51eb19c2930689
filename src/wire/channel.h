// One end of a Unix socket that carries whole messages with descriptors attached
// (SOCK_SEQPACKET). Not thread-safe for receiving; Send may be called by several threads.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace forebay::wire {

// The largest message; larger data travels as a memfd.
constexpr size_t kMessageBytesMax = 64 * 1024;
// The most descriptors in one message (the kernel allows 253).
constexpr size_t kMessageFdsMax = 64;

struct Packet {
  std::string bytes;
  std::vector<UniqueFd> fds;
};

class Channel {
 public:
  explicit Channel(UniqueFd socket);

  // A connected channel; kNotFound or kUnavailable when nobody listens there.
  static Result<Channel> Connect(const std::string& path);

  // Waits for room until the deadline. kUnavailable when the other end is gone.
  Status Send(std::string_view bytes, const std::vector<int>& fds, Deadline deadline);
  // kUnavailable when the other end is gone, kDeadline when nothing came in time.
  Result<Packet> Receive(Deadline deadline);
  // What has arrived already, without waiting.
  Result<std::optional<Packet>> TryReceive();
  // True once the other end has closed and everything it sent was received.
  bool PeerGone() const;

  int fd() const { return socket_.get(); }
  // Wakes whoever waits in Receive; all later calls fail with kUnavailable.
  void Shutdown();
  // The user id of the process at the other end, and its process id: of a listening
  // socket, of the process that listens.
  Result<uint32_t> PeerUser() const;
  Result<pid_t> PeerPid() const;

 private:
  Result<std::optional<Packet>> ReceiveNow();

  UniqueFd socket_;
  std::unique_ptr<std::timed_mutex> send_mutex_;
  std::string buffer_;
};

}  // namespace forebay::wire
