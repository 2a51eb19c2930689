#include "storage/temp_name.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::storage {
namespace {

TEST(TempName, ComesBackFromItsText) {
  TempName name{.owner = ProcessIdentity::Self(),
                .store = RandomNonce(),
                .number = 7,
                .claimed_bytes = 1 << 20};
  auto parsed = TempName::Parse(name.ToString());
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->owner, name.owner);
  EXPECT_EQ(parsed->store, name.store);
  EXPECT_EQ(parsed->number, 7u);
  EXPECT_EQ(parsed->claimed_bytes, 1u << 20);
  EXPECT_FALSE(TempName::Parse(name.ToString() + "~").has_value());
  EXPECT_FALSE(TempName::Parse("notes.txt").has_value());
}

TEST(ProcessIdentity, TellsTheLivingFromTheDead) {
  EXPECT_TRUE(ProcessIdentity::Self().MayBeAlive());
  pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ProcessIdentity dead = ProcessIdentity::Self();
  dead.pid = child;
  EXPECT_FALSE(dead.MayBeAlive());
}

TEST(ProcessIdentity, IsNotFooledByAReusedPid) {
  ProcessIdentity earlier = ProcessIdentity::Self();
  earlier.start -= 1;
  EXPECT_FALSE(earlier.MayBeAlive());
}

TEST(ProcessIdentity, SaysNothingOfOtherHosts) {
  ProcessIdentity far = ProcessIdentity::Self();
  far.host ^= 1;
  far.pid = 0x3fffffff;
  EXPECT_TRUE(far.MayBeAlive());
}

}  // namespace
}  // namespace forebay::storage
