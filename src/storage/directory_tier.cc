#include "storage/directory_tier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/errno_status.h"
#include "base/remote_file_system.h"
#include "storage/file_io.h"
#include "storage/store_format.h"
#include "storage/temp_name.h"

namespace forebay::storage {
namespace {

constexpr uint64_t kFreeFloorMaxBytes = kGiB;
constexpr uint64_t kFreeFloorShare = 20;   // 1/20 of the file system
constexpr uint64_t kQuarantineShare = 16;  // 1/16 of the quota

struct SpaceInfo {
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;
};

std::optional<SpaceInfo> SpaceOf(const std::string& path) {
  struct statvfs info;
  if (statvfs(path.c_str(), &info) != 0) return std::nullopt;
  return SpaceInfo{.total_bytes = info.f_blocks * info.f_frsize,
                   .free_bytes = info.f_bavail * info.f_frsize};
}

}  // namespace

bool IsRemote(const model::TierSpec& spec) {
  return spec.medium == model::Medium::kNfs || RemoteFileSystemOf(spec.path) != nullptr;
}

DirectoryTier::DirectoryTier(const TierOptions& options, OpenMode mode)
    : options_(options),
      mode_(mode),
      durable_(options.durable && options.spec.medium != model::Medium::kMem),
      store_nonce_(RandomNonce()),
      quarantine_bytes_max_(options.quarantine_bytes_max) {
  if (options.spec.quota_bytes != 0) {
    quarantine_bytes_max_ =
        std::min(quarantine_bytes_max_, options.spec.quota_bytes / kQuarantineShare);
  }
}

Result<std::unique_ptr<DirectoryTier>> DirectoryTier::Open(const TierOptions& options,
                                                           OpenMode mode) {
  std::unique_ptr<DirectoryTier> tier(new DirectoryTier(options, mode));
  const std::string& path = options.spec.path;
  Status ready = mode == OpenMode::kCreate ? tier->Prepare() : CheckStoreFormat(path);
  if (mode != OpenMode::kCreate && ready.code() == StatusCode::kNotFound) {
    return Status::NotFound(
        fmt::format("{} is not a Forebay store; name the directory of one", path));
  }
  // A full or read-only directory is served as far as it goes: drafts will say why not.
  bool unwritable =
      mode == OpenMode::kCreate &&
      (ready.code() == StatusCode::kPermission || ready.code() == StatusCode::kFull);
  if (!ready.ok() && !unwritable) return ready;
  if (unwritable) {
    Status format = CheckStoreFormat(path);
    if (format.code() == StatusCode::kUnsupported) return format;
  }
  tier->settles_first_ = tier->durable_ && IsRemote(options.spec);
  auto space = SpaceOf(path);
  uint64_t share = space ? space->total_bytes / kFreeFloorShare : 0;
  tier->free_floor_bytes_ =
      options.free_floor_bytes.value_or(std::min(share, kFreeFloorMaxBytes));
  return tier;
}

Status DirectoryTier::Prepare() {
  FB_RETURN_NOT_OK(MakeStoreFormat(options_.spec.path));
  for (const char* folder : {"chunks", "tmp", "quarantine"}) {
    FB_RETURN_NOT_OK(MakeDirectory(fmt::format("{}/{}", options_.spec.path, folder)));
  }
  return Status::OK();
}

std::string DirectoryTier::BucketPath(const Hash128& key) const {
  return fmt::format("{}/chunks/{}", options_.spec.path, BucketName(key));
}

std::string DirectoryTier::ChunkPath(const ChunkName& name) const {
  return fmt::format("{}/{}", BucketPath(name.key), name.ToString());
}

Result<Draft> DirectoryTier::NewDraft(uint64_t claimed_bytes) {
  if (mode_ == OpenMode::kReadOnly) {
    return Status::Permission(options_.spec.path + " was opened read-only");
  }
  TempName name{.owner = ProcessIdentity::Self(),
                .store = store_nonce_,
                .number = next_number_++,
                .claimed_bytes = claimed_bytes};
  std::string path = fmt::format("{}/tmp/{}", options_.spec.path, name.ToString());
  auto fd = CreateTemp(path);
  if (!fd.ok() && fd.status().code() == StatusCode::kNotFound) {
    // The directory was full when it was opened, or somebody removed it since.
    FB_RETURN_NOT_OK(Prepare());
    fd = CreateTemp(path);
  }
  if (!fd.ok()) return fd.status();
  Draft draft(
      {.fd = *std::move(fd), .temp_path = path, .early_write_out = settles_first_});
  if (options_.spec.medium == model::Medium::kMem) draft.PrepareMemory(claimed_bytes);
  return draft;
}

Result<UniqueFd> DirectoryTier::CreateTemp(const std::string& path) {
  return OpenFile(path, O_RDWR | O_CREAT | O_EXCL);
}

Result<std::shared_ptr<const UniqueFd>> DirectoryTier::Publish(Draft& draft,
                                                               const ChunkName& name,
                                                               int64_t now_ns) {
  FB_RETURN_NOT_OK(draft.CutToSize());
  FB_ASSIGN_OR_RETURN(uint64_t size, FileSize(draft.fd()));
  if (size != name.size) {
    return Status::Internal(fmt::format("a draft has {} bytes instead of {}: {}", size,
                                        name.size, name.ToString()));
  }
  SetModified(draft.fd(), now_ns);
  if (settles_first_ && fdatasync(draft.fd()) != 0) {
    return ErrnoStatus(errno, "fsync a chunk in " + options_.spec.path);
  }
  // Opened before it has its name: afterwards another process may evict it.
  FB_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(draft.temp_path(), O_RDONLY));
  FB_RETURN_NOT_OK(Rename(draft.temp_path(), name));
  draft.MarkPublished();
  if (settles_first_) (void)SyncDirectory(BucketPath(name.key));
  return std::make_shared<const UniqueFd>(std::move(fd));
}

