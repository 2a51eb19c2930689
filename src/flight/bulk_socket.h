// The bulk channel: chunks from node to node over a plain TCP connection, since gRPC
// copies every byte twice more than the kernel must. docs/formats/flight-ticket.md has
// the bytes. A socket that never waits past a deadline, nor long after it is told to
// stop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace forebay::flight {

// One end of a connection. Used by one thread.
class BulkSocket {
 public:
  struct Patience {
    Deadline deadline = Deadline::Never();
    std::function<bool()> ended{};  // looked at many times a second

    Status Check() const;
  };

  explicit BulkSocket(UniqueFd fd);
  // kUnavailable when nobody listens there, or the name leads nowhere.
  static Result<BulkSocket> Connect(const std::string& host, int port,
                                    const Patience& patience);

  // kUnavailable when the other end is gone, kDeadline, or kCancelled.
  Status Send(std::string_view bytes, const Patience& patience);
  // As many of `size` bytes as come in a moment, at least one; 0 when the other end has
  // closed in order.
  Result<size_t> ReceiveSome(void* data, size_t size, const Patience& patience);
  Status Receive(void* data, size_t size, const Patience& patience);
  // Something has come, or the other end has closed: an idle connection is used no more.
  bool HasInput() const;

 private:
  UniqueFd fd_;
};

// A socket that listens at host and port; 0: a free one.
struct BulkListener {
  UniqueFd fd;
  int port = 0;

  // kUnavailable: the port is taken.
  static Result<BulkListener> Listen(const std::string& host, int port = 0);
};

// What goes before everything that is sent. The same size for all. Carries a checksum of
// itself, so that a flipped bit cannot make it say something else.
struct BulkHeader {
  enum class Kind : uint32_t {
    kRequest = 1,  // `size` bytes of a ticket follow
    kChunk = 2,    // `size` bytes of a chunk follow
    kEnd = 3,      // every chunk has been sent; the next request may come
    kFailure = 4,  // a status code (u32) and `size` - 4 bytes of its sentence follow
    kRows = 5,     // `index` bytes of a descriptor of rows, then row numbers (u64 each)
    kWorking = 6,  // nothing follows: the answer is being made
  };
  static constexpr uint32_t kVersion = 3;         // told with the port
  static constexpr uint32_t kMagic = 0x334B4246;  // "FBK3"
  static constexpr size_t kBytes = 56;

  Kind kind = Kind::kRequest;
  uint64_t size = 0;
  uint32_t index = 0;
  Hash128 key{};
  // Of what follows: HashBytes, but of a stored chunk as the store names it.
  Hash128 checksum{};

  std::string Encode() const;
  // kCorrupt: not a header, or a damaged one.
  static Result<BulkHeader> Decode(std::string_view bytes);
  // kCorrupt: `body` is not what the sender sent.
  Status CheckBody(std::string_view body) const;
};

}  // namespace forebay::flight
