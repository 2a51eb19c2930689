#include "reader/node_launcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include "base/process_lock.h"
#include "support/temp_folder.h"
#include "wire/listener.h"

namespace forebay::reader {
namespace {

// Forked processes that do nothing and keep all they were born with, until they are
// ended.
class Idlers {
 public:
  ~Idlers() {
    for (pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  void Fork() {
    pid_t pid = ::fork();
    if (pid == 0) {
      for (;;) ::pause();
    }
    pids_.push_back(pid);
  }

 private:
  std::vector<pid_t> pids_;
};

class NodeLauncherTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
    ::unsetenv("FOREBAY_NODE");
    options_.store = "mem:64MiB";
    socket_ = PrivateSocket(ResolveStore(options_).ValueOrDie()).ValueOrDie();
  }

  // What is run instead of forebay-node.
  void MakeNode(const std::string& script) {
    options_.node_binary = directory_ + "/node";
    std::ofstream(options_.node_binary) << "#!/bin/sh\n" << script << "\n";
    ::chmod(options_.node_binary.c_str(), 0700);
  }
  // One that waits for a word in the fifo and then fails.
  void MakeSlowNode() {
    fifo_ = directory_ + "/fifo";
    ASSERT_EQ(::mkfifo(fifo_.c_str(), 0600), 0);
    MakeNode("read word < " + fifo_ + "; echo no luck >&2; exit 1");
  }
  Status Connect(Deadline deadline) const {
    return ConnectToNode(options_, deadline).status();
  }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

