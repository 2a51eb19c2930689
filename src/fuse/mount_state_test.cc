#include "fuse/mount_state.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "fuse/supervisor_link.h"

namespace forebay::fuse {
namespace {

namespace fs = std::filesystem;

// A runtime directory of its own.
class MountStateTest : public ::testing::Test {
 protected:
  MountStateTest() {
    char name[] = "/tmp/fb-state-XXXXXX";
    runtime_ = ::mkdtemp(name);
    ::setenv("XDG_RUNTIME_DIR", runtime_.c_str(), 1);
  }
  ~MountStateTest() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(runtime_);
  }
  size_t Folders() {
    fs::directory_iterator all(runtime_ + "/forebay/mounts");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
  std::string runtime_;
};

TEST_F(MountStateTest, APlaceIsClaimedOnce) {
  auto first = MountState::Claim("/mnt/a").ValueOrDie();
  auto second = MountState::Claim("/mnt/a");
  EXPECT_EQ(second.status().code(), StatusCode::kInvalid);
  EXPECT_TRUE(MountState::Claim("/mnt/b").ok());
  first.reset();
  EXPECT_TRUE(MountState::Claim("/mnt/a").ok());
}

TEST_F(MountStateTest, TheFolderGoesWithTheMount) {
  auto state = MountState::Claim("/mnt/a").ValueOrDie();
  ASSERT_TRUE(state->WriteServing(77).ok());
  ASSERT_TRUE(state->MarkMounted().ok());
  EXPECT_EQ(*ServingPid("/mnt/a"), 77);
  EXPECT_TRUE(IsSupervised("/mnt/a"));
  state.reset();
  EXPECT_EQ(Folders(), 0);
  EXPECT_FALSE(IsSupervised("/mnt/a"));
  EXPECT_EQ(ServingPid("/mnt/a").status().code(), StatusCode::kNotFound);
}

TEST_F(MountStateTest, OneThatWasTakenAwayAndLivesIsMovedAside) {
  auto lingers = MountState::Claim("/mnt/a").ValueOrDie();
  ASSERT_TRUE(lingers->MarkMounted().ok());  // and in no table of mounts
  std::string socket = lingers->socket_path();
  auto next = MountState::Claim("/mnt/a").ValueOrDie();
  EXPECT_EQ(next->socket_path(), socket);
  EXPECT_NE(lingers->socket_path(), socket);
  ASSERT_TRUE(lingers->WriteServing(1).ok());
  ASSERT_TRUE(next->WriteServing(2).ok());
  EXPECT_EQ(*ServingPid("/mnt/a"), 2);
  lingers.reset();
  EXPECT_EQ(*ServingPid("/mnt/a"), 2);
  EXPECT_EQ(Folders(), 1);
}

TEST_F(MountStateTest, AFolderThatIsGoneIsNotMadeAnew) {
  auto state = MountState::Claim("/mnt/a").ValueOrDie();
  fs::remove_all(runtime_ + "/forebay/mounts");
  EXPECT_FALSE(state->WriteServing(1).ok());
}

TEST_F(MountStateTest, NobodyIsAskedWhereNothingIsMounted) {
  auto answer = AskMount("/mnt/a", "refresh", milliseconds(100));
  EXPECT_EQ(answer.status().code(), StatusCode::kNotFound);
}

TEST(SupervisorLink, AnotherVersionIsNotUnderstood) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
  SupervisorLink one{UniqueFd(ends[0])}, other{UniqueFd(ends[1])};
  ASSERT_TRUE(one.Send({.say = Say::kReady, .value = 5}, {}, "text").ok());
  Letter letter = other.Receive().ValueOrDie();
  EXPECT_EQ(letter.message.value, 5);
  EXPECT_EQ(letter.text, "text");
  ASSERT_TRUE(one.Send({.version = kLinkVersion + 1, .say = Say::kReady}).ok());
  EXPECT_EQ(other.Receive().status().code(), StatusCode::kUnsupported);
}

TEST(SupervisorLink, AQuestionThatIsNotAnsweredEndsTheLink) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
  SupervisorLink asks{UniqueFd(ends[0]), milliseconds(10)}, other{UniqueFd(ends[1])};
  EXPECT_EQ(asks.Call({.say = Say::kVersion}).status().code(), StatusCode::kDeadline);
  EXPECT_EQ(asks.Call({.say = Say::kVersion}).status().code(), StatusCode::kUnavailable);
}

TEST(SupervisorLink, DescriptorsThatDidNotArriveAreToldToWhoSentThem) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
  SupervisorLink asks{UniqueFd(ends[0])}, other{UniqueFd(ends[1])};
  ASSERT_TRUE(other.Send({.say = Say::kDone, .flags = kFlagFull}).ok());
  EXPECT_EQ(asks.Call({.say = Say::kVersion}).status().code(), StatusCode::kFull);
}

}  // namespace
}  // namespace forebay::fuse
