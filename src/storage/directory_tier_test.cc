// In which order a directory tier syncs and names what it publishes, and what it makes of
// what others left in its directory. The system calls are recorded here, in the place of
// the C library's.
#include "storage/directory_tier.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/file_io.h"
#include "storage/store_testing.h"

namespace {

struct Recording {
  std::vector<std::string> calls;
  int fdatasync_error = 0;
};
thread_local Recording* recording = nullptr;

void Record(std::string_view call, const std::string& path) {
  if (recording != nullptr) recording->calls.push_back(std::string(call) + " " + path);
}

// "tmp" for a draft, "chunks" for what has its name, else the path.
std::string KindOf(const std::string& path) {
  if (path.find("/store/tmp/") != path.npos) return "tmp";
  return path.find("/chunks/") != path.npos ? "chunks" : path;
}

std::string PathOf(int fd) {
  char path[4096] = {};
  std::string link = "/proc/self/fd/" + std::to_string(fd);
  ssize_t size = readlink(link.c_str(), path, sizeof(path) - 1);
  return size < 0 ? "" : std::string(path, static_cast<size_t>(size));
}

}  // namespace

extern "C" int fdatasync(int fd) {
  Record("fdatasync", KindOf(PathOf(fd)));
  if (recording != nullptr && recording->fdatasync_error != 0) {
    errno = recording->fdatasync_error;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

extern "C" int fsync(int fd) {
  Record("fsync", KindOf(PathOf(fd)));
  return static_cast<int>(syscall(SYS_fsync, fd));
}

extern "C" int rename(const char* from, const char* to) noexcept {
  Record("rename", KindOf(from) + " to " + KindOf(to));
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace forebay::storage {
namespace {

using Calls = std::vector<std::string>;
constexpr int64_t kSecond = 1'000'000'000;

class DirectoryTierTest : public testing::Test {
 protected:
  ~DirectoryTierTest() override { recording = nullptr; }

  void Open(model::Medium medium, bool durable) {
    TierOptions options = DirectoryOptions(path_);
    options.spec.medium = medium;
    options.durable = durable;
    Open(options);
  }
  void Open(const TierOptions& options, OpenMode mode = OpenMode::kCreate) {
    tier_ = DirectoryTier::Open(options, mode).ValueOrDie();
  }
  ChunkName NameOf(const std::string& bytes) {
    Hash128 key = KeyOf(1);
    return {.key = key,
            .checksum = HashBytes(bytes, ChecksumSeed(key)),
            .size = bytes.size()};
  }
  // In a bucket that is there, so that only one rename is needed.
  Result<std::shared_ptr<const UniqueFd>> Publish(const std::string& bytes) {
    fs::create_directories(path_ + "/chunks/" + BucketName(KeyOf(1)));
    auto draft = tier_->NewDraft(bytes.size());
    EXPECT_TRUE(draft->Append(bytes.data(), bytes.size()).ok());
    recording = &recording_;
    auto published = tier_->Publish(*draft, NameOf(bytes), kSecond);
    recording = nullptr;
    return published;
  }

  TempDir dir_;
  std::string path_ = dir_ / "store";
  std::unique_ptr<DirectoryTier> tier_;
  Recording recording_;
};

TEST_F(DirectoryTierTest, OnAnothersDiskAChunkIsSyncedBeforeItHasItsName) {
  Open(model::Medium::kNfs, /*durable=*/true);
  EXPECT_FALSE(tier_->settles_later());
  ASSERT_TRUE(Publish("abc").ok());
  EXPECT_EQ(recording_.calls,
            (Calls{"fdatasync tmp", "rename tmp to chunks", "fsync chunks"}));
}

TEST_F(DirectoryTierTest, OnAnothersDiskAChunkThatCannotBeSyncedGetsNoName) {
  Open(model::Medium::kNfs, /*durable=*/true);
  recording_.fdatasync_error = ENOSPC;
  EXPECT_EQ(Publish("abc").status().code(), StatusCode::kFull);
  EXPECT_EQ(recording_.calls, Calls{"fdatasync tmp"});
  EXPECT_TRUE(FilesUnder(path_ + "/chunks").empty());
}

TEST_F(DirectoryTierTest, OnItsOwnDiskAChunkIsSyncedLater) {
  Open(model::Medium::kSsd, /*durable=*/true);
  EXPECT_TRUE(tier_->settles_later());
  auto fd = Publish("abc");
  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(recording_.calls, Calls{"rename tmp to chunks"});
  recording_.calls.clear();
  recording = &recording_;
  EXPECT_TRUE(tier_->Settle(NameOf("abc"), **fd).ok());
  EXPECT_EQ(recording_.calls, (Calls{"fdatasync chunks", "fsync chunks"}));
  recording_.fdatasync_error = EIO;
  EXPECT_FALSE(tier_->Settle(NameOf("abc"), **fd).ok());
}

TEST_F(DirectoryTierTest, WhatNeedNotOutlastAPowerCutIsNeverSynced) {
  for (bool durable : {false, true}) {
    recording_.calls.clear();
    Open(durable ? model::Medium::kMem : model::Medium::kNfs, durable);
    EXPECT_FALSE(tier_->settles_later());
    ASSERT_TRUE(Publish("abc").ok());
    EXPECT_EQ(recording_.calls, Calls{"rename tmp to chunks"});
  }
}

TEST_F(DirectoryTierTest, AChunkHasTheTimeOfItsLastUse) {
  Open(model::Medium::kSsd, /*durable=*/false);
  EXPECT_EQ(tier_->LastUse(NameOf("abc")), 0);
  auto fd = Publish("abc");
  EXPECT_EQ(tier_->LastUse(NameOf("abc")), kSecond);
  tier_->RecordUse(**fd, 5 * kSecond + 7);
  EXPECT_EQ(tier_->LastUse(NameOf("abc")), 5 * kSecond + 7);
}

TEST_F(DirectoryTierTest, CountsWhatOthersClaimOrWroteWhicheverIsMore) {
  Open(model::Medium::kSsd, /*durable=*/false);
  auto others = DirectoryTier::Open(DirectoryOptions(path_), OpenMode::kCreate);
  auto own = tier_->NewDraft(1000);
  auto small = (*others)->NewDraft(300);
  auto large = (*others)->NewDraft(10);
  ASSERT_TRUE(large->Append(std::string(50, 'x').data(), 50).ok());
  Spit(path_ + "/tmp/of no known name", std::string(7, 'x'));
  EXPECT_EQ(tier_->Scan()->claimed_bytes, 300U + 50U + 7U);
}

TEST_F(DirectoryTierTest, SweepsDraftsOfOthersOnlyOnceTheyAreAnHourOld) {
  Open(model::Medium::kSsd, /*durable=*/false);
  auto own = tier_->NewDraft(1);
  std::string foreign = path_ + "/tmp/of no known name";
  std::string format = path_ + "/.FORMAT-0123456789abcdef";
  for (const std::string& file : {foreign, format}) Spit(file, "abc");
  int64_t made = ModifiedNanos(foreign);
  SetModified(UniqueFd(open(format.c_str(), O_RDONLY)).get(), made);
  SweepReport young = tier_->Sweep(made + 3600 * kSecond);
  EXPECT_EQ(young.temp_files, 0U);
  SweepReport old = tier_->Sweep(made + 3600 * kSecond + 1);
  EXPECT_EQ(old.temp_files, 2U);
  EXPECT_EQ(old.temp_bytes, 6U);
  EXPECT_FALSE(fs::exists(foreign));
  EXPECT_FALSE(fs::exists(format));
  EXPECT_TRUE(fs::exists(own->temp_path())) << "its own draft is in use";
}

TEST_F(DirectoryTierTest, LeavesAloneWhatAnNfsClientRenamed) {
  Open(model::Medium::kSsd, /*durable=*/false);
  ASSERT_TRUE(Publish("abc").ok());
  std::string bucket = path_ + "/chunks/" + BucketName(KeyOf(1));
  Spit(bucket + "/.nfs0001", "x");
  Spit(path_ + "/chunks/.nfs0002", "x");
  auto scan = tier_->Scan();
  EXPECT_EQ(scan->quarantined, 0U);
  EXPECT_EQ(scan->chunks, std::vector<ChunkName>{NameOf("abc")});
  EXPECT_TRUE(fs::exists(bucket + "/.nfs0001"));
}

TEST_F(DirectoryTierTest, RemovesTheOldestOfItsQuarantineFirst) {
  TierOptions options = DirectoryOptions(path_, 16 * 100);  // 100 bytes of quarantine
  Open(options);
  for (int i = 0; i < 4; ++i) {
    std::string file = path_ + "/quarantine/" + std::to_string(i);
    Spit(file, std::string(40, 'x'));
    SetModified(UniqueFd(open(file.c_str(), O_RDONLY)).get(), (10 - i) * kSecond);
  }
  SweepReport report = tier_->Sweep(kSecond);
  EXPECT_EQ(report.quarantine_files_removed, 2U);
  EXPECT_TRUE(fs::exists(path_ + "/quarantine/0"));
  EXPECT_TRUE(fs::exists(path_ + "/quarantine/1"));
  EXPECT_FALSE(fs::exists(path_ + "/quarantine/2"));
  EXPECT_EQ(tier_->Scan()->quarantine_bytes, 80U);
}

TEST_F(DirectoryTierTest, KeepsAQuarantineThatIsJustAsLargeAsItMayBe) {
  Open(DirectoryOptions(path_, 16 * 100));
  Spit(path_ + "/quarantine/a", std::string(100, 'x'));
  EXPECT_EQ(tier_->Sweep(kSecond).quarantine_files_removed, 0U);
  Spit(path_ + "/quarantine/b", "x");
  EXPECT_EQ(tier_->Sweep(kSecond).quarantine_files_removed, 1U);
}

TEST_F(DirectoryTierTest, ChangesNothingWhenReadOnly) {
  Open(model::Medium::kSsd, /*durable=*/false);
  auto fd = Publish("abc");
  Spit(path_ + "/tmp/of no known name", "x");
  Spit(path_ + "/chunks/foreign", "x");
  Open(DirectoryOptions(path_), OpenMode::kReadOnly);
  EXPECT_EQ(tier_->NewDraft(1).status().code(), StatusCode::kPermission);
  EXPECT_EQ(tier_->Unlink(NameOf("abc")).code(), StatusCode::kPermission);
  EXPECT_FALSE(tier_->Quarantine(NameOf("abc")).ok());
  tier_->RecordUse(**fd, 9 * kSecond);
  EXPECT_EQ(tier_->LastUse(NameOf("abc")), kSecond);
  EXPECT_EQ(tier_->Sweep(INT64_MAX).temp_files, 0U);
  EXPECT_EQ(tier_->Scan()->quarantined, 0U);
  EXPECT_TRUE(fs::exists(path_ + "/chunks/foreign"));
}

TEST_F(DirectoryTierTest, MakesItsDirectoryAndNotTheOneAbove) {
  TierOptions options = DirectoryOptions(dir_ / "missing/store");
  Status status = DirectoryTier::Open(options, OpenMode::kCreate).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "the store " + options.spec.path +
                                  " cannot be made: " + (dir_ / "missing") +
                                  " does not exist; make it, or name another directory");
  EXPECT_FALSE(fs::exists(dir_ / "missing"));
}

}  // namespace
}  // namespace forebay::storage
