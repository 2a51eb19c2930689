#include "wire/channel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>

namespace forebay::wire {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(20)); }
Deadline Now() { return Deadline::After(milliseconds(0)); }

struct Pair {
  Channel a;
  Channel b;
};

Pair Connected() {
  int ends[2];
  int type = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
  FB_CHECK(::socketpair(AF_UNIX, type, 0, ends) == 0);
  return {Channel(UniqueFd(ends[0])), Channel(UniqueFd(ends[1]))};
}

UniqueFd MemoryFile(std::string_view text) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  FB_CHECK(::write(fd.get(), text.data(), text.size()) ==
           static_cast<ssize_t>(text.size()));
  return fd;
}

std::string Contents(const UniqueFd& fd) {
  char text[64] = {};
  ssize_t n = ::pread(fd.get(), text, sizeof(text), 0);
  return {text, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

size_t OpenFds() {
  auto fds = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(fds), end(fds)));
}

TEST(Channel, KeepsMessagesApartAndInOrder) {
  auto [a, b] = Connected();
  ASSERT_TRUE(a.Send("one", {}, Soon()).ok());
  ASSERT_TRUE(a.Send("two and more", {}, Soon()).ok());
  EXPECT_EQ(b.Receive(Soon()).ValueOrDie().bytes, "one");
  EXPECT_EQ(b.Receive(Soon()).ValueOrDie().bytes, "two and more");
}

TEST(Channel, PassesDescriptorsInOrder) {
  auto [a, b] = Connected();
  UniqueFd x = MemoryFile("x");
  UniqueFd y = MemoryFile("y");
  ASSERT_TRUE(a.Send("files", {x.get(), y.get()}, Soon()).ok());
  Packet packet = b.Receive(Soon()).ValueOrDie();
  ASSERT_EQ(packet.fds.size(), 2);
  EXPECT_EQ(Contents(packet.fds[0]), "x");
  EXPECT_EQ(Contents(packet.fds[1]), "y");
  // A program that this process starts must not inherit chunks.
  EXPECT_EQ(::fcntl(packet.fds[0].get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Channel, CarriesTheLargestMessageWithTheMostDescriptors) {
  auto [a, b] = Connected();
  UniqueFd file = MemoryFile("f");
  std::string bytes(kMessageBytesMax, 'm');
  ASSERT_TRUE(a.Send(bytes, std::vector<int>(kMessageFdsMax, file.get()), Soon()).ok());
  Packet packet = b.Receive(Soon()).ValueOrDie();
  EXPECT_EQ(packet.bytes, bytes);
  EXPECT_EQ(packet.fds.size(), kMessageFdsMax);
}

TEST(Channel, RefusesToSendMoreThanAMessageHolds) {
  auto [a, b] = Connected();
  std::string large(kMessageBytesMax + 1, 'm');
  EXPECT_EQ(a.Send(large, {}, Soon()).code(), StatusCode::kInternal);
  EXPECT_EQ(a.Send("m", std::vector<int>(kMessageFdsMax + 1, 0), Soon()).code(),
            StatusCode::kInternal);
  EXPECT_FALSE(b.TryReceive().ValueOrDie().has_value());
}

TEST(Channel, TakesALargerMessageThanAllowedForCorrupt) {
  auto [a, b] = Connected();
  std::string large(kMessageBytesMax + 1, 'm');
  ASSERT_EQ(::send(a.fd(), large.data(), large.size(), 0),
            static_cast<ssize_t>(large.size()));
  EXPECT_EQ(b.Receive(Soon()).status().code(), StatusCode::kCorrupt);
}

TEST(Channel, ClosesDescriptorsThatNobodyTook) {
  auto [a, b] = Connected();
  UniqueFd file = MemoryFile("f");
  size_t before = OpenFds();
  ASSERT_TRUE(a.Send("m", {file.get(), file.get()}, Soon()).ok());
  { Packet packet = b.Receive(Soon()).ValueOrDie(); }
  EXPECT_EQ(OpenFds(), before);
}

TEST(Channel, SaysWhenDescriptorsAreLostToTheLimitOfOpenFiles) {
  auto [a, b] = Connected();
  UniqueFd file = MemoryFile("f");
  ASSERT_TRUE(a.Send("m", std::vector<int>(8, file.get()), Soon()).ok());
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit tight{.rlim_cur = static_cast<rlim_t>(file.get()) + 3,
               .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  Status status = b.Receive(Soon()).status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(status.code(), StatusCode::kFull) << status;
}

TEST(Channel, GivesUpReceivingAtTheDeadline) {
  auto [a, b] = Connected();
  EXPECT_EQ(b.Receive(Now()).status().code(), StatusCode::kDeadline);
  EXPECT_EQ(b.Receive(Deadline::After(milliseconds(20))).status().code(),
            StatusCode::kDeadline);
  ASSERT_TRUE(a.Send("late", {}, Soon()).ok());
  EXPECT_EQ(b.Receive(Now()).ValueOrDie().bytes, "late");
}

TEST(Channel, GivesUpSendingToAPeerThatTakesNothing) {
  auto [a, b] = Connected();
  std::string bytes(kMessageBytesMax, 'm');
  Status status;
  int sent = 0;
  for (; status.ok() && sent < 10'000; ++sent) status = a.Send(bytes, {}, Now());
  EXPECT_EQ(status.code(), StatusCode::kDeadline);
  // Nothing was lost or cut: what was taken comes out, then the channel works again.
  for (int i = 0; i < sent - 1; ++i) {
    ASSERT_EQ(b.Receive(Soon()).ValueOrDie().bytes.size(), bytes.size());
  }
  ASSERT_TRUE(a.Send("again", {}, Soon()).ok());
  EXPECT_EQ(b.Receive(Soon()).ValueOrDie().bytes, "again");
}

TEST(Channel, DeliversWhatWasSentBeforeThePeerLeft) {
  auto [a, b] = Connected();
  ASSERT_TRUE(a.Send("last words", {}, Soon()).ok());
  { Channel gone = std::move(a); }
  EXPECT_FALSE(b.PeerGone());
  EXPECT_EQ(b.Receive(Soon()).ValueOrDie().bytes, "last words");
  EXPECT_TRUE(b.PeerGone());
  EXPECT_EQ(b.Receive(Soon()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(b.TryReceive().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(b.Send("x", {}, Soon()).code(), StatusCode::kUnavailable);
}

TEST(Channel, ShutdownWakesWhoeverReceives) {
  auto [a, b] = Connected();
  Status status;
  std::thread waiting([&b = b, &status] { status = b.Receive(Soon()).status(); });
  b.Shutdown();
  waiting.join();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(a.PeerGone());
}

TEST(Channel, StandsSeveralSenders) {
  auto [a, b] = Connected();
  constexpr int kThreads = 4;
  constexpr int kEach = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&a = a, t] {
      std::string bytes(1000 + t, static_cast<char>('a' + t));
      for (int i = 0; i < kEach; ++i) ASSERT_TRUE(a.Send(bytes, {}, Soon()).ok());
    });
  }
  std::array<int, kThreads> seen{};
  for (int i = 0; i < kThreads * kEach; ++i) {
    std::string bytes = b.Receive(Soon()).ValueOrDie().bytes;
    int t = bytes[0] - 'a';
    EXPECT_EQ(bytes, std::string(1000 + t, static_cast<char>('a' + t)));
    ++seen.at(t);
  }
  for (std::thread& thread : threads) thread.join();
  for (int count : seen) EXPECT_EQ(count, kEach);
}

}  // namespace
}  // namespace forebay::wire
