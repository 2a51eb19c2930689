// Full and read-only file systems: errors and fall-through, never a signal, and what is
// cached is still served.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

class Mount {
 public:
  Mount(const std::string& path, const char* options) : path_(path) {
    fs::create_directories(path);
    mounted_ = mount("tmpfs", path.c_str(), "tmpfs", 0, options) == 0;
  }
  ~Mount() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  bool ok() const { return mounted_; }
  bool MakeReadOnly() {
    return mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::string path_;
  bool mounted_;
};

#define SKIP_UNLESS(mount) \
  if (!(mount).ok()) GTEST_SKIP() << "mounting a tmpfs needs root"

TierOptions Shm(const std::string& path) {
  TierOptions tier = DirectoryOptions(path);
  tier.spec.medium = model::Medium::kMem;
  return tier;
}

TEST(StoreFaults, AFullTmpfsSpillsToTheNextTier) {
  TempDir dir;
  Mount tmpfs(dir / "shm", "size=4m");
  SKIP_UNLESS(tmpfs);
  auto store =
      OpenOrDie(OptionsOf({Shm(dir / "shm/store"), DirectoryOptions(dir / "disk")}));
  // Somebody else's file, after the floor was looked at, leaves room for a part only.
  std::string bytes = BytesOf(KeyOf(1), 3 * kMiB);
  auto writer = store->Create(KeyOf(1), model::ChunkKind::kTable, bytes.size());
  ASSERT_TRUE(writer.ok());
  Spit(dir / "shm/other", std::string(3 * kMiB / 2, 'x'));
  for (size_t at = 0; at < bytes.size(); at += 512 * kKiB) {
    ASSERT_TRUE((*writer)->Append(bytes.data() + at, 512 * kKiB).ok());
  }
  auto chunk = (*writer)->Commit();
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  EXPECT_EQ(chunk->medium, model::Medium::kSsd);
  EXPECT_TRUE(ReadAll(*chunk) == bytes);
  EXPECT_EQ(store->Stats().tiers[0].write_status.code(), StatusCode::kFull);
  EXPECT_TRUE(FilesUnder(dir / "shm/store/tmp").empty());
  EXPECT_TRUE(ReadAll(*store->Get(KeyOf(1))) == bytes);
}

TEST(StoreFaults, AFullTmpfsAloneServesThroughMemory) {
  TempDir dir;
  Mount tmpfs(dir / "shm", "size=2m");
  SKIP_UNLESS(tmpfs);
  TierOptions tier = Shm(dir / "shm/store");
  auto store = OpenOrDie(OptionsOf({tier}));
  ASSERT_TRUE(Put(*store, 1, 100'000).ok());
  auto big = Put(*store, 2, 3 * kMiB);
  ASSERT_TRUE(big.ok()) << big.status();
  EXPECT_TRUE(ReadAll(*big) == BytesOf(KeyOf(2), 3 * kMiB));
  EXPECT_EQ(store->Stats().unkept, 1u);
  EXPECT_TRUE(store->Get(KeyOf(1)).ok());  // not evicted for what could never fit
}

TEST(StoreFaults, ATmpfsIsEvictedToItsFloor) {
  TempDir dir;
  Mount tmpfs(dir / "shm", "size=4m");
  SKIP_UNLESS(tmpfs);
  TierOptions tier = Shm(dir / "shm/store");
  tier.free_floor_bytes = kMiB;
  FakeClock clock;
  auto store = OpenOrDie(OptionsOf({tier}, &clock));
  for (int i = 0; i < 40; ++i) {
    clock.Advance(std::chrono::seconds(1));
    ASSERT_TRUE(Put(*store, i, 200'000).ok());
    EXPECT_LE(BytesUnder(dir / "shm"), 3 * kMiB);
  }
  EXPECT_EQ(store->Stats().unkept, 0u);
  EXPECT_GT(store->Stats().tiers[0].evictions, 20u);
  EXPECT_FALSE(store->Contains(KeyOf(0)));
  EXPECT_TRUE(store->Contains(KeyOf(39)));
}

TEST(StoreFaults, AFullFileSystemCanStillBeOpened) {
  TempDir dir;
  Mount tmpfs(dir / "shm", "size=1m,nr_inodes=4");
  SKIP_UNLESS(tmpfs);
  for (int i = 0; i < 3; ++i) Spit(dir / ("shm/" + std::to_string(i)), "x");
  auto store = OpenOrDie(OptionsOf({Shm(dir / "shm/store")}));
  ASSERT_TRUE(Put(*store, 1, 1000).ok());
  EXPECT_EQ(store->Stats().unkept, 1u);
  EXPECT_EQ(store->Stats().tiers[0].write_status.code(), StatusCode::kFull);
}

TEST(StoreFaults, AFullFileSystemIsUsedOnceThereIsRoom) {
  TempDir dir;
  Mount tmpfs(dir / "shm", "size=1m,nr_inodes=20");
  SKIP_UNLESS(tmpfs);
  for (int i = 0; i < 19; ++i) Spit(dir / ("shm/" + std::to_string(i)), "x");
  auto store = OpenOrDie(OptionsOf({Shm(dir / "shm/store")}));
  ASSERT_TRUE(Put(*store, 1, 1000).ok());
  EXPECT_EQ(store->Stats().unkept, 1u);
  for (int i = 0; i < 19; ++i) fs::remove(dir / ("shm/" + std::to_string(i)));
  ASSERT_TRUE(Put(*store, 1, 1000).ok());
  EXPECT_EQ(store->Stats().unkept, 1u);
  EXPECT_TRUE(store->Contains(KeyOf(1)));
}

TEST(StoreFaults, AReadOnlyDirectoryIsServedAndSpills) {
  TempDir dir;
  Mount tmpfs(dir / "shm", "size=4m");
  SKIP_UNLESS(tmpfs);
  {
    auto store = OpenOrDie(OptionsOf({Shm(dir / "shm/store")}));
    ASSERT_TRUE(Put(*store, 1, 1000).ok());
    ASSERT_TRUE(Put(*store, 2, 1000).ok());
  }
  Spit(FileOf(dir / "shm/store", KeyOf(2)), "corrupt");
  ASSERT_TRUE(tmpfs.MakeReadOnly());
  auto store =
      OpenOrDie(OptionsOf({Shm(dir / "shm/store"), DirectoryOptions(dir / "disk")}));
  EXPECT_TRUE(ReadAll(*store->Get(KeyOf(1))) == BytesOf(KeyOf(1), 1000));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(store->Get(KeyOf(2)).status().code(), StatusCode::kNotFound);
  }
  EXPECT_EQ(store->Stats().quarantined, 1u);
  auto chunk = Put(*store, 2, 1000);
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  EXPECT_EQ(chunk->medium, model::Medium::kSsd);
  EXPECT_EQ(store->Stats().tiers[0].write_status.code(), StatusCode::kPermission);
  EXPECT_TRUE(store->Get(KeyOf(2)).ok());
}

TEST(StoreFaults, AReadOnlyPlaceWithoutAStoreServesThroughMemory) {
  TempDir dir;
  Mount tmpfs(dir / "shm", "size=4m");
  SKIP_UNLESS(tmpfs);
  ASSERT_TRUE(tmpfs.MakeReadOnly());
  auto store = OpenOrDie(OptionsOf({Shm(dir / "shm/store")}));
  auto chunk = Put(*store, 2, 1000);
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  EXPECT_TRUE(ReadAll(*chunk) == BytesOf(KeyOf(2), 1000));
  EXPECT_EQ(store->Stats().unkept, 1u);
}

}  // namespace
}  // namespace forebay::storage
