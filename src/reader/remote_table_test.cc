#include "reader/remote_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "support/scripted_node.h"
#include "support/temp_folder.h"
#include "support/types_chunk.h"

namespace forebay::reader {
namespace {

using testing_support::Fields;
using testing_support::ScriptedNode;
using Connection = ScriptedNode::Connection;

constexpr uint32_t kRanges = 6;
constexpr uint32_t kViewId = 5;

UniqueFd MemoryFile(std::string_view bytes) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
  FB_CHECK(::write(fd.get(), bytes.data(), bytes.size()) ==
           static_cast<ssize_t>(bytes.size()));
  return fd;
}

std::string ManifestBytes() {
  model::Schema schema;
  schema.fields = Fields();
  model::ManifestBuilder builder(
      {.version = HashBytes("v"), .origin = "here", .schema = schema});
  uint64_t rows = 5 * kRanges;
  uint32_t object = builder.AddObject({"file:///t/a", {.size = 9, .etag = "\"e\""}},
                                      {.row_count = rows});
  builder.AddUnit({.pieces = {{object, 0, 1, rows}},
                   .range_rows = std::vector<uint32_t>(kRanges, 5),
                   .wide_columns = {},
                   .context = {}});
  return builder.Finish();
}

model::ChunkRef Ref(uint32_t range) { return {range, model::kNarrowGroup}; }

std::vector<model::ChunkRef> Refs(uint32_t first, uint32_t end) {
  std::vector<model::ChunkRef> refs;
  for (uint32_t range = first; range < end; ++range) refs.push_back(Ref(range));
  return refs;
}

class RemoteTableTest : public testing::Test {
 protected:
  using OnGet = std::function<bool(const Connection&, const wire::GetChunks&)>;

  void SetUp() override {
    socket_ = directory_ + "/s";
    std::ifstream in(std::string(FOREBAY_ROOT) + "/tests/data/chunks/types.arrow",
                     std::ios::binary);
    chunk_ = {std::istreambuf_iterator<char>(in), {}};
    chunk_fd_ = MemoryFile(chunk_);
    manifest_ = ManifestBytes();
    manifest_fd_ = MemoryFile(manifest_);
    options_.node.socket = socket_;
    options_.timeout = std::chrono::seconds(60);
  }
  void TearDown() override { node_.reset(); }

  // Opens and views like a node; `first` looks at every message before.
  void StartNode(const OnGet& on_get, const ScriptedNode::Script& first = nullptr) {
    node_ = std::make_unique<ScriptedNode>(
        socket_, [=, this](const Connection& connection, const wire::Message& message) {
          if (first != nullptr && !first(connection, message)) return false;
          if (std::holds_alternative<wire::Hello>(message)) {
            connection.Answer(wire::Welcome{.pid = 1, .node_version = {}, .store = {}});
          } else if (std::holds_alternative<wire::Open>(message)) {
            connection.Answer(
                wire::Opened{.manifest_bytes = manifest_.size(), .columns = {}},
                {manifest_fd_.get()});
          } else if (std::holds_alternative<wire::View>(message)) {
            connection.Answer(wire::Viewed{kViewId});
          } else if (std::holds_alternative<wire::GetCoverage>(message)) {
            connection.Answer(wire::Coverage{.chunk_count = 77});
          } else if (auto* get = std::get_if<wire::GetChunks>(&message)) {
            return on_get(connection, *get);
          }
          return true;
        });
  }
  // Hands over `refs` in one message.
  void HandOver(const Connection& connection,
                const std::vector<model::ChunkRef>& refs) const {
    wire::Chunks chunks{.view = kViewId, .tight = false, .chunks = {}};
    for (model::ChunkRef ref : refs) {
      chunks.chunks.push_back({.ref = ref, .size = chunk_.size()});
    }
    connection.Answer(chunks, std::vector<int>(refs.size(), chunk_fd_.get()));
  }
  OnGet HandsOverAll() {
    return [this](const Connection& connection, const wire::GetChunks& get) {
      HandOver(connection, get.refs);
      return true;
    };
  }

