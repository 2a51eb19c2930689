#include "fuse/mount.h"

#include <gtest/gtest.h>

#include "fuse/mount_table.h"

namespace forebay::fuse {
namespace {

fuse_init_in Kernel(uint32_t minor, uint64_t flags) {
  fuse_init_in in{};
  in.major = FUSE_KERNEL_VERSION;
  in.minor = minor;
  in.max_readahead = 128 * 1024;
  in.flags = static_cast<uint32_t>(flags);
  in.flags2 = static_cast<uint32_t>(flags >> 32);
  return in;
}

TEST(Init, AgreesOnWhatTheKernelOffers) {
  Agreement agreement;
  auto out = AnswerTo(Kernel(45, ~uint64_t{0}), /*privileged=*/true, &agreement);
  EXPECT_TRUE(agreement.passthrough());
  EXPECT_TRUE(agreement.resend());
  EXPECT_EQ(out.max_stack_depth, 1);
  EXPECT_EQ(out.max_pages, 256);
  EXPECT_EQ(out.flags & FUSE_WRITEBACK_CACHE, 0);
}

TEST(Init, AsksForNothingThatAnOldKernelDoesNotOffer) {
  Agreement agreement;
  // Without the bit that says so, the second word of flags is none.
  uint64_t old = FUSE_ASYNC_READ | FUSE_MAX_PAGES | kernel::kPassthrough;
  auto out = AnswerTo(Kernel(31, old), /*privileged=*/true, &agreement);
  EXPECT_FALSE(agreement.passthrough());
  EXPECT_FALSE(agreement.resend());
  EXPECT_EQ(out.flags, FUSE_ASYNC_READ | FUSE_MAX_PAGES);
  EXPECT_EQ(out.flags2, 0);
  EXPECT_EQ(out.max_stack_depth, 0);
}

TEST(Init, WithoutPrivilegeThereIsNoPassthrough) {
  Agreement agreement;
  AnswerTo(Kernel(45, ~uint64_t{0}), /*privileged=*/false, &agreement);
  EXPECT_FALSE(agreement.passthrough());
  EXPECT_TRUE(agreement.resend());
}

constexpr std::string_view kTable =
    "22 1 0:20 / /proc rw,nosuid shared:5 - proc proc rw\n"
    "40 22 0:45 / /mnt/a\\040b ro,nosuid - fuse.forebay s3://x ro\n"
    "41 40 8:1 / /mnt/a\\040b rw master:1 shared:2 - ext4 /dev/sda1 rw\n"
    "42 22 0:46 / /mnt/b ro - fuse.forebay s3://y ro\n";

TEST(MountTable, FindsWhatLiesOnTop) {
  auto entry = FindMount(kTable, "/mnt/a b");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->type, "ext4");
  EXPECT_EQ(entry->device, "8:1");
  EXPECT_EQ(FindMount(kTable, "/mnt/b")->type, "fuse.forebay");
  EXPECT_FALSE(FindMount(kTable, "/mnt"));
  EXPECT_FALSE(FindMount("", "/mnt"));
}

}  // namespace
}  // namespace forebay::fuse
