// Many processes that share a lease table while they are killed, stopped beyond their
// leases and woken again. Every process writes down what it is about to acknowledge and
// what came of it, so that each row can be accounted for.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "leases/lease_file.h"

namespace forebay::leases {
namespace {

constexpr uint64_t kRows = 100'000;
constexpr milliseconds kLeaseTime{80};
constexpr int kHolders = 6;
constexpr milliseconds kTimeMax{60'000};

LeaseFile::Options OptionsOf(const std::string& folder) {
  return {.path = folder + "/leases",
          .epoch = "e",
          .rows = kRows,
          .lease_rows = 150,
          .lease_time = kLeaseTime,
          .holder = fmt::format("{}", ::getpid()),
          .busy_timeout = milliseconds(20'000)};
}

// The life of a holder; ends when nothing is left.
class Holder {
 public:
  Holder(const std::string& folder, uint64_t seed) : folder_(folder), random_(seed) {
    std::string path = fmt::format("{}/log.{}", folder, ::getpid());
    log_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  }

  int Run() {
    auto file = LeaseFile::Open(OptionsOf(folder_));
    if (!file.ok()) return Fail(file.status());
    for (;;) {
      auto grant = (*file)->Take();
      if (!grant.ok()) return Fail(grant.status());
      if (grant->finished) return 0;
      if (!grant->lease) {
        Sleep(std::min(milliseconds(5), (*file)->Until(grant->retry_ms)));
        continue;
      }
      Status status = Work(**file, *grant->lease);
      if (!status.ok() && status.code() != StatusCode::kChanged) return Fail(status);
    }
  }

 private:
  Status Work(LeaseFile& file, plan::Lease lease) {
    while (lease.count > 0) {
      Sleep(milliseconds(random_() % 4));
      uint64_t count = std::min<uint64_t>(lease.count, random_() % 60 + 1);
      uint64_t until = lease.first + count;
      Log("I", lease.first, until);
      Status status = file.Acknowledge(lease.fence, until);
      Log(status.ok() ? "D" : "R", lease.first, until);
      FB_RETURN_NOT_OK(status);
      lease.first = until;
      lease.count -= count;
    }
    return Status::OK();
  }
  void Log(const char* what, uint64_t first, uint64_t until) {
    std::string line = fmt::format("{} {} {}\n", what, first, until);
    if (::write(log_, line.data(), line.size()) < 0) ::_exit(3);
  }
  static void Sleep(milliseconds time) { std::this_thread::sleep_for(time); }
  static int Fail(const Status& status) {
    fmt::print(stderr, "holder: {}\n", status.ToString());
    return 2;
  }

  std::string folder_;
  std::mt19937_64 random_;
  int log_;
};

// Starts holders, and kills, stops and wakes them.
class Tormentor {
 public:
  Tormentor(std::string folder, uint64_t seed)
      : folder_(std::move(folder)), random_(seed) {}

  void Run() {
    for (int i = 0; i < kHolders; ++i) Start();
    Deadline deadline = Deadline::After(kTimeMax);
    while (!holders_.empty() && !deadline.passed()) {
      std::this_thread::sleep_for(milliseconds(4));
      Wake();
      Reap();
      if (!holders_.empty() && ended_ == 0) Torment();
      if (ended_ > 0) WakeAll();
    }
    EXPECT_TRUE(holders_.empty()) << "holders did not end in time";
    for (const auto& [pid, until] : holders_) ::kill(pid, SIGKILL);
  }

  int kills = 0;
  int stops = 0;

 private:
  void Start() {
    uint64_t seed = random_();
    pid_t child = ::fork();
    if (child == 0) ::_exit(Holder(folder_, seed).Run());
    holders_.emplace(child, TimePoint::min());
  }
  void Torment() {
    auto victim =
        std::next(holders_.begin(), static_cast<int>(random_() % holders_.size()));
    switch (random_() % 10) {
      case 0:
        ::kill(victim->first, SIGKILL);
        ++kills;
        return Start();
      case 1:
        if (victim->second != TimePoint::min()) return;
        ::kill(victim->first, SIGSTOP);
        victim->second = Clock::Real().Now() + kLeaseTime * 2;
        ++stops;
        return;
      default: return;
    }
  }
  void Wake() {
    for (auto& [pid, until] : holders_) {
      if (until == TimePoint::min() || Clock::Real().Now() < until) continue;
      ::kill(pid, SIGCONT);
      until = TimePoint::min();
    }
  }
  void WakeAll() {
    for (auto& [pid, until] : holders_) ::kill(pid, SIGCONT);
  }
  void Reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      holders_.erase(pid);
      bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      EXPECT_TRUE(killed || status == 0) << status;
      ended_ += killed ? 0 : 1;
    }
  }

  std::string folder_;
  std::mt19937_64 random_;
  std::map<pid_t, TimePoint> holders_;  // and when a stopped one is woken
  int ended_ = 0;
};

struct Account {
  std::vector<int> done = std::vector<int>(kRows);
  std::vector<int> unknown = std::vector<int>(kRows);  // killed while acknowledging
  int refused = 0;
};

Account ReadLogs(const std::string& folder) {
  Account account;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("log.")) continue;
    std::ifstream file(entry.path());
    char last = 0, what = 0;
    uint64_t first = 0, until = 0;
    while (file >> what >> first >> until) {
      last = what;
      if (what == 'R') ++account.refused;
      if (what != 'D') continue;
      for (uint64_t row = first; row < until; ++row) ++account.done[row];
    }
    if (last != 'I') continue;
    for (uint64_t row = first; row < until; ++row) ++account.unknown[row];
  }
  return account;
}

TEST(LeaseProcesses, AcknowledgeEachRowOnceThroughKillsAndStalls) {
  char pattern[] = "/tmp/forebay-leases-XXXXXX";
  std::string folder = ::mkdtemp(pattern);
  uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Tormentor tormentor(folder, seed);
  tormentor.Run();
  Account account = ReadLogs(folder);
  for (uint64_t row = 0; row < kRows; ++row) {
    ASSERT_LE(account.done[row], 1) << "row " << row;
    if (account.done[row] == 0) {
      ASSERT_GT(account.unknown[row], 0) << "row " << row;
    }
  }
  auto file = LeaseFile::Open(OptionsOf(folder));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->Progress()->acknowledged_rows, kRows);
  EXPECT_TRUE((*file)->Take()->finished);
  // The faults did happen.
  EXPECT_GT(tormentor.kills, 10);
  EXPECT_GT(tormentor.stops, 10);
  EXPECT_GT(account.refused, 2);
  RecordProperty("kills", tormentor.kills);
  RecordProperty("refused", account.refused);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace forebay::leases
