#include "base/process_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "support/temp_folder.h"

namespace forebay {
namespace {

// A forked process that runs `body`, tells that it did, and lives until it is ended.
class Forked {
 public:
  explicit Forked(const std::function<void()>& body) {
    int ends[2];
    FB_CHECK(::pipe(ends) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      body();
      FB_CHECK(::write(ends[1], "x", 1) == 1);
      for (;;) ::pause();
    }
    char byte = 0;
    FB_CHECK(::read(ends[0], &byte, 1) == 1);
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Forked() { End(); }
  void End() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

class ProcessLockTest : public testing::Test {
 protected:
  bool IsFree() const { return ProcessLock::Try(path_).ValueOrDie().has_value(); }

  testing_support::TempFolder folder_;
  const std::string directory_ = folder_.path();
  const std::string path_ = directory_ + "/lock";
};

TEST_F(ProcessLockTest, ExcludesThreadsUntilItEnds) {
  {
    auto lock = ProcessLock::Try(path_).ValueOrDie();
    ASSERT_TRUE(lock.has_value());
    bool free = true;
    std::thread([&] { free = IsFree(); }).join();
    EXPECT_FALSE(free);
    EXPECT_FALSE(IsFree()) << "a failed try let go of it";
    ProcessLock moved = *std::move(lock);
    lock.reset();
    EXPECT_FALSE(IsFree()) << "what was moved from let go of it";
  }
  EXPECT_TRUE(IsFree());
  EXPECT_TRUE(IsFree());
}

TEST_F(ProcessLockTest, ExcludesProcessesUntilTheirEnd) {
  std::optional<ProcessLock> lock;
  Forked holder([&] {
    auto got = ProcessLock::Try(path_).ValueOrDie();
    FB_CHECK(got.has_value());
    new ProcessLock(*std::move(got));
  });
  EXPECT_FALSE(IsFree());
  holder.End();
  EXPECT_TRUE(IsFree());
}

TEST_F(ProcessLockTest, IsNotKeptByAProcessForkedMeanwhile) {
  auto lock = ProcessLock::Try(path_).ValueOrDie();
  ASSERT_TRUE(lock.has_value());
  Forked child([] {});
  lock.reset();
  EXPECT_TRUE(IsFree());
}

TEST_F(ProcessLockTest, OfAKilledProcessIsNotKeptByItsChild) {
  pid_t grandchild = 0;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Forked holder([&] {
    auto got = ProcessLock::Try(path_).ValueOrDie();
    new ProcessLock(*std::move(got));
    pid_t child = ::fork();
    if (child == 0) {
      for (;;) ::pause();
    }
    FB_CHECK(::write(ends[1], &child, sizeof(child)) == sizeof(child));
  });
  ASSERT_EQ(::read(ends[0], &grandchild, sizeof(grandchild)),
            static_cast<ssize_t>(sizeof(grandchild)));
  EXPECT_FALSE(IsFree());
  holder.End();
  EXPECT_TRUE(IsFree());
  ::kill(grandchild, SIGKILL);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(ProcessLockTest, IsForAForkedChildToTakeOnceItsParentLetGo) {
  auto lock = ProcessLock::Try(path_).ValueOrDie();
  ASSERT_TRUE(lock.has_value());
  pid_t child = ::fork();
  if (child == 0) {
    // The thread that held it in the parent is not here; the file says who does.
    bool first = IsFree();
    ::_exit(first ? 1 : 0);
  }
  int code = 0;
  ::waitpid(child, &code, 0);
  EXPECT_EQ(WEXITSTATUS(code), 0) << "the child took its parent's lock";
  lock.reset();
  child = ::fork();
  if (child == 0) ::_exit(IsFree() ? 0 : 1);
  ::waitpid(child, &code, 0);
  EXPECT_EQ(WEXITSTATUS(code), 0) << "nobody holds it";
}

TEST_F(ProcessLockTest, SaysWhenTheFileCannotBeOpened) {
  EXPECT_EQ(ProcessLock::Try(directory_ + "/none/lock").status().code(),
            StatusCode::kNotFound);
  // And keeps nobody from the next try.
  EXPECT_EQ(ProcessLock::Try(directory_ + "/none/lock").status().code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace forebay
