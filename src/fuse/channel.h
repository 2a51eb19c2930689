// One descriptor of the kernel's connection: requests come in, answers go out. An answer
// must go out where its request came in. Replies may be sent by any thread.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "fuse/filesystem.h"

namespace forebay::fuse {

// The kernel wants room for the largest request, which for a read-only mount is small.
constexpr size_t kRequestBytesMax = 64 * 1024;

class Channel {
 public:
  // Does not own the descriptor.
  explicit Channel(int fd) : fd_(fd) {}

  // The next request; empty when the file system was unmounted. Waits.
  Result<std::string_view> Receive(std::span<char> buffer) const;

  // False when the kernel has given up on the request meanwhile.
  bool Fail(uint64_t unique, int error) const;
  bool Answer(uint64_t unique, std::string_view bytes) const;
  // Straight from where the bytes are mapped.
  bool Answer(uint64_t unique, const Pieces& pieces) const;

  // Messages of our own. kNotFound where the kernel knows no such thing.
  Status Notify(int32_t code, std::span<const iovec> parts) const;

 private:
  bool Write(uint64_t unique, int error, std::span<const iovec> parts) const;
  int fd_;
};

}  // namespace forebay::fuse
