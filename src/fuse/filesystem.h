// What a mount shows, without a word of the kernel's protocol: names, attributes,
// listings and bytes of one or several sources, each pinned to a version. Thread-safe.
//
// Every inode is served by the version in which it first appeared, so an open file keeps
// its bytes whatever a refresh brings; directories are those of the newest version.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "fuse/births.h"
#include "fuse/contents.h"
#include "fuse/node_id.h"

namespace forebay::fuse {

// One version of one source.
struct Generation {
  uint32_t number = 1;
  std::shared_ptr<Contents> contents;
  Births births{1};
};
using GenerationPtr = std::shared_ptr<const Generation>;

enum class FileType { kFile, kDirectory, kLink };

struct Attributes {
  uint64_t node = 0;
  FileType type = FileType::kFile;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  uint32_t links = 1;
};

struct Entry {
  std::string_view name;
  uint64_t node = 0;
  FileType type = FileType::kFile;
  uint64_t next = 0;     // where a listing goes on after this one
  bool current = false;  // of the newest version: may be remembered under its name
};

// Parts of a reply, one after the other; each keeps its memory alive.
using Pieces = std::vector<FileBytes>;

class Filesystem {
 public:
  struct Options {
    // One without a name is the root itself; else each is a folder below it.
    std::vector<std::string> names;
    int64_t mounted_ns = 0;  // the time of what has none
  };
  explicit Filesystem(Options options);

  // The next version of a source; what is looked up from now on is of it.
  void Add(uint32_t source, GenerationPtr generation);
  GenerationPtr Current(uint32_t source) const;
  // Null where there is no such version; 0 is the newest.
  GenerationPtr Find(uint32_t source, uint32_t generation) const;
  uint32_t source_count() const { return static_cast<uint32_t>(options_.names.size()); }

  // These return 0 or an errno.
  int Lookup(uint64_t parent, std::string_view name, Attributes* out) const;
  int GetAttributes(uint64_t node, Attributes* out) const;
  // Gives entries from `cookie` on (0: the first) until `each` returns false. A listing
  // goes on in the version it began in.
  int List(uint64_t node, uint64_t cookie,
           const std::function<bool(const Entry&)>& each) const;
  // Where a link leads: text, for who asks to follow.
  int ReadLink(uint64_t node, std::string* out) const;
  int ExtendedAttribute(uint64_t node, std::string_view name, std::string* out) const;
  std::vector<std::string> ExtendedAttributeNames(uint64_t node) const;

  // What a file node is: its version and its index there.
  struct File {
    GenerationPtr generation;
    uint32_t index = 0;
    uint64_t size = 0;
  };
  std::optional<File> FindFile(uint64_t node) const;
  // Up to `size` bytes; fewer only at the end of the file.
  static std::optional<Pieces> TryRead(const File& file, uint64_t offset, uint64_t size);
  static Result<Pieces> Read(const File& file, uint64_t offset, uint64_t size,
                             Deadline deadline);

  struct Totals {
    uint64_t bytes = 0;
    uint64_t files = 0;
  };
  Totals totals() const;
  struct Sizes {
    uint64_t files = 0;
    uint64_t whole_bytes = 0;  // of files that are one chunk, by a sample of them
  };
  Sizes sizes() const;
  // The number of a directory of a version.
  uint64_t DirectoryNode(uint32_t source, const Generation& generation,
                         uint32_t index) const;

 private:
  struct Directory {
    GenerationPtr generation;
    uint32_t source = 0;
    uint32_t index = 0;
  };
  bool has_folders() const { return !options_.names[0].empty(); }
  // `generation` 0 is the newest one; nullopt where that has no such directory.
  std::optional<Directory> FindDirectory(uint64_t node, uint32_t generation) const;
  Attributes OfFile(const Directory& in, uint32_t file) const;
  Attributes OfDirectory(const Directory& directory) const;
  Attributes OfRoot() const;
  int ListSources(uint64_t cookie, const std::function<bool(const Entry&)>& each) const;
  std::optional<Entry> EntryAt(const Directory& directory, uint64_t position) const;

  const Options options_;
  mutable std::shared_mutex mutex_;
  std::vector<std::vector<GenerationPtr>> generations_;  // by source, then by number - 1
};

}  // namespace forebay::fuse
