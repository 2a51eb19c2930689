#include "node/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <thread>

#include "base/mapping.h"
#include "model/files_manifest.h"
#include "model/manifest.h"
#include "model/store_spec.h"
#include "support/temp_folder.h"

namespace forebay::node {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(60)); }

class TestHost : public Host {
 public:
  explicit TestHost(const std::string& tiers = "mem:64MiB", uint64_t borrowed_bytes = 0) {
    storage::StoreOptions store;
    store.tiers = storage::TiersOf(model::ParseStoreSpec(tiers).ValueOrDie());
    if (borrowed_bytes > 0) store.borrowed_bytes_max = borrowed_bytes;
    cache::Engine::Options options;
    options.fill_threads = 1;
    options.read_threads = 1;
    engine_ =
        cache::Engine::Make(storage::Store::Open(std::move(store)).ValueOrDie(), options)
            .ValueOrDie();
  }
  cache::Engine& engine() override { return *engine_; }
  wire::Welcome Greeting() const override {
    return {.pid = 7, .node_version = {}, .store = {}};
  }
  std::string StatusJson() override { return "{}"; }

 private:
  std::unique_ptr<cache::Engine> engine_;
};

// A session at work, and its reader's end.
class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(
        ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    reader_.emplace(UniqueFd(ends[0]));
    session_ =
        std::make_unique<Session>(1, wire::Channel(UniqueFd(ends[1])), host_.get());
    thread_ = std::thread([this] { session_->Run(); });
  }
  void TearDown() override {
    reader_.reset();
    thread_.join();
    session_.reset();
  }

  void Send(wire::Message message, const std::vector<int>& fds = {}) {
    std::string bytes = wire::Encode({++sent_, std::move(message)});
    ASSERT_TRUE(reader_->Send(bytes, fds, Soon()).ok());
  }
  wire::Envelope Receive(std::vector<UniqueFd>* fds = nullptr) {
    wire::Packet packet = reader_->Receive(Soon()).ValueOrDie();
    if (fds != nullptr) *fds = std::move(packet.fds);
    return wire::Decode(packet.bytes).ValueOrDie();
  }
  // The answer to a request, which is the next message.
  template <typename T>
  T Ask(wire::Message message, const std::vector<int>& fds = {}) {
    Send(std::move(message), fds);
    wire::Envelope envelope = Receive(&received_);
    EXPECT_EQ(envelope.request, sent_);
    auto* answer = std::get_if<T>(&envelope.message);
    if (answer == nullptr) {
      auto* failure = std::get_if<wire::Failure>(&envelope.message);
      ADD_FAILURE() << (failure ? failure->status.ToString() : "another answer");
      return T();
    }
    return std::move(*answer);
  }
  void Greet() { EXPECT_EQ(Ask<wire::Welcome>(wire::Hello{}).pid, 7U); }

  // A file of so many extents, without a byte on the disk, and long since written.
  void MakeFile(const std::string& name, uint64_t extents) {
    std::string path = directory_ + "/" + name;
    UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(extents * model::kExtentBytes)),
              0);
    timespec times[2] = {{.tv_sec = 1'700'000'000, .tv_nsec = 0},
                         {.tv_sec = 1'700'000'000, .tv_nsec = 0}};
    ASSERT_EQ(::futimens(fd.get(), times), 0);
  }
  std::shared_ptr<const model::FilesManifest> OpenFiles(uint32_t* view) {
    auto opened = Ask<wire::FilesOpened>(
        wire::OpenFiles{.uri = "file://" + directory_, .options = {}});
    *view = opened.view;
    if (received_.size() != 1) return nullptr;
    auto mapping =
        Mapping::Map(received_[0].get(), opened.manifest_bytes, Mapping::Mode::kShared)
            .ValueOrDie();
    return model::FilesManifest::View(mapping->bytes(), mapping).ValueOrDie();
  }
  // All refs of a file, held in messages of the size that readers use.
  std::vector<model::ChunkRef> HoldFile(uint32_t view, uint32_t extents) {
    std::vector<model::ChunkRef> refs;
    wire::Hold hold{.view = view, .chunks = {}};
    for (uint32_t extent = 0; extent < extents; ++extent) {
      refs.push_back({0, extent});
      hold.chunks.push_back({refs.back(), model::kExtentBytes});
      if (hold.chunks.size() < 2048 && extent + 1 < extents) continue;
      Send(hold);
      hold.chunks.clear();
    }
    EXPECT_EQ(Ask<wire::Coverage>(wire::GetCoverage{view}).chunk_count, extents);
    return refs;
  }

  std::unique_ptr<TestHost> host_ = std::make_unique<TestHost>();
  testing_support::TempFolder folder_;
  const std::string directory_ = folder_.path();
  std::optional<wire::Channel> reader_;
  std::unique_ptr<Session> session_;
  std::thread thread_;
  uint64_t sent_ = 0;
  std::vector<UniqueFd> received_;
};

using Refs = std::multiset<std::pair<uint32_t, uint32_t>>;

// A reader that hears nothing while chunks are evicted hears of every one later, once.
TEST_F(SessionTest, TellsOfTenThousandEvictions) {
  constexpr uint32_t kExtents = 10'000;
  MakeFile("large", kExtents);
  Greet();
  uint32_t view = 0;
  auto manifest = OpenFiles(&view);
  ASSERT_NE(manifest, nullptr);
  Refs expected;
  for (const auto& ref : HoldFile(view, kExtents)) {
    expected.emplace(ref.range, ref.group);
    session_->OnEvicted(model::FileChunkKey(*manifest, ref));
  }
  Refs told;
  auto take = [&](const wire::Envelope& envelope) {
    auto* evicted = std::get_if<wire::Evicted>(&envelope.message);
    if (evicted == nullptr) return false;
    EXPECT_EQ(envelope.request, 0U);
    EXPECT_EQ(evicted->view, view);
    EXPECT_LE(evicted->refs.size(), wire::kRequestRefsMax);
    for (const auto& ref : evicted->refs) told.emplace(ref.range, ref.group);
    return true;
  };
  while (auto packet = reader_->TryReceive().ValueOrDie()) {
    take(wire::Decode(packet->bytes).ValueOrDie());
  }
  EXPECT_LT(told.size(), expected.size()) << "the socket took all: nothing is shown";
  // The rest comes with the next request, before its answer.
  Send(wire::GetCoverage{view});
  while (take(Receive())) continue;
  EXPECT_EQ(told.size(), expected.size());
  EXPECT_TRUE(told == expected);
}

TEST_F(SessionTest, TellsOfNoEvictionThatIsNotItsReaders) {
  MakeFile("large", 2);
  Greet();
  uint32_t view = 0;
  auto manifest = OpenFiles(&view);
  ASSERT_NE(manifest, nullptr);
  HoldFile(view, 1);
  session_->OnEvicted(model::FileChunkKey(*manifest, {0, 1}));
  session_->OnEvicted(model::FileChunkKey(*manifest, {0, 0}));
  auto evicted = std::get<wire::Evicted>(Receive().message);
  ASSERT_EQ(evicted.refs.size(), 1U);
  EXPECT_EQ(evicted.refs[0], (model::ChunkRef{0, 0}));
  Send(wire::Release{.view = view, .refs = {{0, 0}}});
  Ask<wire::Coverage>(wire::GetCoverage{view});
  session_->OnEvicted(model::FileChunkKey(*manifest, {0, 0}));
  Ask<wire::Coverage>(wire::GetCoverage{view});  // nothing comes before the answer
}

// A node whose store takes no chunk, and which lends memory for two of them.
class LendingSessionTest : public SessionTest {
 protected:
  LendingSessionTest() {
    host_ = std::make_unique<TestHost>("mem:1MiB", 2 * model::kExtentBytes);
  }
};

TEST_F(LendingSessionTest, KeepsMemoryForOneChunkMoreThanItsReadersKeep) {
  for (const char* name : {"a", "b", "c"}) MakeFile(name, 1);
  Greet();
  uint32_t view = 0;
  ASSERT_NE(OpenFiles(&view), nullptr);
  auto get = [&](uint32_t file, bool keeps) {
    return wire::GetChunks{.view = view, .keeps_borrowed = keeps, .refs = {{file, 0}}};
  };
  auto first = Ask<wire::Chunks>(get(0, /*keeps=*/true));
  ASSERT_EQ(first.chunks.size(), 1U);
  EXPECT_TRUE(first.chunks[0].borrowed);
  ASSERT_EQ(Ask<wire::Failure>(get(1, /*keeps=*/true)).status.code(), StatusCode::kFull);
  EXPECT_EQ(Ask<wire::Chunks>(get(1, /*keeps=*/false)).chunks.size(), 1U);
  Send(wire::Release{.view = view, .refs = {{0, 0}, {1, 0}}});
  EXPECT_EQ(Ask<wire::Chunks>(get(2, /*keeps=*/true)).chunks.size(), 1U);
  Send(wire::Release{.view = view, .refs = {{2, 0}}});
  // What was not handed over is not counted.
  Send(wire::GetChunks{.view = view, .keeps_borrowed = true, .refs = {{0, 0}, {1, 0}}});
  while (!std::holds_alternative<wire::Failure>(Receive().message)) continue;
  Send(wire::Release{.view = view, .refs = {{0, 0}}});
  // A fill that was under way may hold its chunk for a moment longer.
  Deadline soon = Soon();
  auto lent = [this] { return host_->engine().store().Stats().borrowed_bytes; };
  while (lent() > 0 && !soon.passed()) std::this_thread::yield();
  EXPECT_EQ(lent(), 0U);
}

TEST_F(SessionTest, IsInUseOnceItsReaderAsksForMoreThanStatus) {
  Greet();
  Ask<wire::Text>(wire::GetStatus{});
  EXPECT_FALSE(session_->in_use());
  MakeFile("f", 1);
  uint32_t view = 0;
  ASSERT_NE(OpenFiles(&view), nullptr);
  EXPECT_TRUE(session_->in_use());
}

TEST_F(SessionTest, TellsWhyItHangsUp) {
  Greet();
  ASSERT_TRUE(reader_->Send("garbage", {}, Soon()).ok());
  wire::Envelope last = Receive();
  EXPECT_EQ(last.request, 0U);
  EXPECT_EQ(std::get<wire::Failure>(last.message).status.code(), StatusCode::kCorrupt);
  thread_.join();
  thread_ = std::thread([] {});
}

TEST_F(SessionTest, ServesNobodyWhoDoesNotGreet) {
  Send(wire::GetStatus{});
  wire::Envelope last = Receive();
  EXPECT_EQ(last.request, 0U);
  EXPECT_EQ(std::get<wire::Failure>(last.message).status.code(), StatusCode::kInvalid);
}

// A failure that quotes what was asked for would not fit a message.
TEST_F(SessionTest, CutsFailuresThatAreTooLongForAMessage) {
  Greet();
  std::string long_uri = "file://" + std::string(64'000, 'x');
  auto failure = Ask<wire::Failure>(wire::Open{.uri = long_uri, .options = {}});
  EXPECT_FALSE(failure.status.ok());
  EXPECT_LE(failure.status.message().size(), size_t{17} * 1024);
  EXPECT_EQ(Ask<wire::Text>(wire::GetStatus{}).size, 2U) << "the session goes on";
}

TEST_F(SessionTest, TakesNoManifestThatIsShorterThanAnnounced) {
  Greet();
  UniqueFd fd(::memfd_create("manifest", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(fd.get(), 100), 0);
  // Nothing of that size is allocated first.
  uint64_t claimed = uint64_t{4} << 30;
  for (const wire::Message& message :
       {wire::Message(
            wire::Open{.uri = "file:///t", .options = {}, .pinned_bytes = claimed}),
        wire::Message(
            wire::OpenFiles{.uri = "file:///t", .options = {}, .pinned_bytes = claimed}),
        wire::Message(
            wire::OpenFiles{.uri = "file:///t", .options = {}, .pinned_bytes = 101})}) {
    auto failure = Ask<wire::Failure>(message, {fd.get()});
    EXPECT_EQ(failure.status.code(), StatusCode::kInvalid);
    EXPECT_NE(failure.status.message().find("shorter"), std::string::npos);
  }
  auto failure = Ask<wire::Failure>(
      wire::OpenFiles{.uri = "file:///t", .options = {}, .pinned_bytes = 100},
      {fd.get()});
  EXPECT_EQ(failure.status.code(), StatusCode::kCorrupt) << "100 bytes are there";
}

TEST_F(SessionTest, OpensSoManyDatasetsAndViewsAndNoMore) {
  model::Field field{
      .name = "x", .format = "l", .nullable = true, .metadata = {}, .children = {}};
  model::Schema schema;
  schema.fields.push_back(field);
  model::ManifestBuilder builder(
      {.version = HashBytes("v"), .origin = "here", .schema = schema});
  uint32_t object =
      builder.AddObject({"file:///t/a", {.size = 9, .etag = "\"e\""}}, {.row_count = 5});
  builder.AddUnit({.pieces = {{object, 0, 1, 5}},
                   .range_rows = {5},
                   .wide_columns = {},
                   .context = {}});
  std::string bytes = builder.Finish();
  UniqueFd fd(::memfd_create("manifest", MFD_CLOEXEC));
  ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  Greet();
  wire::Open open{.uri = "file:///t", .options = {}, .pinned_bytes = bytes.size()};
  for (uint32_t i = 0; i < 1024; ++i) {
    ASSERT_EQ(Ask<wire::Opened>(open, {fd.get()}).dataset, i);
  }
  EXPECT_EQ(Ask<wire::Failure>(open, {fd.get()}).status.code(), StatusCode::kFull);
  wire::View view{.dataset = 1023, .columns = {0}};
  for (uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(Ask<wire::Viewed>(view).view, i);
  EXPECT_EQ(Ask<wire::Failure>(view).status.code(), StatusCode::kFull);
  EXPECT_EQ(Ask<wire::Coverage>(wire::GetCoverage{1023}).chunk_count, 1U);
}

TEST_F(SessionTest, RefusesWhatIsNotOpen) {
  Greet();
  auto invalid = [this](wire::Message message) {
    auto failure = Ask<wire::Failure>(std::move(message));
    EXPECT_EQ(failure.status.code(), StatusCode::kInvalid) << failure.status;
  };
  invalid(wire::View{.dataset = 0, .columns = {}});
  invalid(wire::GetChunks{.view = 0, .refs = {{0, 0}}});
  invalid(wire::GetCoverage{.view = 0});
  invalid(wire::Welcome{});
  MakeFile("f", 2);
  uint32_t view = 0;
  ASSERT_NE(OpenFiles(&view), nullptr);
  invalid(wire::GetCoverage{.view = view + 1});
  invalid(wire::Hold{.view = view, .chunks = {{{0, 2}, 1}}});
  invalid(wire::Want{.view = view, .refs = {{1, 0}}});
  invalid(wire::Progress{.view = view});
  invalid(wire::Follow{.view = view});
}

}  // namespace
}  // namespace forebay::node
