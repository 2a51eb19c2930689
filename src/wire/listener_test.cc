#include "wire/listener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "support/full_table.h"
#include "support/temp_folder.h"
#include "wire/message.h"

namespace forebay::wire {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(20)); }
Deadline Now() { return Deadline::After(milliseconds(0)); }

class ListenerTest : public testing::Test {
 protected:
  testing_support::TempFolder folder_;
  const std::string directory_ = folder_.path();
  const std::string path_ = directory_ + "/s";
};

TEST_F(ListenerTest, AcceptsAndTellsWhoIsThere) {
  Listener listener = Listener::At(path_).ValueOrDie();
  EXPECT_FALSE(listener.Accept(Now()).ValueOrDie().has_value());
  Channel client = Channel::Connect(path_).ValueOrDie();
  auto server = listener.Accept(Soon()).ValueOrDie();
  ASSERT_TRUE(server.has_value());
  EXPECT_EQ(server->PeerUser().ValueOrDie(), ::geteuid());
  EXPECT_EQ(client.PeerPid().ValueOrDie(), ::getpid());
  ASSERT_TRUE(client.Send("hello", {}, Soon()).ok());
  EXPECT_EQ(server->Receive(Soon()).ValueOrDie().bytes, "hello");
  ASSERT_TRUE(server->Send("welcome", {}, Soon()).ok());
  EXPECT_EQ(client.Receive(Soon()).ValueOrDie().bytes, "welcome");
}

TEST_F(ListenerTest, WaitsForAClientUntilTheDeadline) {
  Listener listener = Listener::At(path_).ValueOrDie();
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(listener.Accept(Deadline::After(milliseconds(30))).ValueOrDie());
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(30));
}

TEST_F(ListenerTest, TellsAClientThatItHasNoDescriptorForIt) {
  Listener listener = Listener::At(path_).ValueOrDie();
  Channel earlier = Channel::Connect(path_).ValueOrDie();
  auto served = listener.Accept(Soon()).ValueOrDie();
  ASSERT_TRUE(served.has_value());
  Channel client = Channel::Connect(path_).ValueOrDie();
  {
    testing_support::FullTable limit;
    EXPECT_EQ(listener.Accept(Soon()).status().code(), StatusCode::kFull);
    EXPECT_FALSE(listener.Accept(Now()).ValueOrDie().has_value()) << "it is gone";
  }
  auto said = Decode(client.Receive(Soon()).ValueOrDie().bytes).ValueOrDie();
  EXPECT_EQ(said.request, 0U);
  auto& failure = std::get<Failure>(said.message);
  EXPECT_EQ(failure.status.code(), StatusCode::kFull);
  EXPECT_NE(failure.status.message().find("ulimit -n"), std::string::npos);
  EXPECT_EQ(client.Receive(Soon()).status().code(), StatusCode::kUnavailable);
  // Who was there before goes on, and the next one is served.
  ASSERT_TRUE(earlier.Send("hello", {}, Soon()).ok());
  EXPECT_EQ(served->Receive(Soon()).ValueOrDie().bytes, "hello");
  Channel next = Channel::Connect(path_).ValueOrDie();
  EXPECT_TRUE(listener.Accept(Soon()).ValueOrDie().has_value());
}

TEST_F(ListenerTest, HasItsReserveForEveryClientItTurnsAway) {
  Listener listener = Listener::At(path_).ValueOrDie();
  std::vector<Channel> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(Channel::Connect(path_).ValueOrDie());
  }
  testing_support::FullTable limit;
  for (Channel& client : clients) {
    EXPECT_EQ(listener.Accept(Soon()).status().code(), StatusCode::kFull);
    EXPECT_TRUE(client.Receive(Soon()).ok());
  }
}

TEST_F(ListenerTest, SpeaksToClientsInTheirOwnWords) {
  auto listener =
      Listener::At(path_, [](const Status& why) { return "no: " + why.message(); });
  Channel client = Channel::Connect(path_).ValueOrDie();
  {
    testing_support::FullTable limit;
    EXPECT_FALSE(listener->Accept(Soon()).ok());
  }
  EXPECT_EQ(client.Receive(Soon()).ValueOrDie().bytes.substr(0, 9), "no: there");
}

TEST_F(ListenerTest, ClosedAcceptsNobody) {
  Listener listener = Listener::At(path_).ValueOrDie();
  EXPECT_GE(listener.fd(), 0);
  listener.Close();
  EXPECT_EQ(Channel::Connect(path_).status().code(), StatusCode::kUnavailable);
}

TEST_F(ListenerTest, IsOpenToItsUserAlone) {
  mode_t before = ::umask(0);
  auto listener = Listener::At(path_);
  ::umask(before);
  ASSERT_TRUE(listener.ok());
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST_F(ListenerTest, ThatIsMissingOrDeadIsNobody) {
  EXPECT_EQ(Channel::Connect(path_).status().code(), StatusCode::kNotFound);
  { Listener listener = Listener::At(path_).ValueOrDie(); }
  EXPECT_EQ(Channel::Connect(path_).status().code(), StatusCode::kUnavailable);
}

TEST_F(ListenerTest, RefusesAPathThatIsTooLong) {
  size_t longest = sizeof(sockaddr_un{}.sun_path) - 1;
  std::string path = directory_ + "/" + std::string(longest - directory_.size() - 1, 'x');
  EXPECT_TRUE(Listener::At(path).ok());
  path += 'x';
  EXPECT_EQ(Listener::At(path).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(Channel::Connect(path).status().code(), StatusCode::kInvalid);
}

TEST_F(ListenerTest, DoesNotTakeASocketThatIsThere) {
  Listener listener = Listener::At(path_).ValueOrDie();
  EXPECT_FALSE(Listener::At(path_).ok());
  EXPECT_TRUE(Channel::Connect(path_).ok());
}

}  // namespace
}  // namespace forebay::wire
