// Making room in a shared directory.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/errno_status.h"
#include "storage/file_io.h"
#include "storage/shared/shared_directory.h"
#include "storage/shared/shared_files.h"

namespace forebay::storage {
namespace {

int64_t Nanos(milliseconds time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

// Of an entry, a draft or a plain file. A large file may be written for hours.
int64_t LastChange(const std::string& path) {
  std::string inner = path + "/" + kSharedContent;
  int64_t latest = std::max(ModifiedNanos(path), ModifiedNanos(inner));
  if (auto names = ListFolder(inner); names.ok()) {
    for (const std::string& name : *names) {
      latest = std::max(latest, ModifiedNanos(inner + "/" + name));
    }
  }
  return latest;
}

}  // namespace

Result<uint64_t> SharedDirectory::FreeBytes() const {
  struct statvfs st {};
  if (::statvfs(options_.path.c_str(), &st) != 0) {
    return ErrnoStatus(errno, "look at " + options_.path);
  }
  return st.f_bavail * st.f_frsize;
}

Result<uint64_t> SharedDirectory::TotalBytes() const {
  struct statvfs st {};
  if (::statvfs(options_.path.c_str(), &st) != 0) {
    return ErrnoStatus(errno, "look at " + options_.path);
  }
  return st.f_blocks * st.f_frsize;
}

// Nobody finds it from here on; who reads it already goes on.
bool SharedDirectory::ToTrash(const std::string& folder) {
  std::string target = Folder(kSharedTrash) + "/" + UniqueName();
  // First, lest a crash between the two costs readers their time of grace.
  (void)TouchNow(folder);
  if (::rename(folder.c_str(), target.c_str()) == 0) return true;
  return ::access(target.c_str(), F_OK) == 0;  // done, and the answer was lost
}

uint64_t SharedDirectory::RemoveOlder(const std::string& folder, int64_t before_ns) {
  auto names = ListFolder(folder);
  uint64_t removed = 0;
  if (!names.ok()) return removed;
  for (const std::string& name : *names) {
    std::string path = folder + "/" + name;
    int64_t modified = LastChange(path);
    if (modified == 0 || modified >= before_ns) continue;
    RemoveTree(path);
    ++removed;
  }
  return removed;
}

Result<SharedDirectory::Collected> SharedDirectory::Collect(
    const CollectOptions& options) {
  FB_ASSIGN_OR_RETURN(int64_t now, ServerNanos(Folder(kSharedTemp)));
  Collected collected;
  // Files of entries are older than the moment they were put there.
  collected.trash_removed = RemoveOlder(Folder(kSharedTrash), now - Nanos(options.grace));
  collected.temp_removed = RemoveOlder(Folder(kSharedTemp), now - Nanos(options.debris));
  RemoveOlder(Folder(kSharedLocks), now - Nanos(options.debris));
  FB_ASSIGN_OR_RETURN(collected.free_bytes,
                      options.free_bytes ? options.free_bytes() : FreeBytes());
  if (collected.free_bytes >= options.keep_free_bytes) return collected;
  FB_ASSIGN_OR_RETURN(std::vector<SharedEntry> entries, List());
  std::ranges::sort(entries, {}, &SharedEntry::last_use_ns);
  for (const SharedEntry& listed : entries) {
    if (collected.free_bytes >= options.keep_free_bytes) break;
    // Another host may have used or pinned it since the list was made.
    auto entry = ReadSharedEntry(listed.folder, listed.name);
    if (!entry.ok() || entry->pinned) continue;
    if (entry->last_use_ns >= now - Nanos(options.lately)) continue;
    if (!ToTrash(entry->folder)) continue;
    ++collected.files;
    collected.bytes += entry->name.size;
    collected.free_bytes += entry->name.size;
  }
  return collected;
}

}  // namespace forebay::storage
