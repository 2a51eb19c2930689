#include "fuse/answers.h"

#include <sys/stat.h>

namespace forebay::fuse {
namespace {

constexpr uint64_t kBlockBytes = 512;  // of st_blocks
constexpr int64_t kNanos = 1'000'000'000;

uint32_t ModeOf(FileType type) {
  switch (type) {
    case FileType::kFile: return S_IFREG | 0444;
    case FileType::kDirectory: return S_IFDIR | 0555;
    case FileType::kLink: return S_IFLNK | 0777;
  }
  return 0;
}

}  // namespace

fuse_attr KernelAttributes(const Attributes& attributes, const Look& look) {
  int64_t seconds = attributes.mtime_ns / kNanos;
  int64_t nanos = attributes.mtime_ns % kNanos;
  if (nanos < 0) {
    nanos += kNanos;
    --seconds;
  }
  fuse_attr out{};
  out.ino = attributes.node;
  out.size = attributes.size;
  out.blocks = (attributes.size + kBlockBytes - 1) / kBlockBytes;
  out.atime = out.mtime = out.ctime = static_cast<uint64_t>(seconds);
  out.atimensec = out.mtimensec = out.ctimensec = static_cast<uint32_t>(nanos);
  out.mode = ModeOf(attributes.type);
  out.nlink = attributes.links;
  out.uid = look.user;
  out.gid = look.group;
  out.blksize = 4096;
  return out;
}

fuse_entry_out KernelEntry(const Attributes& attributes, const Look& look) {
  fuse_entry_out out{};
  out.nodeid = attributes.node;
  out.entry_valid = look.valid_seconds;
  out.attr_valid = look.valid_seconds;
  out.attr = KernelAttributes(attributes, look);
  return out;
}

fuse_entry_out NoEntry(const Look& look) {
  fuse_entry_out out{};
  out.entry_valid = look.valid_seconds;
  return out;
}

bool DirectoryAnswer::Add(const Entry& entry, const fuse_entry_out* linked) {
  size_t head = plus_ ? FUSE_NAME_OFFSET_DIRENTPLUS : FUSE_NAME_OFFSET;
  size_t size = FUSE_DIRENT_ALIGN(head + entry.name.size());
  if (bytes_.size() + size > size_max_) return false;
  size_t end = bytes_.size() + size;
  if (plus_) {
    fuse_entry_out none{};
    bytes_ += BytesOf(linked != nullptr ? *linked : none);
  }
  fuse_dirent dirent{};
  dirent.ino = entry.node;
  dirent.off = entry.next;
  dirent.namelen = static_cast<uint32_t>(entry.name.size());
  dirent.type = (ModeOf(entry.type) & S_IFMT) >> 12;
  bytes_.append(reinterpret_cast<const char*>(&dirent), FUSE_NAME_OFFSET);
  bytes_ += entry.name;
  bytes_.resize(end);
  return true;
}

}  // namespace forebay::fuse
