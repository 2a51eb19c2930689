#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/chunk_name.h"
#include "storage/temp_name.h"

namespace forebay::storage {
namespace {

ChunkName Sample() {
  return {.key = {.high = 0xab00000000000001, .low = 2},
          .checksum = {.high = 3, .low = 4},
          .size = 4096,
          .kind = model::ChunkKind::kManifest};
}

TEST(ChunkName, ComesBackFromItsText) {
  ChunkName name = Sample();
  EXPECT_EQ(name.ToString(),
            "ab000000000000010000000000000002-00000000000000030000000000000004-4096"
            ".manifest");
  EXPECT_EQ(ChunkName::Parse(name.ToString()), name);
  EXPECT_EQ(BucketName(name.key), "ab");
}

TEST(ChunkName, KnowsNoOtherSpelling) {
  std::string good = Sample().ToString();
  std::string upper = good;
  upper[0] = 'A';
  std::string padded = good;
  padded.insert(66, "0");
  std::string unseparated = good;
  unseparated[32] = '_';
  for (std::string bad :
       {std::string(), std::string("."), std::string("core"), good.substr(1), good + "x",
        good + ".tmp", upper, padded, unseparated, good.substr(0, good.rfind('.')),
        good.substr(0, 66) + "-1.table", good.substr(0, 66) + ".table",
        good.substr(0, 66) + "99999999999999999999999.table",
        good + std::string(1, '\0')}) {
    EXPECT_FALSE(ChunkName::Parse(bad).has_value()) << bad;
  }
}

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
