#include <filesystem>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

std::string PathOf(const Chunk& chunk) {
  std::error_code error;
  return fs::read_symlink("/proc/self/fd/" + std::to_string(chunk.fd->get()), error);
}

TierOptions NfsOptions(const std::string& path) {
  TierOptions tier = DirectoryOptions(path);
  tier.spec.medium = model::Medium::kNfs;
  return tier;
}

TEST(StoreRemote, ChunksOfANetworkTierAreHandedOutAsCopiesInMemory) {
  TempDir dir;
  auto store = OpenOrDie(OptionsOf({NfsOptions(dir / "nfs")}));
  Chunk written = Put(*store, 1, 100'000).ValueOrDie();
  Chunk read = store->Get(KeyOf(1)).ValueOrDie();
  for (const Chunk* chunk : {&written, &read}) {
    EXPECT_TRUE(PathOf(*chunk).starts_with("/memfd:")) << PathOf(*chunk);
    EXPECT_EQ(chunk->medium, model::Medium::kMem);
    EXPECT_EQ(ReadAll(*chunk), BytesOf(KeyOf(1), 100'000));
  }
  EXPECT_EQ(written.fd, read.fd);  // one copy, while somebody has it
  // Whatever becomes of the file: what was handed out stays.
  fs::resize_file(FileOf(dir / "nfs", KeyOf(1)), 0);
  EXPECT_EQ(ReadAll(read), BytesOf(KeyOf(1), 100'000));
}

TEST(StoreRemote, ChunksOfANetworkTierAreKeptInALocalTierWhereThereIsOne) {
  TempDir dir;
  {
    auto elsewhere = OpenOrDie(OptionsOf({NfsOptions(dir / "nfs")}));
    ASSERT_TRUE(Put(*elsewhere, 1, 5000).ok());
  }
  auto store =
      OpenOrDie(OptionsOf({DirectoryOptions(dir / "ssd"), NfsOptions(dir / "nfs")}));
  Chunk chunk = store->Get(KeyOf(1)).ValueOrDie();
  EXPECT_TRUE(PathOf(chunk).starts_with(dir / "ssd")) << PathOf(chunk);
  EXPECT_EQ(ReadAll(chunk), BytesOf(KeyOf(1), 5000));
  EXPECT_NE(FileOf(dir / "nfs", KeyOf(1)), "");  // others may want it
  fs::remove_all(dir / "nfs/chunks");
  EXPECT_TRUE(store->Get(KeyOf(1)).ok());
}

TEST(StoreRemote, AChunkThatGoesBadOnANetworkTierIsAMiss) {
  TempDir dir;
  for (bool local : {false, true}) {
    std::vector<TierOptions> tiers;
    if (local) tiers.push_back(MemoryOptions(kMiB));
    tiers.push_back(NfsOptions(dir / "nfs"));
    {
      auto elsewhere = OpenOrDie(OptionsOf({NfsOptions(dir / "nfs")}));
      ASSERT_TRUE(Put(*elsewhere, 1, 5000).ok());
    }
    auto store = OpenOrDie(OptionsOf(tiers));
    std::string bytes = BytesOf(KeyOf(1), 5000);
    ++bytes[77];
    std::string path = FileOf(dir / "nfs", KeyOf(1));
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    Spit(path, bytes);
    EXPECT_EQ(store->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
    EXPECT_EQ(store->Stats().quarantined, 1);
  }
}

TEST(StoreRemote, DemotionToANetworkTierMakesNoCopyInMemory) {
  TempDir dir;
  auto store = OpenOrDie(OptionsOf({MemoryOptions(kMiB), NfsOptions(dir / "nfs")}));
  ASSERT_TRUE(Put(*store, 1, 5000).ok());
  ASSERT_TRUE(store->Demote(KeyOf(1)).ok());
  EXPECT_NE(FileOf(dir / "nfs", KeyOf(1)), "");
  EXPECT_EQ(ReadAll(store->Get(KeyOf(1)).ValueOrDie()), BytesOf(KeyOf(1), 5000));
}

}  // namespace
}  // namespace forebay::storage
