// One suite for every kind of tier.
#include "storage/tier.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "storage/directory_tier.h"
#include "storage/file_io.h"
#include "storage/memory_tier.h"
#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

struct TierCase {
  const char* name;
  std::unique_ptr<Tier> (*make)(const std::string& path);
};

std::unique_ptr<Tier> MakeMemory(const std::string&) {
  return std::make_unique<MemoryTier>();
}

std::unique_ptr<Tier> MakeDirectoryTier(const std::string& path, bool durable) {
  TierOptions options = DirectoryOptions(path);
  options.durable = durable;
  return DirectoryTier::Open(options, OpenMode::kCreate).ValueOrDie();
}
std::unique_ptr<Tier> MakeDurable(const std::string& path) {
  return MakeDirectoryTier(path, true);
}
std::unique_ptr<Tier> MakeQuick(const std::string& path) {
  return MakeDirectoryTier(path, false);
}

class TierTest : public testing::TestWithParam<TierCase> {
 protected:
  ChunkName NameFor(const std::string& bytes) {
    Hash128 key = KeyOf(1);
    return {.key = key,
            .checksum = HashBytes(bytes, ChecksumSeed(key)),
            .size = bytes.size()};
  }
  TempDir dir_;
  std::unique_ptr<Tier> tier_ = GetParam().make(dir_ / "store");
};