Status DirectoryTier::Settle(const ChunkName& name, const UniqueFd& fd) {
  if (fdatasync(fd.get()) != 0) {
    return ErrnoStatus(errno, "fsync a chunk in " + options_.spec.path);
  }
  // A name lost in a power cut is only a miss, so a failure here is none of the chunk's.
  (void)SyncDirectory(BucketPath(name.key));
  return Status::OK();
}

Status DirectoryTier::Rename(const std::string& temp_path, const ChunkName& name) {
  // rename, not link: a file of this name that is there already may have rotted.
  std::string path = ChunkPath(name);
  if (rename(temp_path.c_str(), path.c_str()) == 0) return Status::OK();
  if (errno != ENOENT) return ErrnoStatus(errno, "publish " + path);
  FB_RETURN_NOT_OK(MakeDirectory(BucketPath(name.key)));
  if (rename(temp_path.c_str(), path.c_str()) == 0) return Status::OK();
  return ErrnoStatus(errno, "publish " + path);
}

Result<UniqueFd> DirectoryTier::Open(const ChunkName& name) const {
  return OpenFile(ChunkPath(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

Status DirectoryTier::Unlink(const ChunkName& name) {
  if (mode_ == OpenMode::kReadOnly) {
    return Status::Permission(options_.spec.path + " was opened read-only");
  }
  std::string path = ChunkPath(name);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return Status::OK();
  return ErrnoStatus(errno, "remove " + path);
}

int64_t DirectoryTier::LastUse(const ChunkName& name) const {
  return ModifiedNanos(ChunkPath(name));
}

void DirectoryTier::RecordUse(const UniqueFd& fd, int64_t now_ns) const {
  if (mode_ != OpenMode::kReadOnly) SetModified(fd.get(), now_ns);
}

std::vector<ChunkName> DirectoryTier::Find(const Hash128& key) const {
  std::vector<ChunkName> found;
  Status listed = ForEachEntry(BucketPath(key), [&](std::string_view text, EntryType) {
    auto name = ChunkName::Parse(text);
    if (name && name->key == key) found.push_back(*name);
  });
  (void)listed;  // a bucket that cannot be listed holds nothing for us
  return found;
}

uint64_t DirectoryTier::free_bytes() const {
  auto space = SpaceOf(options_.spec.path);
  return space ? space->free_bytes : 0;
}

}  // namespace forebay::storage
