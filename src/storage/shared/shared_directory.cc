#include "storage/shared/shared_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <set>
#include <thread>

#include "base/errno_status.h"
#include "base/unique_fd.h"
#include "storage/file_io.h"

namespace forebay::storage {
namespace {

constexpr milliseconds kLockPoll{20};
// A file server may need a moment to show what another host did.
constexpr int kAttempts = 6;
constexpr milliseconds kFirstPause{40};

void PauseAfter(int attempt) {
  std::this_thread::sleep_for(kFirstPause * (1 << attempt));
}

// A stale handle, say; what is not there or not right will not be the next time.
bool MayPass(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kInternal;
}

// Longer than any text that is looked for: whatever lies there, this much says enough.
constexpr size_t kTextBytesMax = 4096;

// Its beginning; empty when it cannot be read.
std::string FileText(const std::string& path) {
  for (int attempt = 1;; ++attempt) {
    std::string text;
    auto fd = OpenFile(path, O_RDONLY);
    Status read = fd.status();
    if (fd.ok()) {
      read = ReadThrough(fd->get(), [&](const char* data, size_t size) {
        text.append(data, size);
        return text.size() < kTextBytesMax ? Status::OK() : Status::Cancelled("enough");
      });
    }
    if (read.ok() || read.code() == StatusCode::kCancelled) return text;
    if (!MayPass(read) || attempt == kAttempts) return {};
    PauseAfter(attempt);
  }
}

// Whoever holds it downloads. Where locks lie or fail, several do: that costs bytes only.
UniqueFd LockFor(const std::string& path, Deadline deadline) {
  UniqueFd fd;
  for (int attempt = 0; attempt < kAttempts && !fd.valid(); ++attempt) {
    fd = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (!fd.valid() && errno != ESTALE) break;
  }
  if (fd.valid()) ShareLikeFolder(fd.get(), path);
  while (fd.valid() && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || deadline.passed()) break;
    std::this_thread::sleep_for(kLockPoll);
  }
  return fd;
}

// As anything that a user makes: what is in it follows its permissions.
Status MakeRoot(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return Status::OK();
  return ErrnoStatus(errno, "make the folder " + path);
}

// Hashes what was written, as it is on the disk.
Result<SharedName> NameOf(const std::string& path, const Hash128& key) {
  FB_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY));
  SharedName name{.key = key};
  FB_ASSIGN_OR_RETURN(name.size, FileSize(fd.get()));
  FB_ASSIGN_OR_RETURN(name.checksum, HashFile(fd.get(), name.size, key.low));
  return name;
}

}  // namespace

bool SharedDirectory::IsOne(const std::string& path) {
  return FileText(path + "/" + kSharedFormat).starts_with("forebay-shared ");
}

Result<std::unique_ptr<SharedDirectory>> SharedDirectory::Open(Options options) {
  auto directory =
      std::unique_ptr<SharedDirectory>(new SharedDirectory(std::move(options)));
  Status prepared = directory->Prepare();
  for (int attempt = 1; MayPass(prepared) && attempt < kAttempts; ++attempt) {
    PauseAfter(attempt);
    prepared = directory->Prepare();
  }
  FB_RETURN_NOT_OK(prepared);
  return directory;
}

Status SharedDirectory::Prepare() {
  std::string format = Folder(kSharedFormat);
  std::string text = FileText(format);
  // Whoever began may have been killed before the last byte.
  if (std::string_view(kSharedFormatText).starts_with(text) &&
      text != kSharedFormatText) {
    if (!options_.create) {
      return Status::NotFound(options_.path + " is not a shared directory of Forebay");
    }
    FB_RETURN_NOT_OK(MakeRoot(options_.path));
    FB_RETURN_NOT_OK(RefuseOthers());
    // Several hosts may begin at once: they write the same.
    FB_RETURN_NOT_OK(WriteSmallFile(format, kSharedFormatText));
    text = kSharedFormatText;
  }
  if (text != kSharedFormatText) {
    return Status::Unsupported(options_.path + " was made by another version of Forebay");
  }
  for (const char* name : kSharedFolders) {
    Status made = MakeFolder(Folder(name));
    // A directory that cannot be written can be read. One of an older version that is
    // full has no folder for listings yet, and must open for gc.
    bool spared =
        made.code() == StatusCode::kPermission ||
        (made.code() == StatusCode::kFull && std::string_view(name) == kSharedListings);
    if (!made.ok() && !spared) return made;
  }
  return Status::OK();
}

