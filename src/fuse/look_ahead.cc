#include "fuse/look_ahead.h"

#include <algorithm>

#include "fuse/node_id.h"

namespace forebay::fuse {
namespace {

// Readers that are followed at once; forgetting one costs it a few reads.
constexpr size_t kRunsMax = 4096;
// Several workers that share a directory come a few files out of order.
constexpr uint64_t kGapMax = 16;

uint64_t DirectoryKey(const LookAhead::Read& read, uint32_t directory) {
  NodeId id = NodeId::From(read.node);
  return NodeId{true, id.source, id.generation, directory}.number();
}

}  // namespace

LookAhead::Ahead LookAhead::OnRead(const Read& read) {
  const auto& record = read.manifest->files()[read.file];
  bool extents = static_cast<uint64_t>(record.size) > model::kWholeFileBytes;
  if (!extents && read.offset != 0) return {};
  std::lock_guard lock(mutex_);
  return extents ? InFile(read) : InDirectory(read);
}

LookAhead::Ahead LookAhead::InFile(const Read& read) {
  if (files_.size() >= kRunsMax) files_.clear();
  uint64_t extent = read.offset / model::kExtentBytes;
  auto [found, fresh] = files_.try_emplace(read.node, Run{extent, extent + 1, 0});
  Run& run = found->second;
  bool follows = extent == run.last + 1 || (extent == run.last && run.length > 0);
  bool begins = read.offset == 0 && (fresh || run.last != 0);
  if (!follows && !begins) {
    if (extent != run.last) run = {extent, extent + 1, 0};
    return {};
  }
  if (begins) run.wanted = 1;
  run.last = extent;
  run.length = 1;
  uint64_t count = read.manifest->ChunkCount(read.file);
  uint64_t end = std::min(count, extent + 1 + kAheadBytes / model::kExtentBytes);
  Ahead ahead;
  for (uint64_t i = std::max(run.wanted, extent + 1); i < end; ++i) {
    ahead.chunks.push_back({read.file, static_cast<uint32_t>(i)});
  }
  run.wanted = std::max(run.wanted, end);
  return ahead;
}

LookAhead::Ahead LookAhead::InDirectory(const Read& read) {
  if (directories_.size() >= kRunsMax) directories_.clear();
  const model::FilesManifest& manifest = *read.manifest;
  uint32_t directory = manifest.DirectoryOf(read.file);
  auto [found, fresh] = directories_.try_emplace(DirectoryKey(read, directory),
                                                 Run{read.file, read.file + 1ULL, 1});
  Run& run = found->second;
  if (fresh) return {};
  if (read.file <= run.last && run.last - read.file <= kGapMax) return {};
  if (read.file < run.last || read.file - run.last > kGapMax) {
    run = {read.file, read.file + 1ULL, 1};
    return {};
  }
  run.last = read.file;
  if (++run.length < kInARow) return {};
  model::FilesManifest::Indices all = manifest.FilesIn(directory);
  uint64_t end = std::min<uint64_t>(uint64_t{*all.begin()} + all.size(),
                                    read.file + 1ULL + kAheadFiles);
  // In steps: a message for every file would cost more than it brings.
  if (run.wanted > read.file + kAheadFiles / 2 || run.wanted >= end) return {};
  Ahead ahead;
  uint64_t bytes = 0;
  uint64_t i = std::max<uint64_t>(run.wanted, read.file + 1ULL);
  for (; i < end && bytes < kAheadBytes; ++i) {
    auto file = static_cast<uint32_t>(i);
    const model::FileRecord& next = manifest.files()[file];
    bytes += static_cast<uint64_t>(next.size);
    if (next.size == 0) continue;
    if (next.pack != model::kNoPack) {
      ahead.files.push_back({.file = file, .offset = 0});
    } else {
      ahead.chunks.push_back({file, 0});
    }
  }
  run.wanted = i;
  return ahead;
}

}  // namespace forebay::fuse
