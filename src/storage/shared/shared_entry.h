// An entry of a shared directory (docs/formats/shared-directory.md): a folder that holds
// one whole file. Its name carries what the file's bytes must be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"

namespace forebay::storage {

struct SharedName {
  Hash128 key{};       // of the source object
  Hash128 checksum{};  // XXH3-128 of the file's bytes, seeded with the key's low half
  uint64_t size = 0;

  friend bool operator==(const SharedName&, const SharedName&) = default;
  std::string ToString() const;  // <key>-<checksum>-<size>
  static std::optional<SharedName> Parse(std::string_view text);
};

struct SharedEntry {
  SharedName name;
  std::string folder;     // where it is
  std::string file_name;  // of the file in it
  std::string dataset;    // the tree it came with
  int64_t last_use_ns = 0;
  uint64_t uses = 0;
  bool pinned = false;

  std::string file_path() const { return folder + "/" + file_name; }
};

// What the folder says about itself. kNotFound when it has gone meanwhile.
Result<SharedEntry> ReadSharedEntry(const std::string& folder, const SharedName& name);

// Reads the whole file, by read(2): kCorrupt unless it has the bytes of its name.
Status VerifySharedFile(const SharedEntry& entry);

}  // namespace forebay::storage
