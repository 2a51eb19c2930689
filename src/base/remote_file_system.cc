#include "base/remote_file_system.h"

#include <sys/vfs.h>

namespace forebay {
namespace {

struct FileSystem {
  uint64_t magic;
  const char* name;
};

// From statfs(2) and the kernel's headers. FUSE may be local, but most who mount it under
// training data do so for a remote store, and its locks are what the program makes them.
constexpr FileSystem kRemote[] = {
    {0x6969, "NFS"},        {0x517B, "SMB"},          {0xFF534D42, "SMB (CIFS)"},
    {0xFE534D42, "SMB"},    {0x65735546, "FUSE"},     {0x00C36400, "Ceph"},
    {0x5346414F, "AFS"},    {0x6B414653, "AFS"},      {0x73757245, "Coda"},
    {0x47504653, "GPFS"},   {0x0BD00BD0, "Lustre"},   {0x01021997, "9P"},
    {0x7461636F, "OCFS2"},  {0x01161970, "GFS2"},     {0x19830326, "BeeGFS"},
    {0x786F4256, "vboxsf"}, {0xAAD7AAEA, "PanFS"},    {0x564C, "NCP"},
    {0x013111A8, "GPFS"},   {0x20030528, "OrangeFS"},
};

}  // namespace

const char* RemoteFileSystemName(uint64_t magic) {
  for (const FileSystem& known : kRemote) {
    if (known.magic == magic) return known.name;
  }
  return nullptr;
}

const char* RemoteFileSystemOf(const std::string& path) {
  struct statfs facts {};
  if (::statfs(path.c_str(), &facts) != 0) return nullptr;
  // f_type is signed on some machines; the numbers have 32 bits.
  return RemoteFileSystemName(static_cast<uint32_t>(facts.f_type));
}

}  // namespace forebay
