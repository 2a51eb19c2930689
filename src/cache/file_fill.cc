#include "cache/file_fill.h"

#include <unistd.h>

#include <algorithm>
#include <map>
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

// A file that was read by itself before does not have to be asked for again.
bool ReadStored(const FilesVersion& version, uint32_t file, std::span<std::byte> into,
                const FileFillContext& context) {
  Hash128 key = version.Key({file, 0});
  if (!context.store->Contains(key)) return false;
  auto chunk = context.store->Get(key);
  if (!chunk.ok() || chunk->size != into.size()) return false;
  ssize_t got = ::pread(chunk->fd->get(), into.data(), into.size(), 0);
  return got == static_cast<ssize_t>(into.size());
}

// The packs of the version before, for what did not change since.
class OldPacks {
 public:
  OldPacks(const FilesVersion& version, storage::Store& store)
      : version_(version), store_(store) {}

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
      auto chunk = store_.Get(model::FileChunkKey(old, ref));
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
  storage::Store& store_;
  std::map<uint32_t, storage::Chunk> packs_;
  std::unordered_map<uint32_t, std::pair<const storage::Chunk*, off_t>> places_;
};

Status ReadPack(const FilesVersion& version, ChunkRef ref, std::span<std::byte> into,
                const FileFillContext& context) {
  const model::FilesManifest& manifest = *version.manifest;
  std::span<const uint32_t> members = manifest.members(manifest.packs()[ref.range]);
  OldPacks old(version, *context.store);
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

Result<FileFilled> FillFileChunk(const FilesVersion& version, ChunkRef ref,
                                 const FileFillContext& context) {
  uint64_t size = version.manifest->ChunkBytes(ref);
  bool is_pack = ref.group == model::kPackGroup;
  FB_ASSIGN_OR_RETURN(auto pass, context.memory->Enter(size));
  auto started = std::chrono::steady_clock::now();
  std::span<std::byte> bytes = pass->bytes();
  FB_RETURN_NOT_OK(is_pack ? ReadPack(version, ref, bytes, context)
                           : ReadPart(version, ref, bytes, context));
  auto read = std::chrono::steady_clock::now();
  FB_ASSIGN_OR_RETURN(auto writer, context.store->Create(version.Key(ref),
                                                         model::ChunkKind::kFile, size));
  FB_RETURN_NOT_OK(writer->Append(bytes.data(), bytes.size()));
  FB_ASSIGN_OR_RETURN(storage::Chunk chunk, writer->Commit());
  if (is_pack) RemoveStored(version, ref, *context.store);
  auto stored = std::chrono::steady_clock::now();
  return FileFilled{std::move(chunk),
                    {.source = read - started, .decode = stored - read}};
}

}  // namespace forebay::cache
