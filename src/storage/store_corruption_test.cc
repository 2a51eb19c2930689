// Damage done to chunk files between boots: found before a byte is served.
#include <gtest/gtest.h>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

constexpr size_t kChunkBytes = 20'000;

class StoreCorruptionTest : public testing::Test {
 protected:
  std::unique_ptr<Store> OpenStore() {
    return OpenOrDie(OptionsOf({DirectoryOptions(path_)}));
  }
  TempDir dir_;
  std::string path_ = dir_ / "store";
};

enum class Damage { kFlip, kTruncate, kExtend, kZero, kEmpty, kSwap, kCount };

void Inflict(Damage damage, const std::string& file, const std::string& other,
             std::mt19937_64& random) {
  std::string bytes = Slurp(file);
  std::string others = Slurp(other);
  size_t at = random() % (bytes.size() - 64);
  switch (damage) {
    case Damage::kFlip: bytes[at] ^= 1 << (random() % 8); break;
    case Damage::kTruncate: bytes.resize(at + 1); break;
    case Damage::kExtend: bytes.append(random() % 100 + 1, '\0'); break;
    case Damage::kZero: bytes.replace(at, 64, 64, '\0'); break;
    case Damage::kEmpty: bytes.clear(); break;
    case Damage::kSwap:
      std::swap(bytes, others);
      Spit(other, others);
      break;
    case Damage::kCount: break;
  }
  Spit(file, bytes);
}

TEST_F(StoreCorruptionTest, IsFoundQuarantinedCountedAndRefilled) {
  uint64_t seed = TestSeed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    uint64_t a = 2 * round, b = 2 * round + 1;
    {
      auto store = OpenStore();
      ASSERT_TRUE(Put(*store, a, kChunkBytes).ok());
      ASSERT_TRUE(Put(*store, b, kChunkBytes).ok());
    }
    auto damage = static_cast<Damage>(round % static_cast<int>(Damage::kCount));
    SCOPED_TRACE(static_cast<int>(damage));
    Inflict(damage, FileOf(path_, KeyOf(a)), FileOf(path_, KeyOf(b)), random);
    auto store = OpenStore();
    EXPECT_EQ(store->Get(KeyOf(a)).status().code(), StatusCode::kNotFound);
    bool both = damage == Damage::kSwap;
    auto other = store->Get(KeyOf(b));
    EXPECT_EQ(other.ok(), !both);
    EXPECT_EQ(store->Stats().quarantined, both ? 2u : 1u);
    EXPECT_EQ(FileOf(path_, KeyOf(a)), "");
    // What refills it is served again, though it has the same name.
    ASSERT_TRUE(Put(*store, a, kChunkBytes).ok());
    EXPECT_TRUE(ReadAll(*store->Get(KeyOf(a))) == BytesOf(KeyOf(a), kChunkBytes));
    EXPECT_TRUE(ReadAll(*OpenStore()->Get(KeyOf(a))) == BytesOf(KeyOf(a), kChunkBytes));
  }
}

