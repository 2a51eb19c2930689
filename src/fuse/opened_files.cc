#include "fuse/opened_files.h"

#include <sys/stat.h>

#include "base/log.h"

namespace forebay::fuse {
namespace {

// A file is worth a message when it is opened if so much of it is read without us.
constexpr uint64_t kLargeFileBytes = kMiB;
constexpr int32_t kUnknown = -1;

// The kernel reads to the end of the file it is given, not to the end of ours.
bool IsExactly(const FileDescriptor& file, uint64_t size) {
  struct stat info {};
  return file.offset == 0 && ::fstat(file.fd.get(), &info) == 0 &&
         S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == size;
}

}  // namespace

// What is saved by reading whole files without us, against a message for each open.
Profile ChooseProfile(const Filesystem::Sizes& sizes) {
  bool large = sizes.files > 0 && sizes.whole_bytes / sizes.files >= kLargeFileBytes;
  return large ? Profile::kLarge : Profile::kSmall;
}

Result<Profile> ParseProfile(const std::string& text) {
  if (text == "small") return Profile::kSmall;
  if (text == "large") return Profile::kLarge;
  return Status::Invalid("a profile is small or large, not " + text);
}

bool OpenedFiles::IsWholeChunk(const Filesystem::File& file) const {
  const model::FilesManifest& manifest = file.generation->contents->manifest();
  return options_.passthrough && options_.profile == Profile::kLarge && file.size > 0 &&
         manifest.files()[file.index].pack == model::kNoPack &&
         manifest.ChunkCount(file.index) == 1;
}

Result<kernel::OpenOut> OpenedFiles::Open(uint64_t node, uint64_t unique,
                                          const Filesystem::File& file,
                                          Deadline deadline) {
  kernel::OpenOut out{.fh = 0, .open_flags = FOPEN_KEEP_CACHE, .backing_id = 0};
  if (!IsWholeChunk(file)) return out;
  // An open that a process before us began and that is sent again is the same open.
  out.fh = unique & ~kernel::kUniqueResend;
  FB_ASSIGN_OR_RETURN(int32_t id, BackingOf(node, out.fh, file, deadline));
  if (id > 0) {
    out.open_flags = kernel::kOpenPassthrough;
    out.backing_id = id;
  }
  std::lock_guard lock(mutex_);
  ++open_[node];
  return out;
}

// What is open already is asked of nobody but the supervisor: its chunk may be gone from
// the store. What a process before us opened is found when its chunk cannot be had.
Result<int32_t> OpenedFiles::BackingOf(uint64_t node, uint64_t handle,
                                       const Filesystem::File& file, Deadline deadline) {
  Message ask{.say = Say::kOpenBacking, .node = node, .handle = handle};
  if (IsOpen(node)) {
    FB_ASSIGN_OR_RETURN(Message known, options_.supervisor->Call(ask));
    if (known.value != kUnknown) return known.value;
  }
  auto chunk = file.generation->contents->Descriptor(file.index, deadline);
  if (!chunk.ok()) {
    FB_ASSIGN_OR_RETURN(Message known, options_.supervisor->Call(ask));
    if (known.value != kUnknown) return known.value;
    return chunk.status();
  }
  // Without a descriptor the answer is that this inode is read through us.
  ask.flags = 1;
  std::vector<int> fds;
  if (IsExactly(*chunk, file.size)) fds.push_back(chunk->fd.get());
  auto decided = options_.supervisor->Call(ask, fds);
  if (decided.status().code() == StatusCode::kFull) {
    decided = options_.supervisor->Call(ask);
  }
  FB_RETURN_NOT_OK(decided.status());
  return decided->value;
}

bool OpenedFiles::IsOpen(uint64_t node) {
  std::lock_guard lock(mutex_);
  return open_.contains(node);
}

void OpenedFiles::Release(uint64_t node, uint64_t handle) {
  if (handle == 0) return;
  {
    std::lock_guard lock(mutex_);
    auto found = open_.find(node);
    if (found != open_.end() && --found->second == 0) open_.erase(found);
  }
  (void)options_.supervisor->Send(
      {.say = Say::kCloseBacking, .node = node, .handle = handle});
}

}  // namespace forebay::fuse
