#include "leases/local_disk.h"

#include <gtest/gtest.h>

namespace forebay::leases {
namespace {

TEST(LocalDisk, NeedsAFolderThatIsThere) {
  EXPECT_TRUE(RequireLocalDisk("/dev/shm/leases").ok());
  EXPECT_EQ(RequireLocalDisk("/no/such/folder/leases").code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace forebay::leases
