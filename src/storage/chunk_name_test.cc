#include "storage/chunk_name.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace forebay::storage
