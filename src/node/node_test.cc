#include "node/node.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "source/faulty_source.h"
#include "source/memory_source.h"
#include "support/full_table.h"
#include "support/no_threads.h"
#include "support/temp_folder.h"
#include "wire/unix_socket.h"

namespace forebay::node {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

// A reader whose socket is made before it connects: that needs no descriptor.
class Reader {
 public:
  Reader() : channel_(wire::NewUnixSocket()) {}

  void Connect(const std::string& path) {
    sockaddr_un address = wire::UnixAddress(path).ValueOrDie();
    FB_CHECK(::connect(channel_.fd(), reinterpret_cast<sockaddr*>(&address),
                       sizeof(address)) == 0);
  }
  wire::Envelope Receive() {
    return wire::Decode(channel_.Receive(Soon()).ValueOrDie().bytes).ValueOrDie();
  }
  void Send(wire::Message message) {
    FB_CHECK(channel_.Send(wire::Encode({++sent_, std::move(message)}), {}, Soon()).ok());
  }
  // Without a word.
  bool WasHungUpOn() {
    return channel_.Receive(Soon()).status().code() == StatusCode::kUnavailable;
  }
  wire::Message Ask(wire::Message message) {
    Send(std::move(message));
    wire::Envelope answer = Receive();
    EXPECT_EQ(answer.request, sent_);
    return answer.message;
  }
  bool IsServed() { return std::holds_alternative<wire::Welcome>(Ask(wire::Hello{})); }
  // What it is told that was not served.
  Status Refusal() {
    wire::Envelope said = Receive();
    EXPECT_EQ(said.request, 0U);
    Status why = std::get<wire::Failure>(said.message).status;
    EXPECT_EQ(channel_.Receive(Soon()).status().code(), StatusCode::kUnavailable);
    return why;
  }

 private:
  wire::Channel channel_;
  uint64_t sent_ = 0;
};

class NodeTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (ran_.valid()) {
      node_->Stop();
      EXPECT_TRUE(ran_.get().ok());
    }
    node_.reset();
  }

  Node::Options Options() const {
    Node::Options options;
    options.socket_path = path_;
    options.store = model::ParseStoreSpec("mem:64MiB").ValueOrDie();
    options.engine.fill_threads = 1;
    options.engine.read_threads = 1;
    return options;
  }
  void Start(Node::Options options) {
    node_ = Node::Start(std::move(options)).ValueOrDie();
    ran_ = std::async(std::launch::async, [this] { return node_->Run(); });
  }
  bool Runs() {
    return ran_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
  }

  testing_support::TempFolder folder_;
  const std::string directory_ = folder_.path();
  const std::string path_ = directory_ + "/s";
  std::unique_ptr<Node> node_;
  std::future<Status> ran_;
};

