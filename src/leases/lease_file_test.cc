#include "leases/lease_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

namespace forebay::leases {
namespace {

class LeaseFileTest : public testing::Test {
 protected:
  LeaseFileTest() {
    char pattern[] = "/tmp/forebay-leases-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~LeaseFileTest() override { std::filesystem::remove_all(folder_); }

  LeaseFile::Options OptionsOf(const std::string& holder) {
    return {.path = folder_ + "/leases",
            .epoch = "one",
            .rows = 100,
            .lease_rows = 40,
            .lease_time = milliseconds(1000),
            .holder = holder,
            .clock = &clock_};
  }
  std::unique_ptr<LeaseFile> Open(const std::string& holder) {
    return LeaseFile::Open(OptionsOf(holder)).ValueOrDie();
  }

  FakeClock clock_;
  std::string folder_;
};

TEST_F(LeaseFileTest, IsSharedByAllWhoOpenIt) {
  auto a = Open("a"), b = Open("b");
  plan::Lease first = *a->Take()->lease, second = *b->Take()->lease;
  EXPECT_EQ(first.first, 0U);
  EXPECT_EQ(second.first, 40U);
  EXPECT_EQ(second.holder, "b");
  EXPECT_TRUE(a->Acknowledge(first.fence, 40).ok());
  LeaseProgress progress = *b->Progress();
  EXPECT_EQ(progress.acknowledged_rows, 40U);
  EXPECT_EQ(progress.held_rows, 40U);
  EXPECT_EQ(progress.lease_count, 1U);
}

TEST_F(LeaseFileTest, RemembersEverythingWhenAllAreGone) {
  plan::Lease lease = *Open("a")->Take()->lease;
  EXPECT_TRUE(Open("a")->Acknowledge(lease.fence, 30).ok());
  clock_.Advance(milliseconds(1000));
  plan::Lease rest = *Open("b")->Take()->lease;
  EXPECT_EQ(rest.first, 30U);
  EXPECT_EQ(rest.count, 10U);
}

TEST_F(LeaseFileTest, RefusesAZombieAndSaysSo) {
  auto zombie = Open("zombie"), heir = Open("heir");
  plan::Lease lost = *zombie->Take()->lease;
  clock_.Advance(milliseconds(1000));
  plan::Lease taken = *heir->Take()->lease;
  EXPECT_EQ(taken.first, lost.first);
  Status status = zombie->Acknowledge(lost.fence, 40);
  EXPECT_EQ(status.code(), StatusCode::kChanged);
  EXPECT_NE(status.message().find("given to another"), std::string::npos);
  EXPECT_EQ(zombie->Progress()->acknowledged_rows, 0U);
  EXPECT_TRUE(heir->Acknowledge(taken.fence, 40).ok());
}

TEST_F(LeaseFileTest, SaysHowLongToWaitAndWhenAllIsDone) {
  auto a = Open("a"), b = Open("b");
  std::vector<plan::Lease> leases;
  for (int i = 0; i < 3; ++i) leases.push_back(*a->Take()->lease);
  plan::LeaseGrant none = *b->Take();
  EXPECT_FALSE(none.lease.has_value());
  EXPECT_EQ(b->Until(none.retry_ms), milliseconds(1000));
  clock_.Advance(milliseconds(400));
  EXPECT_EQ(b->Until(none.retry_ms), milliseconds(600));
  EXPECT_TRUE(a->Release(leases[1].fence).ok());
  leases[1] = *b->Take()->lease;
  for (const plan::Lease& lease : leases) {
    EXPECT_TRUE(b->Acknowledge(lease.fence, lease.first + lease.count).ok());
  }
  EXPECT_TRUE(a->Take()->finished);
}

TEST_F(LeaseFileTest, KeepsEpochsApart) {
  auto one = Open("a");
  EXPECT_EQ(one->Take()->lease->first, 0U);
  LeaseFile::Options options = OptionsOf("a");
  options.epoch = "two";
  options.rows = 7;
  EXPECT_EQ(LeaseFile::Open(options).ValueOrDie()->Take()->lease->count, 7U);
  options.epoch = "one";
  Status status = LeaseFile::Open(options).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_NE(status.message().find("100 rows, and this job has 7"), std::string::npos);
}

TEST_F(LeaseFileTest, IsNotUsedAcrossAFork) {
  auto file = Open("parent");
  pid_t child = ::fork();
  if (child == 0) ::_exit(file->Take().status().code() == StatusCode::kInvalid ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(LeaseFileTest, RefusesAFileOfALaterRelease) {
  Open("a");
  auto database = sqlite::Database::Open(folder_ + "/leases", {sqlite::Mode::kReadWrite});
  ASSERT_TRUE(database->Execute("PRAGMA user_version=9").ok());
  EXPECT_EQ(LeaseFile::Open(OptionsOf("a")).status().code(), StatusCode::kUnsupported);
}

TEST_F(LeaseFileTest, TakesNoTimesFromBeforeTheHostWasStartedAnew) {
  auto file = Open("a");
  ASSERT_TRUE(file->Take().ok());
  auto database = sqlite::Database::Open(folder_ + "/leases", {sqlite::Mode::kReadWrite});
  ASSERT_TRUE(database->Execute("UPDATE epochs SET boot = 'before'").ok());
  EXPECT_EQ(Open("b")->Take()->lease->first, 0U);
}

}  // namespace
}  // namespace forebay::leases