// A folder in which something else is kept must not become a cache.
Status SharedDirectory::RefuseOthers() {
  (void)TouchNow(options_.path);  // another host may have begun just now
  FB_ASSIGN_OR_RETURN(auto names, ListFolder(options_.path));
  bool ours = std::ranges::find(names, std::string(kSharedFormat)) != names.end();
  // What a host makes next may be seen before what it made first.
  std::erase_if(names, [](const std::string& name) {
    return std::ranges::find(kSharedFolders, name) != std::end(kSharedFolders);
  });
  if (names.empty() || ours) return Status::OK();
  return Status::Invalid(options_.path +
                         " holds other things; give an empty or new folder");
}

std::string SharedDirectory::BucketOf(const Hash128& key) const {
  return Folder(kSharedEntries) + "/" + key.ToHex().substr(0, 2);
}

Result<SharedEntry> SharedDirectory::Find(const Hash128& key) {
  for (int attempt = 1;; ++attempt) {
    auto found = FindOnce(key);
    if (found.ok() || !MayPass(found.status()) || attempt == kAttempts) return found;
    PauseAfter(attempt);
  }
}

Result<SharedEntry> SharedDirectory::FindOnce(const Hash128& key) {
  std::string bucket = BucketOf(key);
  std::string prefix = key.ToHex() + "-";
  FB_ASSIGN_OR_RETURN(auto names, ListFolder(bucket));
  std::ranges::sort(names);
  Status why = Status::NotFound("the file is not in " + options_.path);
  for (const std::string& text : names) {
    auto name = text.starts_with(prefix) ? SharedName::Parse(text) : std::nullopt;
    if (!name) continue;
    auto entry = ReadSharedEntry(bucket + "/" + text, *name);
    Status status = entry.ok() ? Verify(*entry) : entry.status();
    if (status.ok()) return entry;
    if (MayPass(status)) why = status;
  }
  return why;
}

// Once per host: as long as the file has the same inode, size and time, it was not
// written since.
Status SharedDirectory::Verify(const SharedEntry& entry) {
  std::string path = entry.file_path();
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return ErrnoStatus(errno, "look at " + path);
  bool plain =
      S_ISREG(st.st_mode) && static_cast<uint64_t>(st.st_size) == entry.name.size;
  std::string state = fmt::format("{} {} {} {}.{}", entry.name.ToString(), st.st_ino,
                                  st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
  if (plain && verified_.Has(entry.folder, state)) return Status::OK();
  Status verified =
      plain ? VerifySharedFile(entry) : Status::Corrupt(path + " does not have its size");
  if (verified.code() == StatusCode::kCorrupt) ToTrash(entry.folder);
  if (verified.ok()) verified_.Remember(entry.folder, state);
  return verified;
}

Result<SharedEntry> SharedDirectory::Bring(const Content& content, Deadline deadline) {
  auto found = Find(content.key);
  if (found.ok() || found.status().code() != StatusCode::kNotFound) return found;
  std::string lock_path = Folder(kSharedLocks) + "/" + content.key.ToHex();
  UniqueFd lock = LockFor(lock_path, deadline);
  // Whoever had the lock before may have brought it; this host must not believe what it
  // remembers of the time before.
  (void)MakeFolder(BucketOf(content.key));
  (void)TouchNow(BucketOf(content.key));
  found = Find(content.key);
  if (found.ok()) return found;
  MakeRoomFor(content.size);
  auto published = Publish(content);
  for (int attempt = 1; attempt < kAttempts && !published.ok() &&
                        MayPass(published.status()) && !deadline.passed();
       ++attempt) {
    PauseAfter(attempt);
    published = Publish(content);
  }
  ::unlink(lock_path.c_str());  // whoever waits holds its own and finds the entry
  return published;
}

Result<SharedEntry> SharedDirectory::Publish(const Content& content) {
  std::string temp = Folder(kSharedTemp) + "/" + UniqueName();
  std::string inner = temp + "/" + kSharedContent;
  FB_RETURN_NOT_OK(MakeFolder(temp));
  auto fill = [&]() -> Result<SharedName> {
    FB_RETURN_NOT_OK(MakeFolder(inner));
    std::string path = inner + "/" + content.file_name;
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!fd.valid()) return ErrnoStatus(errno, "make " + path);
    FB_RETURN_NOT_OK(content.write(fd.get()));
    if (::fchmod(fd.get(), 0444) != 0 || ::fsync(fd.get()) != 0) {
      return ErrnoStatus(errno, "write " + path);
    }
    fd.Reset();
    FB_RETURN_NOT_OK(WriteSmallFile(temp + "/" + kSharedDataset, content.dataset + "\n"));
    FB_RETURN_NOT_OK(WriteSmallFile(temp + "/" + kSharedUsed, ""));
    return NameOf(path, content.key);
  };
  auto name = fill();
  if (!name.ok()) {
    RemoveTree(temp);
    return name.status();
  }
  return TakePlace(temp, *name);
}

