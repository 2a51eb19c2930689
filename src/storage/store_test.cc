#include "storage/store.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

class StoreTest : public testing::Test {
 protected:
  std::unique_ptr<Store> OpenDirectory(uint64_t quota_bytes = 0) {
    return OpenOrDie(OptionsOf({DirectoryOptions(path_, quota_bytes)}, &clock_));
  }
  TempDir dir_;
  std::string path_ = dir_ / "store";
  FakeClock clock_;
};

TEST_F(StoreTest, ServesWhatWasPublished) {
  for (TierOptions tier : {DirectoryOptions(path_), MemoryOptions(kGiB)}) {
    auto store = OpenOrDie(OptionsOf({tier}));
    std::string bytes = BytesOf(KeyOf(1), 3 * kMiB + 5);
    auto put = Put(*store, KeyOf(1), bytes);
    ASSERT_TRUE(put.ok()) << put.status();
    EXPECT_TRUE(ReadAll(*put) == bytes);
    auto got = store->Get(KeyOf(1));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->key, KeyOf(1));
    EXPECT_EQ(got->size, bytes.size());
    EXPECT_EQ(got->kind, model::ChunkKind::kTable);
    EXPECT_EQ(got->medium, tier.spec.medium);
    EXPECT_TRUE(ReadAll(*got) == bytes);
    EXPECT_TRUE(store->Contains(KeyOf(1)));
    StoreStats stats = store->Stats();
    EXPECT_EQ(stats.hits, 1u);
    EXPECT_EQ(stats.tiers[0].used_bytes, bytes.size());
    EXPECT_EQ(stats.tiers[0].reserved_bytes, 0u);
    EXPECT_EQ(stats.verified, 0u);  // publishing was enough
  }
}

