// DirectoryTier's scan, quarantine and sweep.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/errno_status.h"
#include "storage/directory_tier.h"
#include "storage/file_io.h"
#include "storage/temp_name.h"

namespace forebay::storage {
namespace {

// A draft this old, of a host we cannot ask, has no writer any more: every write renews
// the file's time, and a chunk is written in seconds.
constexpr int64_t kTempAgeMaxNanos = 3600LL * 1'000'000'000;
constexpr std::string_view kFormatTempPrefix = ".FORMAT-";

uint64_t SizeOf(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

// An NFS client's name for a file that was unlinked while open.
bool IsSillyRename(std::string_view name) { return name.starts_with(".nfs"); }

bool IsBucket(std::string_view name) {
  auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() == 2 && is_digit(name[0]) && is_digit(name[1]);
}

}  // namespace

Result<TierScan> DirectoryTier::Scan() {
  TierScan scan;
  std::string chunks = options_.spec.path + "/chunks";
  std::vector<std::string> buckets;
  std::vector<std::string> foreign;
  Status listed = ForEachEntry(chunks, [&](std::string_view name, EntryType type) {
    bool bucket = type == EntryType::kDirectory && IsBucket(name);
    if (!IsSillyRename(name)) (bucket ? buckets : foreign).emplace_back(name);
  });
  if (!listed.ok() && listed.code() != StatusCode::kNotFound) return listed;
  for (const std::string& name : foreign) {
    scan.quarantined += MoveToQuarantine(chunks + "/" + name);
  }
  for (const std::string& bucket : buckets) ScanBucket(bucket, &scan);
  scan.claimed_bytes = ClaimedByOthers();
  uint64_t removed = 0;
  scan.quarantine_bytes = TrimQuarantine(&removed);
  return scan;
}

void DirectoryTier::ScanBucket(std::string_view bucket, TierScan* scan) {
  std::string path = fmt::format("{}/chunks/{}", options_.spec.path, bucket);
  std::vector<std::string> foreign;
  Status listed = ForEachEntry(path, [&](std::string_view text, EntryType type) {
    if (IsSillyRename(text)) return;
    auto name = ChunkName::Parse(text);
    if (name && type == EntryType::kFile && BucketName(name->key) == bucket) {
      scan->chunks.push_back(*name);
    } else {
      foreign.emplace_back(text);
    }
  });
  (void)listed;  // gone or unreadable: it holds nothing for us
  for (const std::string& name : foreign) {
    scan->quarantined += MoveToQuarantine(path + "/" + name);
  }
}

uint64_t DirectoryTier::ClaimedByOthers() const {
  uint64_t bytes = 0;
  std::string folder = options_.spec.path + "/tmp";
  Status listed = ForEachEntry(folder, [&](std::string_view text, EntryType) {
    auto name = TempName::Parse(text);
    if (name && name->store == store_nonce_) return;
    uint64_t written = SizeOf(fmt::format("{}/{}", folder, text));
    bytes += std::max(written, name ? name->claimed_bytes : 0);
  });
  (void)listed;
  return bytes;
}

Status DirectoryTier::Quarantine(const ChunkName& name) {
  std::string path = ChunkPath(name);
  if (!MoveToQuarantine(path)) return ErrnoStatus(errno, "quarantine " + path);
  uint64_t removed = 0;
  TrimQuarantine(&removed);
  return Status::OK();
}

bool DirectoryTier::MoveToQuarantine(const std::string& path) {
  if (mode_ == OpenMode::kReadOnly) {
    errno = EROFS;
    return false;
  }
  std::string folder = options_.spec.path + "/quarantine";
  std::string name = path.substr(path.rfind('/') + 1);
  std::string target =
      fmt::format("{}/{}.{:016x}", folder, name.substr(0, 200), RandomNonce());
  if (rename(path.c_str(), target.c_str()) == 0) return true;
  if (errno != ENOENT || !MakeDirectory(folder).ok()) return false;
  return rename(path.c_str(), target.c_str()) == 0;
}

uint64_t DirectoryTier::TrimQuarantine(uint64_t* removed) {
  struct Item {
    int64_t modified_ns;
    uint64_t bytes;
    std::string path;
  };
  std::vector<Item> items;
  uint64_t bytes = 0;
  std::string folder = options_.spec.path + "/quarantine";
  Status listed = ForEachEntry(folder, [&](std::string_view name, EntryType) {
    std::string path = fmt::format("{}/{}", folder, name);
    items.push_back({ModifiedNanos(path), SizeOf(path), path});
    bytes += items.back().bytes;
  });
  if (!listed.ok() || bytes <= quarantine_bytes_max_ || mode_ == OpenMode::kReadOnly) {
    return bytes;
  }
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.modified_ns < b.modified_ns; });
  for (const Item& item : items) {
    if (bytes <= quarantine_bytes_max_) break;
    std::error_code error;
    std::filesystem::remove_all(item.path, error);
    if (error) continue;
    bytes -= item.bytes;
    ++*removed;
  }
  return bytes;
}

bool DirectoryTier::IsDebris(const std::string& temp_name, int64_t now_ns) const {
  auto name = TempName::Parse(temp_name);
  if (name && name->store == store_nonce_) return false;
  if (name && !name->owner.MayBeAlive()) return true;
  int64_t modified =
      ModifiedNanos(fmt::format("{}/tmp/{}", options_.spec.path, temp_name));
  return modified != 0 && now_ns - modified > kTempAgeMaxNanos;
}

SweepReport DirectoryTier::Sweep(int64_t now_ns) {
  SweepReport report;
  if (mode_ == OpenMode::kReadOnly) return report;
  const std::string& root = options_.spec.path;
  std::vector<std::string> debris;
  Status listed = ForEachEntry(root + "/tmp", [&](std::string_view name, EntryType) {
    if (IsDebris(std::string(name), now_ns))
      debris.push_back(fmt::format("{}/tmp/{}", root, name));
  });
  if (listed.ok()) {
    listed = ForEachEntry(root, [&](std::string_view name, EntryType) {
      std::string path = fmt::format("{}/{}", root, name);
      if (name.starts_with(kFormatTempPrefix) &&
          now_ns - ModifiedNanos(path) > kTempAgeMaxNanos) {
        debris.push_back(path);
      }
    });
  }
  for (const std::string& path : debris) {
    uint64_t bytes = SizeOf(path);
    if (unlink(path.c_str()) != 0) continue;
    ++report.temp_files;
    report.temp_bytes += bytes;
  }
  TrimQuarantine(&report.quarantine_files_removed);
  return report;
}

}  // namespace forebay::storage
