#include "fuse/opened_files.h"

#include <sys/stat.h>

#include "base/log.h"

namespace forebay::fuse {
namespace {

// At and above this mean size a file is worth a message when it is opened.
constexpr uint64_t kLargeFileBytes = kMiB;
constexpr int32_t kUnknown = -1;

// The kernel reads to the end of the file it is given, not to the end of ours.
bool IsExactly(const FileDescriptor& file, uint64_t size) {
  struct stat info {};
  return file.offset == 0 && ::fstat(file.fd.get(), &info) == 0 &&
         S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) == size;
}

}  // namespace

Profile ChooseProfile(const Filesystem::Totals& totals) {
  if (totals.files == 0) return Profile::kSmall;
  bool large = totals.bytes / totals.files >= kLargeFileBytes;
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
                                          const Filesystem::File& file) {
  kernel::OpenOut out{.fh = 0, .open_flags = FOPEN_KEEP_CACHE, .backing_id = 0};
  if (!IsWholeChunk(file)) return out;
  // An open that a process before us began and that is sent again is the same open.
  out.fh = unique & ~kernel::kUniqueResend;
  Message ask{.say = Say::kOpenBacking, .node = node, .handle = out.fh};
  FB_ASSIGN_OR_RETURN(Message known, options_.supervisor->Call(ask));
  if (known.value == kUnknown) {
    FB_ASSIGN_OR_RETURN(FileDescriptor chunk,
                        file.generation->contents->Descriptor(file.index));
    // Without a descriptor the answer is that this inode is read through us.
    ask.flags = 1;
    std::vector<int> fds;
    if (IsExactly(chunk, file.size)) fds.push_back(chunk.fd.get());
    FB_ASSIGN_OR_RETURN(known, options_.supervisor->Call(ask, fds));
  }
  if (known.value > 0) {
    out.open_flags = kernel::kOpenPassthrough;
    out.backing_id = known.value;
  }
  return out;
}

void OpenedFiles::Release(uint64_t node, uint64_t handle) {
  if (handle == 0) return;
  (void)options_.supervisor->Send(
      {.say = Say::kCloseBacking, .node = node, .handle = handle});
}

}  // namespace forebay::fuse
