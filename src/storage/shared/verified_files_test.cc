#include "storage/shared/verified_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace forebay::storage {
namespace {

namespace fs = std::filesystem;

class VerifiedFilesTest : public testing::Test {
 protected:
  VerifiedFilesTest() {
    std::string pattern =
        (fs::temp_directory_path() / "forebay-verified-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~VerifiedFilesTest() override { fs::remove_all(folder_); }
  VerifiedFiles Open(size_t bucket_digits = 1) const {
    return VerifiedFiles({.folder = folder_, .bucket_digits = bucket_digits});
  }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
    return bytes;
  }
  std::string folder_;
};

TEST_F(VerifiedFilesTest, RemembersTheLastStateOfAFile) {
  EXPECT_FALSE(Open().Has("/a", "1"));
  Open().Remember("/a", "1");
  Open().Remember("/b", "1");
  EXPECT_TRUE(Open().Has("/a", "1"));
  Open().Remember("/a", "2");
  EXPECT_TRUE(Open().Has("/a", "2"));
  EXPECT_FALSE(Open().Has("/a", "1"));
  EXPECT_TRUE(Open().Has("/b", "1"));
}

TEST_F(VerifiedFilesTest, StaysSmallAndForgetsTheOldest) {
  for (int i = 0; i < 5000; ++i) Open().Remember(std::to_string(i), "state");
  EXPECT_LE(Bytes(), 16 * 62 * 66);
  EXPECT_GT(Bytes(), 16 * 60 * 66);
  for (int i = 4900; i < 5000; ++i) {
    EXPECT_TRUE(Open().Has(std::to_string(i), "state")) << i;
  }
  EXPECT_FALSE(Open().Has("0", "state"));
}

TEST_F(VerifiedFilesTest, WithoutAFolderItRemembersNothing) {
  VerifiedFiles none({.folder = ""});
  none.Remember("/a", "1");
  EXPECT_FALSE(none.Has("/a", "1"));
}

TEST_F(VerifiedFilesTest, WaitsForNoLockThatStaysTaken) {
  Open().Remember("/a", "1");
  std::string bucket = fs::directory_iterator(folder_)->path();
  UniqueFd taken(::open(bucket.c_str(), O_RDWR));
  ASSERT_EQ(::flock(taken.get(), LOCK_EX), 0);
  Open().Remember("/a", "2");  // would never end
  EXPECT_TRUE(Open().Has("/a", "1"));
  taken.Reset();
  Open().Remember("/a", "2");
  EXPECT_TRUE(Open().Has("/a", "2"));
}

TEST_F(VerifiedFilesTest, ProcessesLoseNothingOfEachOther) {
  // A busy machine may stop the process that has the lock for longer than others wait.
  VerifiedFiles patient(
      {.folder = folder_, .bucket_digits = 1, .lock_wait = std::chrono::minutes(1)});
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    pid_t pid = ::fork();
    if (pid == 0) {
      for (int i = 0; i < 100; ++i) {
        patient.Remember(std::to_string(child * 100 + i), "state");
      }
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) ::waitpid(pid, nullptr, 0);
  for (int i = 0; i < 400; ++i) {
    EXPECT_TRUE(Open().Has(std::to_string(i), "state")) << i;
    EXPECT_FALSE(Open().Has(std::to_string(i), "other")) << i;
  }
}

}  // namespace
}  // namespace forebay::storage