TEST_F(StoreCorruptionTest, OfAChunkUnderAnotherKeyIsFound) {
  ASSERT_TRUE(Put(*OpenStore(), 1, kChunkBytes).ok());
  fs::path file = FileOf(path_, KeyOf(1));
  ChunkName name = *ChunkName::Parse(file.filename().string());
  name.key = KeyOf(2);
  fs::path bucket = fs::path(path_) / "chunks" / BucketName(name.key);
  fs::create_directories(bucket);
  fs::rename(file, bucket / name.ToString());
  auto store = OpenStore();
  EXPECT_TRUE(store->Contains(KeyOf(2)));
  EXPECT_EQ(store->Get(KeyOf(2)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store->Stats().quarantined, 1u);
}

TEST_F(StoreCorruptionTest, ByTruncationAfterVerificationIsFoundToo) {
  auto store = OpenStore();
  ASSERT_TRUE(Put(*store, 1, kChunkBytes).ok());
  ASSERT_TRUE(store->Get(KeyOf(1)).ok());
  fs::resize_file(FileOf(path_, KeyOf(1)), 10);
  EXPECT_EQ(store->Get(KeyOf(1)).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store->Stats().quarantined, 1u);
}

TEST_F(StoreCorruptionTest, TellsReadersToLetGo) {
  ASSERT_TRUE(Put(*OpenStore(), 1, kChunkBytes).ok());
  Spit(FileOf(path_, KeyOf(1)), "x");
  std::vector<Hash128> told;
  StoreOptions options = OptionsOf({DirectoryOptions(path_)});
  options.on_evict = [&](const Hash128& key) { told.push_back(key); };
  auto store = OpenOrDie(std::move(options));
  EXPECT_FALSE(store->Get(KeyOf(1)).ok());
  EXPECT_EQ(told, std::vector<Hash128>{KeyOf(1)});
}

TEST_F(StoreCorruptionTest, OfOneCopyLeavesTheOther) {
  ASSERT_TRUE(Put(*OpenStore(), 1, kChunkBytes).ok());
  ASSERT_TRUE(
      Put(*OpenOrDie(OptionsOf({DirectoryOptions(dir_ / "fast")})), 1, kChunkBytes).ok());
  Spit(FileOf(dir_ / "fast", KeyOf(1)), "x");
  auto store =
      OpenOrDie(OptionsOf({DirectoryOptions(dir_ / "fast"), DirectoryOptions(path_)}));
  auto got = store->Get(KeyOf(1));
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(ReadAll(*got) == BytesOf(KeyOf(1), kChunkBytes));
  EXPECT_EQ(store->Stats().quarantined, 1u);
}

TEST_F(StoreCorruptionTest, ByForeignFilesIsMovedAside) {
  ASSERT_TRUE(Put(*OpenStore(), 1, kChunkBytes).ok());
  fs::path file = FileOf(path_, KeyOf(1));
  std::string good = file.filename().string();
  fs::path chunks = fs::path(path_) / "chunks";
  fs::create_directories(chunks / "zz");
  fs::create_directories(file.parent_path() / "folder/below");
  Spit(chunks / "core", "dump");
  Spit(file.parent_path() / "notes.txt", "mine");
  Spit(file.parent_path() / (good + ".part"), "torn");
  fs::create_directories(chunks / (good[0] == '0' ? "11" : "00"));
  fs::copy_file(file, chunks / (good[0] == '0' ? "11" : "00") / good);  // wrong bucket
  ChunkName linked = *ChunkName::Parse(good);
  linked.checksum.low += 1;
  fs::create_symlink("/etc/passwd", file.parent_path() / linked.ToString());
  auto store = OpenStore();
  EXPECT_EQ(store->Stats().quarantined, 7u);
  EXPECT_EQ(FilesUnder(chunks), std::vector<std::string>{file.string()});
  EXPECT_FALSE(fs::exists(chunks / "zz"));
  EXPECT_TRUE(store->Get(KeyOf(1)).ok());
}

class VerifyTest : public StoreCorruptionTest,
                   public testing::WithParamInterface<model::Medium> {
 protected:
  std::unique_ptr<Store> OpenStore() {
    TierOptions tier = DirectoryOptions(path_);
    tier.spec.medium = GetParam();
    return OpenOrDie(OptionsOf({tier}));
  }
};

TEST_P(VerifyTest, FindsEveryBadChunk) {
  {
    auto store = OpenStore();
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(Put(*store, i, kChunkBytes).ok());
  }
  std::mt19937_64 random(1);
  Inflict(Damage::kFlip, FileOf(path_, KeyOf(3)), "", random);
  Inflict(Damage::kTruncate, FileOf(path_, KeyOf(4)), "", random);
  auto store = OpenStore();
  ASSERT_TRUE(store->Get(KeyOf(5)).ok());
  Inflict(Damage::kZero, FileOf(path_, KeyOf(5)), "", random);  // verified before
  size_t told = 0;
  VerifyReport report = store->VerifyAll(
      [&](const ListedChunk&, const Status& status) { told += !status.ok(); });
  EXPECT_EQ(report.chunk_count, 10u);
  EXPECT_EQ(report.bytes, 10 * kChunkBytes);
  EXPECT_EQ(report.corrupt, 3u);
  EXPECT_EQ(told, 3u);
  EXPECT_EQ(FilesUnder(path_ + "/quarantine").size(), 3u);
  EXPECT_EQ(store->VerifyAll({}).corrupt, 0u);
}

INSTANTIATE_TEST_SUITE_P(Media, VerifyTest,
                         testing::Values(model::Medium::kMem, model::Medium::kSsd,
                                         model::Medium::kHdd, model::Medium::kNfs),
                         [](const auto& info) {
                           return std::string(model::MediumName(info.param));
                         });

}  // namespace
}  // namespace forebay::storage
