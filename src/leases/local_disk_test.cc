#include "leases/local_disk.h"

#include <gtest/gtest.h>
#include <linux/magic.h>

namespace forebay::leases {
namespace {

TEST(LocalDisk, KnowsFileSystemsOfOtherMachines) {
  EXPECT_STREQ(RemoteFileSystemName(NFS_SUPER_MAGIC), "NFS");
  EXPECT_STREQ(RemoteFileSystemName(SMB_SUPER_MAGIC), "SMB");
  EXPECT_STREQ(RemoteFileSystemName(0xFF534D42), "SMB (CIFS)");
  EXPECT_STREQ(RemoteFileSystemName(FUSE_SUPER_MAGIC), "FUSE");
  EXPECT_STREQ(RemoteFileSystemName(V9FS_MAGIC), "9P");
  EXPECT_STREQ(RemoteFileSystemName(AFS_SUPER_MAGIC), "AFS");
}

TEST(LocalDisk, KnowsFileSystemsOfThisHost) {
  for (uint64_t magic : {EXT4_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC}) {
    EXPECT_EQ(RemoteFileSystemName(magic), nullptr);
  }
  EXPECT_EQ(RemoteFileSystemName(XFS_SUPER_MAGIC), nullptr);
  EXPECT_EQ(RemoteFileSystemName(BTRFS_SUPER_MAGIC), nullptr);
}

TEST(LocalDisk, NeedsAFolderThatIsThere) {
  EXPECT_TRUE(RequireLocalDisk("/dev/shm/leases").ok());
  EXPECT_EQ(RequireLocalDisk("/no/such/folder/leases").code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace forebay::leases