TEST_F(NodeTest, EndsSoonWhileAPlanWaitsForASourceThatHangs) {
  auto source =
      std::make_shared<source::FaultySource>(std::make_shared<source::MemorySource>());
  source->Add({.call = source::Call::kList, .hang = true});
  source->Add({.call = source::Call::kStat, .hang = true});
  Node::Options options = Options();
  options.engine.open_source = [&](const std::string&, const source::Options&) {
    return Result<std::shared_ptr<source::Source>>(source);
  };
  Start(std::move(options));
  Reader reader;
  reader.Connect(path_);
  ASSERT_TRUE(reader.IsServed());
  reader.Send(wire::Open{.uri = "mem://b/events", .options = {}, .timeout_ms = 10'000});
  while (source->fired() == 0) std::this_thread::yield();
  auto start = std::chrono::steady_clock::now();
  node_->Stop();
  EXPECT_TRUE(ran_.get().ok());
  node_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
  EXPECT_TRUE(reader.WasHungUpOn()) << "it is to look for the next node";
}

TEST_F(NodeTest, WithoutADescriptorForAReaderTellsItAndServesTheOthers) {
  Start(Options());
  Reader before;
  Reader refused;
  Reader after;
  before.Connect(path_);
  ASSERT_TRUE(before.IsServed());
  {
    testing_support::FullTable limit;
    refused.Connect(path_);
    Status why = refused.Refusal();
    EXPECT_EQ(why.code(), StatusCode::kFull);
    EXPECT_NE(why.message().find("ulimit -n"), std::string::npos) << why;
  }
  {
    // A new limit: the node may still be taking back the descriptor it refused with.
    testing_support::FullTable limit;
    // The answer needs a descriptor: that request fails, and no more.
    auto answer = before.Ask(wire::GetStatus{});
    EXPECT_EQ(std::get<wire::Failure>(answer).status.code(), StatusCode::kFull);
    EXPECT_TRUE(Runs());
  }
  EXPECT_TRUE(std::holds_alternative<wire::Text>(before.Ask(wire::GetStatus{})));
  after.Connect(path_);
  EXPECT_TRUE(after.IsServed());
}

TEST_F(NodeTest, WithoutAThreadForAReaderTellsItAndServesTheOthers) {
  Start(Options());
  Reader before;
  Reader refused;
  Reader after;
  before.Connect(path_);
  ASSERT_TRUE(before.IsServed());
  {
    testing_support::NoThreads limit;
    refused.Connect(path_);
    Status why = refused.Refusal();
    EXPECT_EQ(why.code(), StatusCode::kFull);
    EXPECT_NE(why.message().find("ulimit -u"), std::string::npos) << why;
    EXPECT_TRUE(std::holds_alternative<wire::Text>(before.Ask(wire::GetStatus{})));
    EXPECT_TRUE(Runs());
  }
  after.Connect(path_);
  EXPECT_TRUE(after.IsServed());
  EXPECT_EQ(node_->reader_count(), 2U);
}

TEST_F(NodeTest, IsNotKeptByWhoOnlyAsksHowItIs) {
  auto options = Options();
  options.idle_timeout = milliseconds(1);
  node_ = Node::Start(std::move(options)).ValueOrDie();
  Reader asking;
  asking.Connect(path_);
  ran_ = std::async(std::launch::async, [this] { return node_->Run(); });
  // It stays connected; the node leaves all the same.
  ASSERT_EQ(ran_.wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_F(NodeTest, IsKeptByWhoUsesIt) {
  auto options = Options();
  options.idle_timeout = milliseconds(50);
  Start(std::move(options));
  Reader user;
  user.Connect(path_);
  ASSERT_TRUE(user.IsServed());
  // A question about a view, even one that is not there, is use.
  user.Ask(wire::GetCoverage{.view = 0});
  // Several looks at the clock pass while others come and go.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ran_.wait_for(milliseconds(100)), std::future_status::timeout);
  }
  EXPECT_TRUE(std::holds_alternative<wire::Text>(user.Ask(wire::GetStatus{})));
}

TEST_F(NodeTest, ListsReadersButNotThoseWhoOnlyAskForItsStatus) {
  Start(Options());
  Reader user;
  Reader asking;
  user.Connect(path_);
  asking.Connect(path_);
  ASSERT_TRUE(user.IsServed());
  ASSERT_TRUE(asking.IsServed());
  asking.Ask(wire::GetStatus{});
  auto readers = [&] {
    return nlohmann::json::parse(node_->StatusJson())["readers"].size();
  };
  EXPECT_EQ(readers(), 0U);
  user.Ask(wire::GetCoverage{.view = 0});
  EXPECT_EQ(readers(), 1U);
}

TEST_F(NodeTest, SaysWhereItsLogIs) {
  auto options = Options();
  options.log_path = "/tmp/x.log";
  node_ = Node::Start(std::move(options)).ValueOrDie();
  EXPECT_NE(node_->StatusJson().find("\"log\":\"/tmp/x.log\""), std::string::npos);
}

TEST_F(NodeTest, YieldsToANodeThatServesItsSocket) {
  Start(Options());
  EXPECT_EQ(Node::Start(Options()).status().code(), StatusCode::kUnavailable);
  Reader reader;
  reader.Connect(path_);
  EXPECT_TRUE(reader.IsServed());
}

}  // namespace
}  // namespace forebay::node
