#include "cli/node/node_stop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::cli {
namespace {

const std::vector<RunningNode> kTwo = {{12, "/run/a.sock"}, {345, "/run/b.sock"}};

std::vector<pid_t> Pids(const std::vector<RunningNode>& nodes) {
  std::vector<pid_t> pids;
  for (const RunningNode& node : nodes) pids.push_back(node.pid);
  return pids;
}

TEST(NodeStop, EndsTheOneThatWasNamed) {
  EXPECT_EQ(Pids(ChooseNodes(kTwo, {.node = "12"}).ValueOrDie()), std::vector<pid_t>{12});
  EXPECT_EQ(Pids(ChooseNodes(kTwo, {.node = "/run/b.sock"}).ValueOrDie()),
            std::vector<pid_t>{345});
}

TEST(NodeStop, EndsNobodyElse) {
  for (const char* other : {"1", "34", "3450", "/run/c.sock", "b"}) {
    Status status = ChooseNodes(kTwo, {.node = other}).status();
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_NE(status.message().find(other), std::string::npos);
  }
}

TEST(NodeStop, WithoutANameEndsTheOnlyOneAndNeverOneOfSeveral) {
  EXPECT_EQ(Pids(ChooseNodes({kTwo[1]}, {}).ValueOrDie()), std::vector<pid_t>{345});
  EXPECT_TRUE(ChooseNodes({}, {}).ValueOrDie().empty());
  Status status = ChooseNodes(kTwo, {}).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_EQ(status.message(), "2 nodes run: name one of 12, 345, or give --all");
}

TEST(NodeStop, EndsAllOnlyWhenTold) {
  EXPECT_EQ(ChooseNodes(kTwo, {.all = true}).ValueOrDie().size(), 2U);
  EXPECT_TRUE(ChooseNodes({}, {.all = true}).ValueOrDie().empty());
}

TEST(StopNode, WaitsUntilTheProcessHasEnded) {
  pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  Status status = StopNode({pid, "/s"}, Deadline::After(std::chrono::seconds(30)));
  EXPECT_TRUE(status.ok()) << status;
  int code = 0;
  ASSERT_EQ(::waitpid(pid, &code, WNOHANG), pid);
  EXPECT_EQ(WTERMSIG(code), SIGTERM);
  EXPECT_TRUE(StopNode({pid, "/s"}, Deadline::After(milliseconds(0))).ok()) << "gone";
}

TEST(StopNode, SaysWhichProcessDoesNotEnd) {
  pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  // Stopped for sure: of two pending signals the one with the lower number comes first.
  ::kill(pid, SIGSTOP);
  ASSERT_EQ(::waitpid(pid, nullptr, WUNTRACED), pid);
  Status status = StopNode({pid, "/s"}, Deadline::After(milliseconds(10)));
  EXPECT_EQ(status.code(), StatusCode::kDeadline);
  EXPECT_NE(status.message().find(std::to_string(pid)), std::string::npos);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

TEST(StopNode, OfAnotherContainerIsNotOursToEnd) {
  EXPECT_EQ(StopNode({0, "/s"}, Deadline::After(milliseconds(0))).code(),
            StatusCode::kUnsupported);
}

}  // namespace
}  // namespace forebay::cli
