// The manifest of a files version: directories, files, packs of small files. One
// immutable block of bytes, mapped not parsed (docs/formats/files-manifest.md).
//
//   file       a name, a size, an identity; files of a directory follow each other, by
//              name
//   link       a file without bytes, whose identity is what it leads to: text, which
//              nobody has followed
//   directory  a path; directories of a directory follow each other, by name; 0 is the
//              root
//   pack       files of less than 64 KiB, kept as one chunk
//
// Nothing but the header is checked when it is opened: whatever a record points at is
// bounded when it is used, so a manifest of millions of files opens at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/size.h"
#include "base/status.h"
#include "model/chunk.h"
#include "model/object.h"

namespace forebay::model {

constexpr uint64_t kPackedFileBytes = 64 * kKiB;  // files below this are in packs
constexpr uint64_t kWholeFileBytes = 64 * kMiB;   // files up to this are one chunk…
constexpr uint64_t kExtentBytes = 16 * kMiB;      // …larger ones are cut into these
constexpr uint32_t kNoPack = 0xFFFFFFFF;
constexpr uint32_t kLinkMark = 0xFFFFFFFF;  // the pack_offset of a link
// A ChunkRef of a files version: (file, extent), or (pack, kPackGroup).
constexpr uint32_t kPackGroup = 0xFFFFFFFE;

struct FileRecord {
  uint64_t text;  // bits 0–39 where its name begins, and after it its identity; 40–50
                  // bytes of the name, 51–62 of the identity, 63: that is an etag
  int64_t size;
  int64_t mtime_ns;
  uint32_t pack;  // kNoPack: a chunk or more of its own
  uint32_t pack_offset;

  bool is_link() const { return pack == kNoPack && pack_offset == kLinkMark; }
};
static_assert(sizeof(FileRecord) == 32);

struct DirectoryRecord {
  uint64_t path;  // bits 0–39 where its path begins, 40–63 bytes
  uint32_t parent;
  uint32_t first_directory;
  uint32_t directory_count;
  uint32_t first_file;
  uint32_t file_count;
  uint32_t reserved;
};
static_assert(sizeof(DirectoryRecord) == 32);

struct PackRecord {
  Hash128 content;  // of the identities and places of its files
  uint64_t size;
  uint32_t first_member;
  uint32_t member_count;
};
static_assert(sizeof(PackRecord) == 32);

// Where a byte of a file is: in which chunk, and from where on.
struct FilePlace {
  ChunkRef ref;
  uint64_t offset = 0;  // in the chunk
  uint64_t size = 0;    // of the file, from there on in this chunk
};

class FilesManifest {
 public:
  // With links or empty directories; 1 without.
  static constexpr uint32_t kFormatVersion = 2;

  // A view of `bytes`, which `owner` keeps alive. An unknown format version is
  // kUnsupported, sections that do not fit are kCorrupt.
  static Result<std::shared_ptr<const FilesManifest>> View(
      std::string_view bytes, std::shared_ptr<const void> owner);

  const Hash128& version() const { return version_; }
  std::string_view bytes() const { return bytes_; }
  std::string_view root() const { return root_; }  // a URI without a '/' at its end
  std::string_view origin() const { return origin_; }
  uint64_t file_bytes() const { return file_bytes_; }  // of all files together
  // Objects whose names cannot be file names here, and up to 100 of those, with reasons.
  uint64_t left_out_count() const { return left_out_count_; }
  std::vector<std::string> left_out() const;

  std::span<const FileRecord> files() const { return files_; }
  std::span<const DirectoryRecord> directories() const { return directories_; }
  std::span<const PackRecord> packs() const { return packs_; }
  std::span<const uint32_t> members(const PackRecord& pack) const;

  // Paths are relative to the root, without '/' at either end; "" is the root itself.
  std::optional<uint32_t> FindFile(std::string_view path) const;
  std::optional<uint32_t> FindDirectory(std::string_view path) const;
  std::optional<uint32_t> FindFileIn(uint32_t directory, std::string_view name) const;
  std::optional<uint32_t> FindDirectoryIn(uint32_t directory,
                                          std::string_view name) const;

  // What lies in a directory, by index; whatever its record says, it is there.
  using Indices = std::ranges::iota_view<uint32_t, uint32_t>;
  Indices FilesIn(uint32_t directory) const;
  Indices DirectoriesIn(uint32_t directory) const;

  std::string_view file_name(uint32_t file) const;
  std::string_view directory_path(uint32_t directory) const;
  std::string_view directory_name(uint32_t directory) const;
  uint32_t DirectoryOf(uint32_t file) const;
  std::string FilePath(uint32_t file) const;
  std::string_view etag(uint32_t file) const;         // empty where the source has none
  std::string_view link_target(uint32_t file) const;  // empty where it is no link
  Object object(uint32_t file) const;

  // How many chunks of its own or shared a file has; 0 when it is empty.
  uint32_t ChunkCount(uint32_t file) const;
  // Where a byte of a file is kept once everything is in place; `offset` is below its
  // size. While its pack is not stored, a small file may be had as (file, 0) alone.
  FilePlace PlaceOf(uint32_t file, uint64_t offset) const;
  bool Contains(ChunkRef ref) const;
  // The pack that a file is in, if it is in one.
  std::optional<ChunkRef> PackOf(uint32_t file) const;
  uint64_t ChunkBytes(ChunkRef ref) const;
  // Where the chunk (file, extent) begins in its file.
  static uint64_t ExtentOffset(ChunkRef ref) { return ref.group * kExtentBytes; }

 private:
  FilesManifest() = default;
  std::string_view Text(uint64_t offset, uint64_t size) const;
  std::string_view Identity(const FileRecord& record) const;

  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
  Hash128 version_;
  uint64_t file_bytes_ = 0;
  uint64_t left_out_count_ = 0;
  std::string_view root_;
  std::string_view origin_;
  std::string_view text_;
  std::string_view left_out_;
  std::span<const FileRecord> files_;
  std::span<const DirectoryRecord> directories_;
  std::span<const PackRecord> packs_;
  std::span<const uint32_t> members_;
  std::span<const uint32_t> file_slots_;
  std::span<const uint32_t> directory_slots_;
};

// Every chunk of a version once: packs, then files of their own; until `each` says false.
void EachChunk(const FilesManifest& manifest, const std::function<bool(ChunkRef)>& each);

// Files that are there once this chunk is: a large file counts with its last extent.
uint64_t FilesEndingIn(const FilesManifest& manifest, ChunkRef ref);

// What the bytes of a chunk depend on and nothing else.
Hash128 FileChunkKey(const FilesManifest& manifest, ChunkRef ref);
// What says on which nodes of a cluster a chunk is: a small file is where its pack is.
Hash128 FilePlacement(const FilesManifest& manifest, ChunkRef ref);
Hash128 FilesManifestKey(const Hash128& version);

}  // namespace forebay::model
