// Making room in a shared directory.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/errno_status.h"
#include "storage/file_io.h"
#include "storage/shared/shared_directory.h"

namespace forebay::storage {
namespace {

constexpr uint64_t kKeepFreeShare = 20;

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

uint64_t SharedDirectory::TrashBytes() const {
  uint64_t bytes = 0;
  auto entries = ListFolder(Folder(kSharedTrash));
  for (const std::string& entry : entries.ok() ? *entries : std::vector<std::string>()) {
    std::string inner = Folder(kSharedTrash) + "/" + entry + "/" + kSharedContent;
    auto names = ListFolder(inner);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      struct stat st {};
      if (::lstat((inner + "/" + name).c_str(), &st) != 0) continue;
      bytes += static_cast<uint64_t>(st.st_size);
    }
  }
  return bytes;
}

// Once a process: what goes to the trash is free only after its time of grace.
void SharedDirectory::MakeRoomFor(uint64_t size) {
  auto room = Room();
  if (!room.ok()) return;
  uint64_t wanted = size + room->total_bytes / kKeepFreeShare;
  if (room->free_bytes >= wanted || made_room_.exchange(true)) return;
  (void)Collect({.keep_free_bytes = wanted});
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
  RemoveOlder(Folder(kSharedListings), now - Nanos(options.listings));
  FB_ASSIGN_OR_RETURN(SharedRoom room, Room());
  collected.free_bytes = room.free_bytes + TrashBytes();
  if (collected.free_bytes >= options.keep_free_bytes) return collected;
  FB_ASSIGN_OR_RETURN(std::vector<SharedEntry> entries, List());
  std::ranges::sort(entries, {}, &SharedEntry::last_use_ns);
  for (const SharedEntry& listed : entries) {
    if (collected.free_bytes >= options.keep_free_bytes) break;
    // Another host may have used or pinned it since the list was made.
    auto entry = ReadSharedEntry(listed.folder, listed.name);
    if (!entry.ok() || entry->pinned) continue;
    if (entry->last_use_ns >= now - Nanos(options.lately)) continue;
    if (IsOpenHere(entry->file_path())) continue;
    if (!ToTrash(entry->folder)) continue;
    ++collected.files;
    collected.bytes += entry->name.size;
    collected.free_bytes += entry->name.size;
  }
  return collected;
}

}  // namespace forebay::storage