  Result<std::shared_ptr<RemoteTable>> Open() {
    return RemoteTable::Open("file:///t", options_);
  }
  static uint32_t ViewAll(RemoteTable& table) {
    model::Projection columns;
    for (uint32_t i = 0; i < Fields().size(); ++i) columns.push_back(i);
    return table.ViewOf(columns);
  }
  static Status Acquire(RemoteTable& table, const std::vector<model::ChunkRef>& refs,
                        std::vector<RemoteTable::ChunkPtr>* out = nullptr) {
    auto got = table.Acquire(ViewAll(table), refs, {});
    if (!got.ok()) return got.status();
    for (size_t i = 0; i < refs.size(); ++i) {
      if ((*got)[i] == nullptr || (*got)[i]->handed.ref != refs[i]) {
        return Status::Internal("another chunk than asked for");
      }
    }
    if (out != nullptr) *out = *std::move(got);
    return Status::OK();
  }

  testing_support::TempFolder folder_;
  const std::string directory_ = folder_.path();
  std::string socket_;
  std::string chunk_;
  UniqueFd chunk_fd_;
  std::string manifest_;
  UniqueFd manifest_fd_;
  OpenOptions options_;
  std::unique_ptr<ScriptedNode> node_;
};

TEST_F(RemoteTableTest, HasTheChunksInTheOrderAskedFor) {
  StartNode(HandsOverAll());
  auto table = Open().ValueOrDie();
  EXPECT_EQ(table->manifest()->row_count(), 5 * kRanges);
  std::vector<RemoteTable::ChunkPtr> chunks;
  ASSERT_EQ(Acquire(*table, {Ref(3), Ref(0)}, &chunks), Status::OK());
  EXPECT_EQ(chunks[0]->columns.size(), Fields().size());
  // What is mapped is not asked for again.
  ASSERT_EQ(Acquire(*table, {Ref(0), Ref(1), Ref(3)}), Status::OK());
  auto gets = node_->Heard<wire::GetChunks>(0);
  ASSERT_EQ(gets.size(), 2U);
  EXPECT_EQ(gets[0].refs, (std::vector{Ref(3), Ref(0)}));
  EXPECT_EQ(gets[1].refs, std::vector{Ref(1)});
  EXPECT_EQ(gets[1].view, kViewId);
}

TEST_F(RemoteTableTest, AsksForTheRestAfterTheNodeHungUp) {
  StartNode([this](const Connection& connection, const wire::GetChunks& get) {
    if (connection.number > 0) {
      HandOver(connection, get.refs);
      return true;
    }
    HandOver(connection, {get.refs[0], get.refs[1]});
    return false;
  });
  auto table = Open().ValueOrDie();
  ASSERT_EQ(Acquire(*table, Refs(0, 5)), Status::OK());
  auto gets = node_->Heard<wire::GetChunks>(1);
  ASSERT_EQ(gets.size(), 1U);
  EXPECT_EQ(gets[0].refs, Refs(2, 5)) << "only what had not come";
  // The next node hears which version it is and what is mapped of it.
  auto opens = node_->Heard<wire::Open>(1);
  ASSERT_EQ(opens.size(), 1U);
  EXPECT_EQ(opens[0].pinned_bytes, manifest_.size());
  auto holds = node_->Heard<wire::Hold>(1);
  ASSERT_EQ(holds.size(), 1U);
  ASSERT_EQ(holds[0].chunks.size(), 2U);
  EXPECT_EQ(holds[0].chunks[0].size, chunk_.size());
  EXPECT_EQ(node_->Heard<wire::Open>(0)[0].pinned_bytes, 0U);
  EXPECT_TRUE(node_->Heard<wire::Hold>(0).empty());
}

TEST_F(RemoteTableTest, GoesOnHoweverOftenTheNodeHangsUp) {
  StartNode([this](const Connection& connection, const wire::GetChunks& get) {
    HandOver(connection, {get.refs[0]});
    return get.refs.size() == 1;
  });
  auto table = Open().ValueOrDie();
  ASSERT_EQ(Acquire(*table, Refs(0, kRanges)), Status::OK());
  EXPECT_EQ(node_->connection_count(), kRanges);
}

TEST_F(RemoteTableTest, TakesNothingElseThanItAskedFor) {
  using Answer = std::function<void(const Connection&)>;
  const std::pair<const char*, Answer> answers[] = {
      {"another", [this](const auto& c) { HandOver(c, {Ref(4)}); }},
      {"out of order",
       [this](const auto& c) {
         HandOver(c, {Ref(1), Ref(0)});
       }},
      {"too many", [this](const auto& c) { HandOver(c, Refs(0, 3)); }},
      {"none", [this](const auto& c) { HandOver(c, {}); }},
      {"no descriptor",
       [this](const auto& c) {
         c.Answer(wire::Chunks{.view = kViewId, .chunks = {{Ref(0), chunk_.size()}}});
       }},
      {"another message", [](const auto& c) { c.Answer(wire::Viewed{}); }},
      {"another size", [this](const auto& c) {
         c.Answer(wire::Chunks{.view = kViewId, .chunks = {{Ref(0), chunk_.size() + 1}}},
                  {chunk_fd_.get()});
       }}};
  for (const auto& [name, answer] : answers) {
    std::filesystem::remove(socket_);
    StartNode([answer = answer](const Connection& connection, const wire::GetChunks&) {
      answer(connection);
      return true;
    });
    auto table = Open().ValueOrDie();
    Status status = Acquire(*table, Refs(0, 2));
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << name << ": " << status;
    node_.reset();
  }
}

TEST_F(RemoteTableTest, PassesAFailureOnAndGoesOn) {
  std::atomic<int> asked = 0;
  StartNode([&](const Connection& connection, const wire::GetChunks& get) {
    if (asked++ == 0) {
      connection.Answer(wire::Failure{Status::NotFound("the object is gone")});
    } else {
      HandOver(connection, get.refs);
    }
    return true;
  });
  auto table = Open().ValueOrDie();
  EXPECT_EQ(Acquire(*table, Refs(0, 2)), Status::NotFound("the object is gone"));
  EXPECT_EQ(Acquire(*table, Refs(0, 2)), Status::OK());
  EXPECT_EQ(node_->connection_count(), 1U);
}

// A chunk that was evicted before it could be handed over is asked for again, but not
// for ever.
TEST_F(RemoteTableTest, AsksAgainForAChunkThatWasEvictedMeanwhile) {
  std::atomic<int> asked = 0;
  std::atomic<int> evictions = 20;
  StartNode([&](const Connection& connection, const wire::GetChunks& get) {
    if (asked++ < evictions) {
      connection.Answer(wire::Failure{Status::Cancelled("evicted")});
    } else {
      HandOver(connection, get.refs);
    }
    return true;
  });
  auto table = Open().ValueOrDie();
  EXPECT_EQ(Acquire(*table, Refs(0, 1)), Status::OK());
  EXPECT_EQ(asked, 21);
  asked = 0;
  evictions = 21;
  EXPECT_EQ(Acquire(*table, Refs(1, 2)).code(), StatusCode::kCancelled);
  EXPECT_EQ(asked, 21);
}

TEST_F(RemoteTableTest, LetsGoOfEvictedChunksAndSaysSo) {
  std::promise<void> evict;
  StartNode(
      [this](const Connection& connection, const wire::GetChunks& get) {
        HandOver(connection, get.refs);
        return true;
      },
      [](const Connection& connection, const wire::Message& message) {
        // With its answer the node tells of two chunks, and of one of another view.
        if (std::holds_alternative<wire::GetCoverage>(message)) {
          connection.Tell(wire::Evicted{kViewId, {Ref(0), Ref(2), Ref(5)}});
          connection.Tell(wire::Evicted{kViewId + 1, {Ref(1)}});
        }
        return true;
      });
  auto table = Open().ValueOrDie();
  std::vector<RemoteTable::ChunkPtr> chunks;
  ASSERT_EQ(Acquire(*table, Refs(0, 4), &chunks), Status::OK());
  EXPECT_EQ(table->Poll(), 0U);
  EXPECT_EQ(table->Coverage(ViewAll(*table)).ValueOrDie().chunk_count, 77U);
  EXPECT_EQ(table->Poll(), 2U) << "5 is not mapped";
  EXPECT_TRUE(chunks[0]->evicted);
  EXPECT_FALSE(chunks[1]->evicted);
  EXPECT_TRUE(chunks[2]->evicted);
  EXPECT_FALSE(chunks[3]->evicted);
  EXPECT_TRUE(node_->Heard<wire::Release>(0).empty()) << "they are still in use";
  chunks[0].reset();
  table->Poll();
  // What was let go of is asked for again, the rest is at hand.
  ASSERT_EQ(Acquire(*table, Refs(0, 2)), Status::OK());
  auto releases = node_->Heard<wire::Release>(0);
  ASSERT_EQ(releases.size(), 1U);
  EXPECT_EQ(releases[0].refs, std::vector{Ref(0)});
  EXPECT_EQ(releases[0].view, kViewId);
  EXPECT_EQ(node_->Heard<wire::GetChunks>(0).back().refs, std::vector{Ref(0)});
}

TEST_F(RemoteTableTest, OpensAtTheNextNodeWhenTheFirstHangsUp) {
  StartNode(HandsOverAll(), [](const Connection& connection, const wire::Message& said) {
    return connection.number > 1 || !std::holds_alternative<wire::Open>(said);
  });
  auto table = Open();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(node_->connection_count(), 3U);
}

TEST_F(RemoteTableTest, TakesARefusalToOpenForTheAnswer) {
  StartNode(HandsOverAll(), [](const Connection& connection, const wire::Message& said) {
    if (!std::holds_alternative<wire::Open>(said)) return true;
    connection.Answer(wire::Failure{Status::Unavailable("the source is down")});
    return true;
  });
  EXPECT_EQ(Open().status(), Status::Unavailable("the source is down"));
  EXPECT_EQ(node_->connection_count(), 1U);
}

TEST_F(RemoteTableTest, TakesNoNodeOfAnotherProtocol) {
  for (uint32_t protocol : {wire::kProtocolVersion - 1, wire::kProtocolVersion + 1}) {
    StartNode(HandsOverAll(),
              [=](const Connection& connection, const wire::Message& said) {
                if (!std::holds_alternative<wire::Hello>(said)) return true;
                connection.Answer(wire::Welcome{
                    .protocol = protocol, .pid = 9, .node_version = "0.9", .store = {}});
                return true;
              });
    Status status = Open().status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << status;
    EXPECT_NE(status.message().find("0.9"), std::string::npos) << status;
    node_.reset();
    std::filesystem::remove(socket_);
  }
}

TEST_F(RemoteTableTest, HearsWhyItIsNotServed) {
  const Status why = Status::Full("no descriptor is left");
  // After the greeting was read, and without reading it.
  {
    StartNode(HandsOverAll(), [&](const Connection& connection, const wire::Message&) {
      connection.Tell(wire::Failure{why});
      return false;
    });
    EXPECT_EQ(Open().status(), why);
    EXPECT_EQ(node_->connection_count(), 1U) << "it tried again";
    node_.reset();
    std::filesystem::remove(socket_);
  }
  wire::Listener listener = wire::Listener::At(socket_).ValueOrDie();
  auto opened = std::async(std::launch::async, [this] { return Open().status(); });
  {
    auto channel = listener.Accept(ScriptedNode::Soon()).ValueOrDie();
    ASSERT_TRUE(channel.has_value());
    wire::TurnAway(*channel, why);
  }
  EXPECT_EQ(opened.get(), why);
}

// Restarting a node takes a moment in which nobody listens.
TEST_F(RemoteTableTest, WaitsForANamedNodeThatIsStarting) {
  std::promise<void> tried;
  std::once_flag once;
  options_.node.interrupted = [&] {
    std::call_once(once, [&] { tried.set_value(); });
    return false;
  };
  auto opened = std::async(std::launch::async, [this] { return Open().status(); });
  tried.get_future().wait();
  StartNode(HandsOverAll());
  EXPECT_EQ(opened.get(), Status::OK());
  // A socket that a dead node left is no other case.
  node_.reset();
  std::promise<void> again;
  std::once_flag second;
  options_.node.interrupted = [&] {
    std::call_once(second, [&] { again.set_value(); });
    return false;
  };
  opened = std::async(std::launch::async, [this] { return Open().status(); });
  again.get_future().wait();
  std::filesystem::remove(socket_);
  StartNode(HandsOverAll());
  EXPECT_EQ(opened.get(), Status::OK());
}

TEST_F(RemoteTableTest, NamesANodeThatDoesNotComeInTime) {
  options_.timeout = milliseconds(60);
  auto start = std::chrono::steady_clock::now();
  Status status = Open().status();
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds(60));
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find(socket_), std::string::npos) << status;
}