Result<SharedEntry> SharedDirectory::TakePlace(const std::string& temp,
                                               const SharedName& name) {
  std::string bucket = BucketOf(name.key);
  FB_RETURN_NOT_OK(MakeFolder(bucket));
  std::string folder = bucket + "/" + name.ToString();
  int error = ::rename(temp.c_str(), folder.c_str()) == 0 ? 0 : errno;
  // Somebody was first, or the server did it and its answer was lost: what is there now
  // counts, whatever rename said.
  if (error != 0) RemoveTree(temp);
  for (int attempt = 1;; ++attempt) {
    auto entry = ReadSharedEntry(folder, name);
    Status status = entry.ok() ? Verify(*entry) : entry.status();
    if (status.ok()) return entry;
    if (attempt == kAttempts) {
      if (error != 0) status = ErrnoStatus(error, "publish " + folder);
      // It was published, and another host has removed it since: worth another try.
      bool removed = status.code() == StatusCode::kNotFound;
      return removed ? Status::Unavailable(status.message()) : status;
    }
    PauseAfter(attempt);
    (void)TouchNow(bucket);
  }
}

void SharedDirectory::NoteUse(const SharedEntry& entry) {
  std::string path = entry.folder + "/" + kSharedUsed;
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (fd.valid()) (void)!::write(fd.get(), "+", 1);
}

Status SharedDirectory::Pin(const SharedEntry& entry, bool pinned) {
  std::string path = entry.folder + "/" + kSharedPin;
  if (pinned && !entry.pinned) return WriteSmallFile(path, "");
  if (!pinned && ::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, "remove " + path);
  }
  return Status::OK();
}

Result<std::vector<SharedEntry>> SharedDirectory::List() {
  std::vector<SharedEntry> entries;
  FB_ASSIGN_OR_RETURN(auto buckets, ListFolder(Folder(kSharedEntries)));
  for (const std::string& bucket : buckets) {
    std::string path = Folder(kSharedEntries) + "/" + bucket;
    auto names = ListFolder(path);
    if (!names.ok()) continue;
    for (const std::string& text : *names) {
      auto name = SharedName::Parse(text);
      if (!name) continue;
      // One that is going away just now is no entry any more.
      auto entry = ReadSharedEntry(path + "/" + text, *name);
      if (entry.ok()) entries.push_back(*std::move(entry));
    }
  }
  return entries;
}

bool SharedDirectory::HasAll(std::vector<Hash128> keys) {
  std::ranges::sort(keys);
  std::string listed;  // the bucket that `names` are of
  std::set<std::string> names;
  return std::ranges::all_of(keys, [&](const Hash128& key) {
    if (BucketOf(key) != listed) {
      listed = BucketOf(key);
      auto found = ListFolder(listed);
      names.clear();
      if (found.ok()) names.insert(found->begin(), found->end());
    }
    auto entry = names.lower_bound(key.ToHex());
    return entry != names.end() && entry->starts_with(key.ToHex());
  });
}

}  // namespace forebay::storage
