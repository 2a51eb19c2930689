// Answers as the kernel wants them.
#pragma once

#include <string>

#include "fuse/filesystem.h"
#include "fuse/kernel_protocol.h"

namespace forebay::fuse {

// How what is in a mount looks to everybody.
struct Look {
  uint32_t user = 0;
  uint32_t group = 0;
  // For how long the kernel need not ask again. A refresh tells it what changed.
  uint64_t valid_seconds = 86'400;
};

fuse_attr KernelAttributes(const Attributes& attributes, const Look& look);
// A name that is there; one that is not, which the kernel remembers as well.
fuse_entry_out KernelEntry(const Attributes& attributes, const Look& look);
fuse_entry_out NoEntry(const Look& look);

// Fills the answer to READDIR and READDIRPLUS until it is full.
class DirectoryAnswer {
 public:
  DirectoryAnswer(size_t size_max, bool plus) : size_max_(size_max), plus_(plus) {}
  // False when there is no room for it. `linked` is null where the kernel shall not
  // remember the entry under its name.
  bool Add(const Entry& entry, const fuse_entry_out* linked);
  const std::string& bytes() const { return bytes_; }

 private:
  size_t size_max_;
  bool plus_;
  std::string bytes_;
};

template <typename T>
std::string_view BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace forebay::fuse
