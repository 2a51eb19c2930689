#include "cache/file_fill.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/size.h"
#include "source/range_reader.h"

namespace forebay::cache {
namespace {

using model::ChunkRef;

Status ReadPart(const FilesVersion& version, ChunkRef ref, std::span<std::byte> into,
                const FileFillContext& context) {
  auto offset = static_cast<int64_t>(model::FilesManifest::ExtentOffset(ref));
  model::Object object = version.manifest->object(ref.range);
  source::Range range{offset, into};
  return source::ReadRanges(*version.source, object, {&range, 1}, *context.ranges,
                            context.deadline);
}

// File systems make pages as large as writes are, which cost less to write and to map.
// But not the largest ones: memory that a virtual machine has not used lately comes from
// its host in blocks of that size, and waiting for those is several times the copy.
constexpr uint64_t kWriteBytes = 512 * kKiB;

Status AppendInPieces(storage::ChunkWriter& writer, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    auto piece = bytes.first(std::min<size_t>(bytes.size(), kWriteBytes));
    FB_RETURN_NOT_OK(writer.Append(piece.data(), piece.size()));
    bytes = bytes.subspan(piece.size());
  }
  return Status::OK();
}

// Bytes on their way from a source to the store, hashed and written while they are in the
// processor's caches.
class Streaming {
 public:
  Streaming(storage::ChunkWriter* writer, std::span<std::byte> room)
      : writer_(writer), room_(room) {}

  Status Take(int64_t at, std::span<const std::byte> piece) {
    went_back_ = at != taken_;
    if (went_back_) return Status::Cancelled("bytes that were written must be replaced");
    taken_ += static_cast<int64_t>(piece.size());
    while (!piece.empty()) {
      size_t count = std::min(piece.size(), room_.size() - used_);
      std::memcpy(room_.data() + used_, piece.data(), count);
      used_ += count;
      piece = piece.subspan(count);
      if (used_ == room_.size()) FB_RETURN_NOT_OK(Flush());
    }
    return Status::OK();
  }
  Status Flush() { return writer_->Append(room_.data(), std::exchange(used_, 0)); }
  bool went_back() const { return went_back_; }

 private:
  storage::ChunkWriter* writer_;
  std::span<std::byte> room_;
  size_t used_ = 0;
  int64_t taken_ = 0;
  bool went_back_ = false;
};

bool MayStream(const FilesVersion& version, ChunkRef ref, bool hurried) {
  return ref.group != model::kPackGroup && !hurried && version.source->streams() &&
         version.manifest->ChunkBytes(ref) <= model::kExtentBytes;
}

// Nothing where the bytes have to be had in another way.
Result<std::optional<FileFilled>> Stream(const FilesVersion& version, ChunkRef ref,
                                         const FileFillContext& context) {
  auto started = std::chrono::steady_clock::now();
  uint64_t size = version.manifest->ChunkBytes(ref);
  FB_ASSIGN_OR_RETURN(auto buffer, FillBuffer::Make(std::min(size, kWriteBytes),
                                                    context.memory, context.deadline));
  FB_ASSIGN_OR_RETURN(auto writer, context.store->Create(version.Key(ref),
                                                         model::ChunkKind::kFile, size));
  Streaming streaming(writer.get(), buffer.bytes());
  source::Slice slice{static_cast<int64_t>(model::FilesManifest::ExtentOffset(ref)),
                      static_cast<int64_t>(size)};
  Status read = version.source->Stream(
      version.manifest->object(ref.range), slice,
      [&](int64_t at, auto piece) { return streaming.Take(at, piece); },
      context.deadline);
  if (streaming.went_back()) return std::optional<FileFilled>();
  FB_RETURN_NOT_OK(read);
  FB_RETURN_NOT_OK(streaming.Flush());
  auto arrived = std::chrono::steady_clock::now();
  FB_ASSIGN_OR_RETURN(storage::Chunk chunk, writer->Commit());
  auto stored = std::chrono::steady_clock::now();
  return FileFilled{std::move(chunk),
                    {.source = arrived - started, .decode = stored - arrived}};
}

// A file that was read by itself before does not have to be asked for again.
bool ReadStored(const FilesVersion& version, uint32_t file, std::span<std::byte> into,
                const FileFillContext& context) {
  Hash128 key = version.Key({file, 0});
  if (!context.store->Contains(key)) return false;
  auto chunk = context.store->Get(key, context.deadline);
  if (!chunk.ok() || chunk->size != into.size()) return false;
  ssize_t got = ::pread(chunk->fd->get(), into.data(), into.size(), 0);
  return got == static_cast<ssize_t>(into.size());
}

// The packs of the version before, for what did not change since.
class OldPacks {
 public:
  OldPacks(const FilesVersion& version, const FileFillContext& context)
      : version_(version), context_(context) {}