TEST_P(TierTest, PublishesWhatWasWritten) {
  std::string bytes = BytesOf(KeyOf(1), 9 * kMiB + 13);
  auto draft = tier_->NewDraft(bytes.size());
  ASSERT_TRUE(draft.ok()) << draft.status();
  ASSERT_TRUE(draft->Append(bytes.data(), kMiB).ok());
  ASSERT_TRUE(draft->Append(bytes.data() + kMiB, bytes.size() - kMiB).ok());
  ChunkName name = NameFor(bytes);
  auto fd = tier_->Publish(*draft, name, 1'000'000'000);
  ASSERT_TRUE(fd.ok()) << fd.status();
  auto hash = HashFile((*fd)->get(), bytes.size(), ChecksumSeed(name.key));
  ASSERT_TRUE(hash.ok()) << hash.status();
  EXPECT_EQ(*hash, name.checksum);
  EXPECT_TRUE(tier_->Settle(name, **fd).ok());
}

TEST_P(TierTest, HandsOutReadOnlyDescriptors) {
  auto draft = tier_->NewDraft(3);
  ASSERT_TRUE(draft->Append("abc", 3).ok());
  auto fd = tier_->Publish(*draft, NameFor("abc"), 1);
  ASSERT_TRUE(fd.ok()) << fd.status();
  int raw = (*fd)->get();
  EXPECT_EQ(fcntl(raw, F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_EQ(write(raw, "x", 1), -1);
  EXPECT_EQ(mmap(nullptr, 3, PROT_READ | PROT_WRITE, MAP_SHARED, raw, 0), MAP_FAILED);
  EXPECT_NE(fcntl(raw, F_GETFD) & FD_CLOEXEC, 0);
}

TEST_P(TierTest, LeavesNothingOfADiscardedDraft) {
  {
    auto draft = tier_->NewDraft(100);
    ASSERT_TRUE(draft->Append("abc", 3).ok());
    Draft moved = *std::move(draft);
  }
  EXPECT_TRUE(FilesUnder(dir_ / "store/tmp").empty());
  EXPECT_TRUE(FilesUnder(dir_ / "store/chunks").empty());
}

TEST_P(TierTest, KeepsAnEmptyChunk) {
  auto draft = tier_->NewDraft(0);
  auto fd = tier_->Publish(*draft, NameFor(""), 1);
  ASSERT_TRUE(fd.ok()) << fd.status();
  EXPECT_EQ(*FileSize((*fd)->get()), 0u);
}

INSTANTIATE_TEST_SUITE_P(Tiers, TierTest,
                         testing::Values(TierCase{"memory", MakeMemory},
                                         TierCase{"directory", MakeQuick},
                                         TierCase{"durable", MakeDurable}),
                         [](const auto& info) { return info.param.name; });

TEST(MemoryTier, SealsItsChunks) {
  MemoryTier tier;
  auto draft = tier.NewDraft(3);
  ASSERT_TRUE(draft->Append("abc", 3).ok());
  auto fd = tier.Publish(*draft, {.key = KeyOf(1), .size = 3}, 1);
  ASSERT_TRUE(fd.ok());
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
  EXPECT_EQ(fcntl((*fd)->get(), F_GET_SEALS) & kSeals, kSeals);
  EXPECT_EQ(write(draft->fd(), "x", 1), -1);  // nor by who wrote it
}

TEST(MemoryTier, LeavesDescriptorsForOthers) {
  const std::pair<rlim_t, uint64_t> kTable[] = {
      {600, 300}, {1024, 512}, {1025, 513}, {2000, 1488}};
  for (auto [limit, chunks] : kTable) {
    DescriptorLimit lower(limit);
    EXPECT_EQ(MemoryTier().chunk_count_max(), chunks) << limit;
  }
}

TEST(MemoryTier, GivesBackMemoryThatWasPreparedInVain) {
  MemoryTier tier;
  auto draft = tier.NewDraft(8 * kMiB);
  ASSERT_TRUE(draft->Append("abc", 3).ok());
  auto fd = tier.Publish(*draft, {.key = KeyOf(1), .size = 3}, 1);
  ASSERT_TRUE(fd.ok()) << fd.status();
  EXPECT_EQ(*FileSize((*fd)->get()), 3u);
}

TEST(DirectoryTier, MakesDirectoriesOnlyItsUserCanEnter) {
  TempDir dir;
  fs::create_directory(dir / "a");
  auto tier = MakeQuick(dir / "a/b");
  auto draft = tier->NewDraft(3);
  ASSERT_TRUE(draft->Append("abc", 3).ok());
  Hash128 key = KeyOf(1);
  ASSERT_TRUE(tier->Publish(*draft, {.key = key, .size = 3}, 1).ok());
  for (std::string name : {"a/b", "a/b/chunks", "a/b/tmp", "a/b/quarantine"}) {
    struct stat info;
    ASSERT_EQ(stat((dir / name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777, 0700u) << name;
  }
  struct stat info;
  ASSERT_EQ(stat(FileOf(dir / "a/b", key).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0077, 0u);
}

TEST(DirectoryTier, RefusesToPublishADraftOfAnotherSize) {
  TempDir dir;
  auto tier = MakeQuick(dir / "store");
  auto draft = tier->NewDraft(3);
  ASSERT_TRUE(draft->Append("abc", 3).ok());
  EXPECT_FALSE(tier->Publish(*draft, {.key = KeyOf(1), .size = 4}, 1).ok());
  EXPECT_TRUE(FilesUnder(dir / "store/chunks").empty());
}

TEST(DirectoryTier, BoundsItsQuarantine) {
  TempDir dir;
  TierOptions options = DirectoryOptions(dir / "store");
  options.quarantine_bytes_max = 2500;
  auto tier = DirectoryTier::Open(options, OpenMode::kCreate).ValueOrDie();
  fs::create_directory(dir / "store/chunks/00");
  for (int i = 0; i < 5; ++i) {
    Spit(dir / ("store/chunks/00/foreign" + std::to_string(i)), std::string(1000, 'x'));
  }
  auto scan = tier->Scan();
  ASSERT_TRUE(scan.ok());
  EXPECT_EQ(scan->quarantined, 5u);
  EXPECT_EQ(scan->quarantine_bytes, 2000u);
  EXPECT_EQ(FilesUnder(dir / "store/quarantine").size(), 2u);
  EXPECT_TRUE(FilesUnder(dir / "store/chunks").empty());
}

}  // namespace
}  // namespace forebay::storage