TEST_F(RemoteTableTest, StopsWaitingForANodeWhenInterrupted) {
  options_.node.interrupted = [] { return true; };
  EXPECT_EQ(Open().status().code(), StatusCode::kCancelled);
}

TEST_F(RemoteTableTest, StopsWaitingForTheNextNodeWhenInterrupted) {
  std::atomic<bool> interrupted = false;
  options_.node.interrupted = [&] { return interrupted.load(); };
  StartNode(HandsOverAll());
  auto table = Open().ValueOrDie();
  node_.reset();
  std::filesystem::remove(socket_);
  interrupted = true;
  EXPECT_EQ(Acquire(*table, Refs(0, 1)).code(), StatusCode::kCancelled);
}

TEST_F(RemoteTableTest, GivesUpOnASilentNodeAtTheDeadline) {
  StartNode([](const Connection&, const wire::GetChunks&) { return true; });
  auto table = Open().ValueOrDie();
  options_.timeout = milliseconds(60);
  auto hasty = Open().ValueOrDie();
  EXPECT_EQ(Acquire(*hasty, Refs(0, 1)).code(), StatusCode::kDeadline);
}

// A child must not speak on its parent's connection, nor wait for a lock that a thread of
// the parent held.
TEST_F(RemoteTableTest, HasAConnectionOfItsOwnInAForkedChild) {
  std::promise<void> waiting;
  std::promise<void> release;
  auto released = release.get_future().share();
  StartNode([&, released](const Connection& connection, const wire::GetChunks& get) {
    if (connection.number == 0) {
      waiting.set_value();
      released.wait();
    }
    HandOver(connection, get.refs);
    return true;
  });
  auto table = Open().ValueOrDie();
  uint32_t view = ViewAll(*table);
  auto parent = std::async(std::launch::async,
                           [&] { return table->Acquire(view, Refs(0, 2), {}).status(); });
  waiting.get_future().wait();  // the parent's thread has the lock and waits
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // instead of a hang
    Status status = Acquire(*table, Refs(2, 4));
    ::_exit(status.ok() ? 0 : 1);
  }
  int code = 0;
  ASSERT_EQ(::waitpid(child, &code, 0), child);
  EXPECT_EQ(code, 0);
  release.set_value();
  EXPECT_EQ(parent.get(), Status::OK());
  EXPECT_EQ(node_->connection_count(), 2U);
  EXPECT_EQ(node_->Heard<wire::GetChunks>(0).size(), 1U);
  EXPECT_EQ(node_->Heard<wire::GetChunks>(1)[0].refs, Refs(2, 4));
  EXPECT_EQ(node_->Heard<wire::Open>(1)[0].pinned_bytes, manifest_.size());
}

TEST_F(RemoteTableTest, AgainIsTheSameVersionOnAnotherConnection) {
  StartNode(HandsOverAll());
  auto table = Open().ValueOrDie();
  auto again = table->Again().ValueOrDie();
  EXPECT_EQ(again->manifest(), table->manifest());
  EXPECT_EQ(node_->connection_count(), 2U);
  EXPECT_EQ(node_->Heard<wire::Open>(1)[0].pinned_bytes, manifest_.size());
  EXPECT_EQ(Acquire(*again, Refs(0, 2)), Status::OK());
}

}  // namespace
}  // namespace forebay::reader
