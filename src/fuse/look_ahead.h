// Which chunks a mount will be asked for next: the rest of a large file that is read from
// front to back, and the files that follow in a directory that is read in its order.
// Bounded; knows nothing about what is cached. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "model/files_manifest.h"
#include "reader/files/remote_files.h"

namespace forebay::fuse {

class LookAhead {
 public:
  // How far it looks.
  static constexpr uint64_t kAheadBytes = 8 * model::kExtentBytes;
  static constexpr uint32_t kAheadFiles = 128;
  // A directory is read in its order once this many files followed each other.
  static constexpr uint32_t kInARow = 3;

  struct Read {
    const model::FilesManifest* manifest = nullptr;
    uint64_t node = 0;  // of the file, for files of different versions
    uint32_t file = 0;
    uint64_t offset = 0;
  };
  // What is worth asking for beyond what was named before. Empty for most reads.
  struct Ahead {
    std::vector<model::ChunkRef> chunks;
    // Files of packs, each by itself: a pack holds files from everywhere.
    std::vector<reader::RemoteFiles::Place> files;
    bool empty() const { return chunks.empty() && files.empty(); }
  };
  Ahead OnRead(const Read& read);

 private:
  // Of a file: in extents. Of a directory: in files.
  struct Run {
    uint64_t last = 0;
    uint64_t wanted = 0;  // all before this one was named
    uint32_t length = 0;
  };
  Ahead InFile(const Read& read);
  Ahead InDirectory(const Read& read);

  std::mutex mutex_;
  std::unordered_map<uint64_t, Run> files_;        // by node
  std::unordered_map<uint64_t, Run> directories_;  // by source, version and index
};

}  // namespace forebay::fuse
