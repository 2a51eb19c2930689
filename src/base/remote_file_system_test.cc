#include "base/remote_file_system.h"

#include <gtest/gtest.h>
#include <linux/magic.h>

namespace forebay {
namespace {

TEST(RemoteFileSystem, KnowsFileSystemsOfOtherMachines) {
  EXPECT_STREQ(RemoteFileSystemName(NFS_SUPER_MAGIC), "NFS");
  EXPECT_STREQ(RemoteFileSystemName(SMB_SUPER_MAGIC), "SMB");
  EXPECT_STREQ(RemoteFileSystemName(0xFF534D42), "SMB (CIFS)");
  EXPECT_STREQ(RemoteFileSystemName(FUSE_SUPER_MAGIC), "FUSE");
  EXPECT_STREQ(RemoteFileSystemName(V9FS_MAGIC), "9P");
  EXPECT_STREQ(RemoteFileSystemName(AFS_SUPER_MAGIC), "AFS");
}

TEST(RemoteFileSystem, KnowsFileSystemsOfThisHost) {
  for (uint64_t magic : {EXT4_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC}) {
    EXPECT_EQ(RemoteFileSystemName(magic), nullptr);
  }
  EXPECT_EQ(RemoteFileSystemName(XFS_SUPER_MAGIC), nullptr);
  EXPECT_EQ(RemoteFileSystemName(BTRFS_SUPER_MAGIC), nullptr);
}

TEST(RemoteFileSystem, IsNoneForMemoryAndWhatIsNotThere) {
  EXPECT_EQ(RemoteFileSystemOf("/dev/shm"), nullptr);
  EXPECT_EQ(RemoteFileSystemOf("/no/such/folder"), nullptr);
}

}  // namespace
}  // namespace forebay