  testing_support::TempFolder folder_;
  const std::string directory_ = folder_.path();
  std::string socket_;
  std::string fifo_;
  NodeOptions options_;
};

const Status kNoLuck = Status::Invalid("the node did not start: no luck");

TEST_F(NodeLauncherTest, SaysWhyTheNodeDidNotStart) {
  MakeNode("echo no luck >&2; exit 1");
  EXPECT_EQ(Connect(Soon()), kNoLuck);
  MakeNode("exit 3");
  EXPECT_EQ(Connect(Soon()),
            Status::Permission("the node did not start: it said nothing"));
}

TEST_F(NodeLauncherTest, CutsWhatANodeSaysAndWaitsForItsEnd) {
  // More than a pipe holds: who did not read it would wait for ever.
  MakeNode("head -c 300000 /dev/zero | tr '\\0' x >&2; exit 1");
  Status status = Connect(Soon());
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_EQ(status.message(), "the node did not start: " + std::string(4096, 'x'));
}

TEST_F(NodeLauncherTest, FindsANodeThatRuns) {
  wire::Listener listener = wire::Listener::At(socket_).ValueOrDie();
  MakeNode("exit 1");
  EXPECT_EQ(Connect(Soon()), Status::OK());
}

// A process that another thread forks while the node is started lives for as long as it
// likes.
TEST_F(NodeLauncherTest, StartIsNotHeldUpByAProcessForkedMeanwhile) {
  MakeSlowNode();
  Deadline deadline = Soon();
  auto first = std::async(std::launch::async, [&] { return Connect(deadline); });
  UniqueFd word(::open(fifo_.c_str(), O_WRONLY | O_CLOEXEC));  // once the node runs
  Idlers idlers;
  idlers.Fork();
  ASSERT_EQ(::write(word.get(), "go\n", 3), 3);
  word.Reset();
  EXPECT_EQ(first.get(), kNoLuck);
  MakeNode("echo no luck >&2; exit 1");
  EXPECT_EQ(Connect(deadline), kNoLuck);
  EXPECT_FALSE(deadline.passed());
}

TEST_F(NodeLauncherTest, StartIsNotHeldUpByTheChildOfAKilledProcess) {
  MakeSlowNode();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd until_closed(ends[0]);
  UniqueFd until_the_end(ends[1]);  // of this test
  pid_t starter = ::fork();
  if (starter == 0) {
    until_the_end.Reset();
    // Its child has all it had while it held the lock.
    std::thread([&] { (void)Connect(Soon()); }).detach();
    UniqueFd word(::open(fifo_.c_str(), O_WRONLY | O_CLOEXEC));
    if (::fork() > 0) ::_exit(0);
    char byte;
    (void)!::read(until_closed.get(), &byte, 1);
    ::_exit(0);
  }
  int code = 0;
  ASSERT_EQ(::waitpid(starter, &code, 0), starter);
  MakeNode("echo no luck >&2; exit 1");
  Deadline deadline = Deadline::After(std::chrono::seconds(30));
  EXPECT_EQ(Connect(deadline), kNoLuck);
  EXPECT_FALSE(deadline.passed());
}

TEST_F(NodeLauncherTest, StartsWhileAnotherThreadForksAndForks) {
  MakeNode("echo no luck >&2; exit 1");
  std::atomic<bool> done = false;
  Idlers idlers;
  auto forks = std::async(std::launch::async, [&] {
    for (int i = 0; i < 100 && !done; ++i) idlers.Fork();
  });
  Deadline deadline = Soon();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Connect(deadline), kNoLuck);
  EXPECT_FALSE(deadline.passed());
  done = true;
  forks.get();
}

TEST_F(NodeLauncherTest, WaitsForAnotherStartUntilTheDeadlineOrAnInterrupt) {
  MakeNode("echo no luck >&2; exit 1");
  auto lock = ProcessLock::Try(socket_ + ".start").ValueOrDie();
  ASSERT_TRUE(lock.has_value());
  EXPECT_EQ(Connect(Deadline::After(milliseconds(30))).code(), StatusCode::kDeadline);
  options_.interrupted = [] { return true; };
  EXPECT_EQ(Connect(Soon()).code(), StatusCode::kCancelled);
  // Whoever waited finds the node that the other started.
  std::optional<wire::Listener> listener;
  options_.interrupted = [&] {
    if (!listener) listener = wire::Listener::At(socket_).ValueOrDie();
    lock.reset();
    return false;
  };
  EXPECT_EQ(Connect(Soon()), Status::OK());
}

TEST_F(NodeLauncherTest, GivesUpOnANodeThatNeverComesUp) {
  MakeNode("exec sleep 60");
  EXPECT_EQ(Connect(Deadline::After(milliseconds(100))).code(), StatusCode::kDeadline);
}

TEST_F(NodeLauncherTest, TriesANamedNodeOnceAndNamesIt) {
  options_.socket = directory_ + "/mine";
  MakeNode("exit 1");
  Status status = Connect(Soon());
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(options_.socket), std::string::npos) << status;
}

TEST_F(NodeLauncherTest, IsPatientWithANamedNodeOfWhichThereIsATrace) {
  Deadline hour = Deadline::After(std::chrono::hours(1));
  EXPECT_TRUE(PatienceFor(options_, hour).passed()) << "a private node is started";
  options_.socket = directory_ + "/mine";
  EXPECT_LE(PatienceFor(options_, hour).Remaining(), std::chrono::seconds(30));
  EXPECT_GT(PatienceFor(options_, hour).Remaining(), std::chrono::seconds(20));
  Deadline short_time = Deadline::After(std::chrono::seconds(3));
  EXPECT_LE(PatienceFor(options_, short_time).Remaining(), std::chrono::seconds(3));
  for (const char* trace : {"", ".lock"}) {
    std::ofstream(options_.socket + trace) << "x";
    EXPECT_GT(PatienceFor(options_, hour).Remaining(), std::chrono::minutes(59));
    std::filesystem::remove(options_.socket + trace);
  }
  ::setenv("FOREBAY_NODE", "/from/environment", 1);
  EXPECT_EQ(GivenSocket(options_), options_.socket);
  options_.socket.clear();
  EXPECT_EQ(GivenSocket(options_), "/from/environment");
  ::unsetenv("FOREBAY_NODE");
  EXPECT_EQ(GivenSocket(options_), "");
}

}  // namespace
}  // namespace forebay::reader
