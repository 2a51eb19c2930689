// The numbers by which the kernel knows files and directories: a function of where the
// thing first appeared, so that every serving process knows them without a table.
#pragma once

#include <cstdint>

namespace forebay::fuse {

// Of the mount itself, by the protocol.
constexpr uint64_t kRootNode = 1;
constexpr uint32_t kGenerationMax = 0xFFFF;
constexpr uint32_t kSourcesMax = 0xFF;

// What a source's version calls it, in the version (generation) that it first appeared in
// as it is now. A changed file appears anew; a directory stays the one of its path.
struct NodeId {
  bool directory = false;
  uint32_t source = 0;
  uint32_t generation = 0;  // the first version of a mount is 1
  uint32_t index = 0;       // in that version's manifest

  friend bool operator==(const NodeId&, const NodeId&) = default;

  uint64_t number() const {
    return uint64_t{directory} << 56 | uint64_t{source} << 48 |
           uint64_t{generation} << 32 | index;
  }
  static NodeId From(uint64_t number) {
    return {.directory = (number >> 56 & 1) != 0,
            .source = static_cast<uint32_t>(number >> 48 & 0xFF),
            .generation = static_cast<uint32_t>(number >> 32 & 0xFFFF),
            .index = static_cast<uint32_t>(number)};
  }
};

}  // namespace forebay::fuse