  // Opens the pack that has the file, if it is the same file and the pack is stored.
  void Look(uint32_t file) {
    if (version_.previous == nullptr) return;
    const model::FilesManifest& old = *version_.previous;
    auto before = old.FindFile(version_.manifest->FilePath(file));
    if (!before || old.origin() != version_.manifest->origin() ||
        old.root() != version_.manifest->root() ||
        old.object(*before).identity != version_.manifest->object(file).identity) {
      return;
    }
    ChunkRef ref{old.files()[*before].pack, model::kPackGroup};
    if (!old.Contains(ref)) return;
    auto [at, fresh] = packs_.try_emplace(ref.range);
    if (fresh) {
      auto chunk = context_.store->Get(model::FileChunkKey(old, ref), context_.deadline);
      if (chunk.ok()) at->second = *std::move(chunk);
    }
    if (at->second.fd != nullptr) {
      places_[file] = {&at->second, old.files()[*before].pack_offset};
    }
  }

  bool Read(uint32_t file, std::span<std::byte> into) const {
    auto found = places_.find(file);
    if (found == places_.end()) return false;
    const auto& [chunk, offset] = found->second;
    ssize_t got = ::pread(chunk->fd->get(), into.data(), into.size(), offset);
    return got == static_cast<ssize_t>(into.size());
  }

 private:
  const FilesVersion& version_;
  const FileFillContext& context_;
  std::map<uint32_t, storage::Chunk> packs_;
  std::unordered_map<uint32_t, std::pair<const storage::Chunk*, off_t>> places_;
};

Status ReadPack(const FilesVersion& version, ChunkRef ref, std::span<std::byte> into,
                const FileFillContext& context) {
  const model::FilesManifest& manifest = *version.manifest;
  std::span<const uint32_t> members = manifest.members(manifest.packs()[ref.range]);
  OldPacks old(version, context);
  for (uint32_t file : members) old.Look(file);
  return ParallelFor(*context.objects, members.size(), [&](size_t i) -> Status {
    const model::FileRecord& file = manifest.files()[members[i]];
    auto size = static_cast<uint64_t>(file.size);
    if (file.pack_offset > into.size() || size > into.size() - file.pack_offset) {
      return Status::Corrupt("the files manifest has a file outside its pack");
    }
    auto place = into.subspan(file.pack_offset, size);
    if (old.Read(members[i], place)) return Status::OK();
    if (ReadStored(version, members[i], place, context)) return Status::OK();
    return version.source->Read(manifest.object(members[i]), 0, place, context.deadline);
  });
}

// What the pack holds now was kept by itself until now.
void RemoveStored(const FilesVersion& version, ChunkRef ref, storage::Store& store) {
  for (uint32_t file : version.manifest->members(version.manifest->packs()[ref.range])) {
    Hash128 key = version.Key({file, 0});
    if (store.Contains(key)) (void)store.Remove(key);  // else it is evicted some day
  }
}

}  // namespace

uint64_t FillBytes(const FilesVersion& version, ChunkRef ref, bool hurried) {
  uint64_t size = version.manifest->ChunkBytes(ref);
  return MayStream(version, ref, hurried) ? std::min(size, kWriteBytes) : size;
}

Result<FileFilled> FillFileChunk(const FilesVersion& version, ChunkRef ref,
                                 const FileFillContext& context) {
  if (MayStream(version, ref, context.hurried)) {
    FB_ASSIGN_OR_RETURN(auto filled, Stream(version, ref, context));
    if (filled) return *std::move(filled);
  }
  uint64_t size = version.manifest->ChunkBytes(ref);
  bool is_pack = ref.group == model::kPackGroup;
  FB_ASSIGN_OR_RETURN(auto buffer,
                      FillBuffer::Make(size, context.memory, context.deadline));
  auto started = std::chrono::steady_clock::now();
  std::span<std::byte> bytes = buffer.bytes();
  FB_RETURN_NOT_OK(is_pack ? ReadPack(version, ref, bytes, context)
                           : ReadPart(version, ref, bytes, context));
  auto read = std::chrono::steady_clock::now();
  FB_ASSIGN_OR_RETURN(auto writer, context.store->Create(version.Key(ref),
                                                         model::ChunkKind::kFile, size));
  FB_RETURN_NOT_OK(AppendInPieces(*writer, bytes));
  FB_ASSIGN_OR_RETURN(storage::Chunk chunk, writer->Commit());
  if (is_pack) RemoveStored(version, ref, *context.store);
  auto stored = std::chrono::steady_clock::now();
  return FileFilled{std::move(chunk),
                    {.source = read - started, .decode = stored - read}};
}

}  // namespace forebay::cache