TEST_F(StoreTest, MissesWhatWasNeverPublished) {
  auto store = OpenDirectory();
  auto got = store->Get(KeyOf(1));
  EXPECT_EQ(got.status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(store->Contains(KeyOf(1)));
  EXPECT_EQ(store->Stats().misses, 1u);
}

TEST_F(StoreTest, GathersAppendsOfEverySize) {
  auto store = OpenDirectory();
  std::string bytes = BytesOf(KeyOf(1), 2 * kMiB);
  auto writer = store->Create(KeyOf(1), model::ChunkKind::kFile, 0);
  ASSERT_TRUE(writer.ok());
  std::mt19937 random(1);
  for (size_t at = 0; at < bytes.size();) {
    size_t size = random() % 5 == 0 ? random() % 300'000 : random() % 64;
    size = std::min(size, bytes.size() - at);
    ASSERT_TRUE((*writer)->Append(bytes.data() + at, size).ok());
    at += size;
  }
  ASSERT_TRUE((*writer)->Commit().ok());
  EXPECT_FALSE((*writer)->Commit().ok());
  EXPECT_FALSE((*writer)->Append("x", 1).ok());
  EXPECT_TRUE(ReadAll(*store->Get(KeyOf(1))) == bytes);
  store = OpenDirectory();
  EXPECT_TRUE(ReadAll(*store->Get(KeyOf(1))) == bytes);  // the checksum is right too
}

TEST_F(StoreTest, ForgetsAWriterThatDidNotCommit) {
  auto store = OpenDirectory();
  {
    auto writer = store->Create(KeyOf(1), model::ChunkKind::kTable, 1000);
    ASSERT_TRUE((*writer)->Append("abc", 3).ok());
    EXPECT_EQ(store->Stats().tiers[0].reserved_bytes, 1000u);
  }
  EXPECT_EQ(store->Stats().tiers[0].reserved_bytes, 0u);
  EXPECT_EQ(store->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(FilesUnder(path_ + "/tmp").empty());
}

TEST_F(StoreTest, OutlivesItsProcessInADirectory) {
  ASSERT_TRUE(Put(*OpenDirectory(), 1, 100'000).ok());
  auto store = OpenDirectory();
  EXPECT_TRUE(store->Contains(KeyOf(1)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(ReadAll(*store->Get(KeyOf(1))) == BytesOf(KeyOf(1), 100'000));
  }
  EXPECT_EQ(store->Stats().verified, 1u);  // once per opened store
}

TEST_F(StoreTest, SeesWhatAnotherProcessPublishedSince) {
  auto ours = OpenDirectory();
  auto theirs = OpenDirectory();
  ASSERT_TRUE(Put(*theirs, 1, 1000).ok());
  EXPECT_FALSE(ours->Contains(KeyOf(1)));
  auto got = ours->Get(KeyOf(1));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(ReadAll(*got) == BytesOf(KeyOf(1), 1000));
}

TEST_F(StoreTest, TakesAFileAnotherProcessUnlinkedForAMiss) {
  auto ours = OpenDirectory();
  auto theirs = OpenDirectory();
  ASSERT_TRUE(Put(*ours, 1, 1000).ok());
  ASSERT_TRUE(theirs->Remove(KeyOf(1)).ok());
  EXPECT_EQ(ours->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(ours->Contains(KeyOf(1)));
  EXPECT_EQ(ours->Stats().tiers[0].used_bytes, 0u);
  EXPECT_EQ(ours->Stats().quarantined, 0u);
}

TEST_F(StoreTest, ServesEitherOfTwoFilesOfAKey) {
  auto ours = OpenDirectory();
  auto theirs = OpenDirectory();
  ASSERT_TRUE(Put(*ours, KeyOf(1), "one").ok());
  ASSERT_TRUE(Put(*theirs, KeyOf(1), "three").ok());
  EXPECT_EQ(ReadAll(*ours->Get(KeyOf(1))), "one");
  EXPECT_EQ(ReadAll(*theirs->Get(KeyOf(1))), "three");
  auto third = OpenDirectory();
  EXPECT_EQ(FilesUnder(path_ + "/chunks").size(), 1u);
  std::string kept = ReadAll(*third->Get(KeyOf(1)));
  EXPECT_EQ(ReadAll(*ours->Get(KeyOf(1))), kept);
  EXPECT_EQ(ReadAll(*theirs->Get(KeyOf(1))), kept);
}

TEST_F(StoreTest, PublishingTwiceCountsOnce) {
  auto store = OpenDirectory();
  ASSERT_TRUE(Put(*store, 1, 1000).ok());
  ASSERT_TRUE(Put(*store, 1, 1000).ok());
  ASSERT_TRUE(Put(*store, KeyOf(1), "other bytes").ok());
  EXPECT_EQ(store->Stats().tiers[0].used_bytes, 11u);
  EXPECT_EQ(FilesUnder(path_ + "/chunks").size(), 1u);
}

TEST_F(StoreTest, RemovesAChunkFromEveryTier) {
  auto store =
      OpenOrDie(OptionsOf({MemoryOptions(kMiB), DirectoryOptions(path_)}, &clock_));
  ASSERT_TRUE(Put(*store, 1, 1000).ok());
  ASSERT_TRUE(Put(*OpenDirectory(), 1, 1000).ok());
  ASSERT_TRUE(store->Remove(KeyOf(1)).ok());
  EXPECT_FALSE(store->Get(KeyOf(1)).ok());
  EXPECT_TRUE(FilesUnder(path_ + "/chunks").empty());
}

TEST_F(StoreTest, StartsAnewWhenItsDirectoryIsRemoved) {
  auto store = OpenDirectory();
  ASSERT_TRUE(Put(*store, 1, 1000).ok());
  fs::remove_all(path_);
  EXPECT_EQ(store->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(Put(*store, 1, 1000).ok());
  EXPECT_EQ(store->Stats().unkept, 0u);
  EXPECT_TRUE(OpenDirectory()->Get(KeyOf(1)).ok());
}

TEST_F(StoreTest, RefusesANewerFormat) {
  { OpenDirectory(); }
  Spit(path_ + "/FORMAT", "forebay-store 2\n");
  auto store = Store::Open(OptionsOf({DirectoryOptions(path_)}));
  EXPECT_EQ(store.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(store.status().message().find("newer Forebay"), std::string::npos);
  Spit(path_ + "/FORMAT", "");
  store = Store::Open(OptionsOf({DirectoryOptions(path_)}));
  EXPECT_EQ(store.status().code(), StatusCode::kCorrupt);
}

TEST_F(StoreTest, RefusesADirectoryThatHoldsSomethingElse) {
  fs::create_directories(path_ + "/chunks");
  Spit(path_ + "/chunks/precious", "data");
  auto store = Store::Open(OptionsOf({DirectoryOptions(path_)}));
  EXPECT_EQ(store.status().code(), StatusCode::kInvalid);
  EXPECT_EQ(Slurp(path_ + "/chunks/precious"), "data");
  store = Store::Open(OptionsOf({DirectoryOptions(path_ + "/chunks/precious")}));
  EXPECT_EQ(store.status().code(), StatusCode::kInvalid);
}

TEST_F(StoreTest, OpensOnlyAStoreWhenToldNotToMakeOne) {
  for (OpenMode mode : {OpenMode::kExisting, OpenMode::kReadOnly}) {
    StoreOptions options = OptionsOf({DirectoryOptions(path_)});
    options.mode = mode;
    EXPECT_EQ(Store::Open(std::move(options)).status().code(), StatusCode::kNotFound);
    EXPECT_FALSE(fs::exists(path_));
  }
}

TEST_F(StoreTest, ChangesNothingWhenReadOnly) {
  ASSERT_TRUE(Put(*OpenDirectory(), 1, 1000).ok());
  Spit(path_ + "/chunks/foreign", "x");
  Spit(FileOf(path_, KeyOf(1)), "corrupt");
  auto before = FilesUnder(path_);
  StoreOptions options = OptionsOf({DirectoryOptions(path_)});
  options.mode = OpenMode::kReadOnly;
  auto store = OpenOrDie(std::move(options));
  EXPECT_EQ(store->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store->Stats().quarantined, 1u);
  ASSERT_TRUE(Put(*store, 2, 1000).ok());  // through memory
  EXPECT_EQ(store->Stats().unkept, 1u);
  store->Sweep();
  EXPECT_EQ(FilesUnder(path_), before);
}

TEST_F(StoreTest, ListsEveryChunk) {
  auto store =
      OpenOrDie(OptionsOf({MemoryOptions(2000), DirectoryOptions(path_)}, &clock_));
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(std::chrono::seconds(1));
    ASSERT_TRUE(Put(*store, i, 900).ok());
  }
  size_t per_tier[2] = {};
  store->List([&](const ListedChunk& listed) {
    EXPECT_EQ(listed.name.size, 900u);
    EXPECT_GT(listed.last_use_ns, 0);
    ++per_tier[listed.tier];
  });
  EXPECT_GE(per_tier[0], 1u);
  EXPECT_GE(per_tier[1], 1u);
  EXPECT_EQ(per_tier[0] + per_tier[1], 4u);
}

TEST_F(StoreTest, SweepsOnlyWhatHasNoWriter) {
  auto store = OpenDirectory();
  auto other = OpenDirectory();
  auto writer = other->Create(KeyOf(1), model::ChunkKind::kTable, 10);
  ASSERT_TRUE(writer.ok());
  std::string live = FilesUnder(path_ + "/tmp").at(0);
  TempName name = *TempName::Parse(fs::path(live).filename().string());
  name.owner.start += 1;  // this pid, but an earlier or later process
  Spit(path_ + "/tmp/" + name.ToString(), "dead");
  name.owner.host += 1;
  std::string far = path_ + "/tmp/" + name.ToString();
  Spit(far, "who knows");
  auto at = [&](int64_t age_s) {
    return fs::file_time_type(fs::file_time_type::clock::from_sys(
        std::chrono::sys_time<std::chrono::nanoseconds>(
            std::chrono::nanoseconds(clock_.WallNanos() - age_s * 1'000'000'000))));
  };
  fs::last_write_time(far, at(3000));
  SweepReport report = store->Sweep();
  EXPECT_EQ(report.temp_files, 1u);
  EXPECT_EQ(report.temp_bytes, 4u);
  EXPECT_TRUE(fs::exists(far));
  EXPECT_TRUE(fs::exists(live));
  fs::last_write_time(far, at(4000));
  EXPECT_EQ(store->Sweep().temp_files, 1u);
  EXPECT_EQ(FilesUnder(path_ + "/tmp"), std::vector<std::string>{live});
  ASSERT_TRUE((*writer)->Commit().ok());
}

TEST_F(StoreTest, KeepsAChunkWhoseDraftWasSweptFromUnderIt) {
  auto store = OpenDirectory();
  auto writer = store->Create(KeyOf(1), model::ChunkKind::kTable, 10);
  std::string bytes = BytesOf(KeyOf(1), 700'000);
  ASSERT_TRUE((*writer)->Append(bytes.data(), bytes.size()).ok());
  fs::remove(FilesUnder(path_ + "/tmp").at(0));
  auto chunk = (*writer)->Commit();
  ASSERT_TRUE(chunk.ok()) << chunk.status();
  EXPECT_TRUE(ReadAll(*chunk) == bytes);
  EXPECT_EQ(store->Stats().unkept, 1u);
}

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

TEST(StoreRemote, AChunkThatIsOutOfReachForAMomentIsAMissAndNoDamage) {
  TempDir dir;
  TierOptions network = DirectoryOptions(dir / "net");
  network.spec.medium = model::Medium::kNfs;
  auto store = OpenOrDie(OptionsOf({network}));
  ASSERT_TRUE(Put(*store, 1, 5000).ok());
  std::string file = FileOf(dir / "net", KeyOf(1));
  fs::rename(file, dir / "aside");
  fs::create_symlink(dir / "aside", file);  // cannot be opened
  EXPECT_EQ(store->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(store->Contains(KeyOf(1))) << "who needs it now reads its source";
  EXPECT_EQ(store->Stats().quarantined, 0u);
  fs::remove(file);
  fs::rename(dir / "aside", file);
  auto back = store->Get(KeyOf(1));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(ReadAll(*back) == BytesOf(KeyOf(1), 5000));
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
