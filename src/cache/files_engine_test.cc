#include "cache/files_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <random>
#include <thread>

#include "source/faulty_source.h"
#include "source/memory_source.h"
#include "support/no_threads.h"

namespace forebay::cache {
namespace {

using model::ChunkRef;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ClientId kClient = 1;
const std::string kUri = "s3://b/images";

class FilesEngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ =
        std::filesystem::temp_directory_path() /
        (std::string("forebay-files-") + info->name() + "-" + std::to_string(::getpid()));
    storage::StoreOptions store;
    store.tiers = storage::TiersOf(
        {{.medium = model::Medium::kSsd, .path = directory_, .quota_bytes = 0}});
    store_ = storage::Store::Open(std::move(store)).ValueOrDie();
    options_.store = store_.get();
    options_.read_pool = &pool_;
    options_.open_source = [this](const std::string&, const source::Options&) {
      return Result<std::shared_ptr<source::Source>>(source_);
    };
    engine_ = std::make_unique<FilesEngine>(options_);
  }
  void TearDown() override {
    engine_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string Put(const std::string& path, size_t size) {
    std::mt19937_64 random(std::hash<std::string>{}(path) + size);
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    memory_->Put(kUri + "/" + path, bytes);
    return bytes;
  }
  FilesEngine::Version Open() {
    return engine_->catalog()
        .Open(kUri, {}, Deadline::After(std::chrono::seconds(30)))
        .ValueOrDie();
  }
  ChunkRef Ref(const FilesEngine::Version& version, const std::string& path) {
    return {*version->manifest->FindFile(path), 0};
  }
  FileFills::Asked Ask(const FilesEngine::Version& version, ChunkRef ref,
                       Need need = Need::kNow) {
    return engine_->fills().Request(version, {ref}, {need, kClient})[0];
  }
  static std::string Bytes(const FileFills::Asked& asked) {
    const Result<Brought>& brought = asked.future.get();
    if (!brought.ok()) return brought.status().ToString();
    std::string bytes(brought->chunk.size, '\0');
    EXPECT_EQ(::pread(brought->chunk.fd->get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
  Result<WarmupProgress> Warmup(const FilesEngine::Version& version) {
    return engine_->Warmup(version,
                           {.client = kClient,
                            .deadline = Deadline::After(std::chrono::seconds(60)),
                            .report = [](const WarmupProgress&) { return true; }});
  }
  uint64_t reads() const { return memory_->stats().requests; }

  std::shared_ptr<source::MemorySource> memory_ =
      std::make_shared<source::MemorySource>();
  std::shared_ptr<source::FaultySource> source_ =
      std::make_shared<source::FaultySource>(memory_);
  std::string directory_;
  ThreadPool pool_{4};
  std::unique_ptr<storage::Store> store_;
  FilesEngine::Options options_;
  std::unique_ptr<FilesEngine> engine_;
};

TEST_F(FilesEngineTest, ExtentsThatNobodyWaitsForYetComeByOneRequestEach) {
  std::string bytes = Put("large.bin", 70 * kMiB + 5);
  auto version = Open();
  uint64_t before = reads();
  for (uint32_t i = 0; i < 5; ++i) {
    auto asked = Ask(version, {0, i}, i == 4 ? Need::kSomeday : Need::kSoon);
    EXPECT_TRUE(Bytes(asked) ==
                bytes.substr(i * model::kExtentBytes, model::kExtentBytes));
  }
  EXPECT_EQ(reads(), before + 5);
}

TEST_F(FilesEngineTest, AStreamThatGoesBackIsReadInAnotherWay) {
  std::string bytes = Put("large.bin", 70 * kMiB);
  auto version = Open();
  source_->Add({.go_back = true});
  EXPECT_TRUE(Bytes(Ask(version, {0, 1}, Need::kSoon)) ==
              bytes.substr(model::kExtentBytes, model::kExtentBytes));
  EXPECT_EQ(source_->fired(), 1);
}

TEST_F(FilesEngineTest, AStreamOfAChangedObjectStoresNothing) {
  Put("large.bin", 70 * kMiB);
  auto version = Open();
  memory_->Put(kUri + "/large.bin", "other");
  EXPECT_THAT(Bytes(Ask(version, {0, 1}, Need::kSoon)), HasSubstr("changed"));
  EXPECT_FALSE(store_->Contains(version->Key({0, 1})));
}

TEST_F(FilesEngineTest, ASmallFileComesAloneAndThenFromItsPack) {
  std::vector<std::string> contents;
  for (int i = 0; i < 100; ++i) contents.push_back(Put(std::to_string(i), 1000));
  auto version = Open();
  uint64_t before = reads();
  auto alone = Ask(version, Ref(version, "7"));
  EXPECT_EQ(Bytes(alone), contents[7]);
  EXPECT_EQ(alone.ref, Ref(version, "7"));
  EXPECT_EQ(reads(), before + 1);
  ASSERT_TRUE(Warmup(version).ok());
  EXPECT_EQ(reads(), before + 100);  // the one that was there is not read again
  auto packed = Ask(version, Ref(version, "7"));
  EXPECT_EQ(packed.ref.group, model::kPackGroup);
  uint32_t file = Ref(version, "7").range;
  EXPECT_EQ(Bytes(packed).substr(version->manifest->files()[file].pack_offset, 1000),
            contents[7]);
  EXPECT_FALSE(store_->Contains(version->Key(Ref(version, "7"))));
}

TEST_F(FilesEngineTest, ReadsAPackOnceMuchOfItWasAskedFor) {
  for (int i = 0; i < 100; ++i) Put(std::to_string(i), 1000);
  auto version = Open();
  for (int i = 0; i < 30; ++i) Bytes(Ask(version, Ref(version, std::to_string(i))));
  Bytes(Ask(version, {0, model::kPackGroup}));
  // And the list; a file that is asked for while its pack is read may be read twice.
  EXPECT_GE(reads(), 101);
  EXPECT_LE(reads(), 111);
}

TEST_F(FilesEngineTest, LargeFilesComeInExtents) {
  std::string bytes = Put("large", 70 * kMiB);
  auto version = Open();
  uint32_t file = Ref(version, "large").range;
  ASSERT_EQ(version->manifest->ChunkCount(file), 5);
  EXPECT_EQ(Bytes(Ask(version, {file, 2})), bytes.substr(32 * kMiB, 16 * kMiB));
  EXPECT_EQ(Bytes(Ask(version, {file, 4})), bytes.substr(64 * kMiB));
}

TEST_F(FilesEngineTest, FetchesAChunkOnceHoweverManyAsk) {
  std::string bytes = Put("x", 200'000);
  auto version = Open();
  uint64_t before = reads();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&] { EXPECT_EQ(Bytes(Ask(version, Ref(version, "x"))), bytes); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reads(), before + 1);
}

TEST_F(FilesEngineTest, AnObjectThatChangedIsNamedAndNothingOfItKept) {
  Put("a", 1000);
  Put("b", 100'000);
  auto version = Open();
  Put("a", 1001);
  memory_->Put(kUri + "/b", std::string(100'000, 'b'));
  for (const char* path : {"a", "b"}) {
    auto asked = Ask(version, Ref(version, path));
    const auto& brought = asked.future.get();
    EXPECT_EQ(brought.status().code(), StatusCode::kChanged);
    EXPECT_THAT(brought.status().message(), HasSubstr(kUri + "/" + path));
    EXPECT_FALSE(store_->Contains(version->Key(asked.ref)));
  }
  auto progress = Warmup(version).ValueOrDie();
  EXPECT_EQ(progress.failures.size(), 2);
  EXPECT_EQ(progress.rows_done, 0);
}

TEST_F(FilesEngineTest, AtTheLimitOfThreadsOneRequestFailsAndTheNextTriesAgain) {
  std::string bytes = Put("a", 1000);
  auto version = Open();
  {
    testing_support::NoThreads limit;
    auto refused = Ask(version, Ref(version, "a")).future.get();
    EXPECT_EQ(refused.status().code(), StatusCode::kFull);
    EXPECT_THAT(refused.status().message(), HasSubstr("ulimit -u"));
  }
  EXPECT_EQ(Bytes(Ask(version, Ref(version, "a"))), bytes);
}

TEST_F(FilesEngineTest, AFailureIsTriedAgainWhenAskedAgain) {
  std::string bytes = Put("x", 100'000);
  auto version = Open();
  source_->Add({.call = source::Call::kRead, .status = Status::Permission("not you")});
  EXPECT_EQ(Ask(version, Ref(version, "x")).future.get().status().code(),
            StatusCode::kPermission);
  EXPECT_EQ(Bytes(Ask(version, Ref(version, "x"))), bytes);
  EXPECT_EQ(source_->fired(), 1);
}

TEST_F(FilesEngineTest, ANewVersionReadsOnlyWhatChanged) {
  for (int i = 0; i < 200; ++i) Put("small" + std::to_string(i), 1000);
  for (int i = 0; i < 5; ++i) Put("large" + std::to_string(i), 100'000);
  auto old = Open();
  ASSERT_TRUE(Warmup(old).ok());
  Put("small3", 1234);
  Put("new", 777);
  Put("large2", 100'001);
  auto version = Open();
  EXPECT_NE(version->manifest->version(), old->manifest->version());
  uint64_t before = reads();
  auto progress = Warmup(version).ValueOrDie();
  EXPECT_THAT(progress.failures, ElementsAre());
  EXPECT_EQ(reads() - before, 3);
  EXPECT_EQ(progress.rows_done, 206);
  auto coverage = engine_->Covered(*version);
  EXPECT_EQ(coverage.chunks_stored, coverage.chunk_count);
  EXPECT_EQ(coverage.rows_stored, 206);
}

TEST_F(FilesEngineTest, AdoptsAVersionAndRefusesOneThatLeadsOutOfItsRoot) {
  std::string bytes = Put("dd/name", 1000);
  auto version = Open();
  std::string manifest(version->manifest->bytes());
  auto adopted = engine_->catalog().Adopt(kUri, {}, manifest).ValueOrDie();
  EXPECT_EQ(Bytes(Ask(adopted, Ref(adopted, "dd/name"))), bytes);
  for (const char* name : {"..", "./"}) {
    std::string bad = manifest;
    size_t at = bad.find("ddname");  // the folder's path, then the file's name
    ASSERT_NE(at, bad.npos);
    bad.replace(at, 2, name);
    EXPECT_EQ(engine_->catalog().Adopt(kUri, {}, bad).status().code(),
              StatusCode::kCorrupt);
  }
}

TEST_F(FilesEngineTest, ForgetsWhatALeavingClientWanted) {
  for (int i = 0; i < 300; ++i) Put(std::to_string(i), 100'000);
  auto version = Open();
  std::vector<ChunkRef> refs;
  for (uint32_t i = 0; i < 300; ++i) refs.push_back({i, 0});
  auto asked = engine_->fills().Request(version, refs, {Need::kSomeday, kClient});
  engine_->Forget(kClient);
  int cancelled = 0;
  for (auto& each : asked) {
    cancelled += each.future.get().status().code() == StatusCode::kCancelled ? 1 : 0;
  }
  EXPECT_EQ(engine_->counters().queued, 0);
  EXPECT_EQ(engine_->counters().fills + static_cast<uint64_t>(cancelled), 300);
}

TEST_F(FilesEngineTest, AReaderWhoJoinsAWarmUpGetsWhatNoTierTook) {
  storage::StoreOptions full;
  full.tiers =
      storage::TiersOf({{.medium = model::Medium::kMem, .path = "", .quota_bytes = 1}});
  auto store = storage::Store::Open(std::move(full)).ValueOrDie();
  options_.store = store.get();
  engine_ = std::make_unique<FilesEngine>(options_);
  std::string bytes = Put("x", 100'000);
  Put("y", 100'000);
  auto version = Open();
  auto counted = Ask(version, Ref(version, "y"), Need::kSomeday);
  EXPECT_TRUE(counted.future.get().ok());
  EXPECT_EQ(store->Stats().borrowed_bytes, 0U) << "a warm-up holds no memory";
  std::promise<void> answer;
  auto answered = answer.get_future().share();
  source_->Add({.uri_contains = "/x", .before = [answered] { answered.wait(); }});
  auto warmed = Ask(version, Ref(version, "x"), Need::kSomeday);
  while (source_->fired() < 1) std::this_thread::yield();
  auto read = Ask(version, Ref(version, "x"));
  answer.set_value();
  EXPECT_EQ(Bytes(read), bytes);
  engine_.reset();  // before its store
}

TEST_F(FilesEngineTest, StopEndsFillsWhoseSourceHangs) {
  Put("small.bin", 10);
  Put("large.bin", 70 * kMiB);
  auto version = Open();
  source_->Add({.times = 3, .hang = true});
  auto small = Ask(version, Ref(version, "small.bin"));
  auto streamed = Ask(version, Ref(version, "large.bin"), Need::kSoon);
  while (source_->fired() < 2) std::this_thread::yield();
  auto start = std::chrono::steady_clock::now();
  engine_->Stop();
  EXPECT_EQ(small.future.get().status().code(), StatusCode::kCancelled);
  EXPECT_EQ(streamed.future.get().status().code(), StatusCode::kCancelled);
  auto late = Ask(version, Ref(version, "small.bin"));
  EXPECT_EQ(late.future.get().status().code(), StatusCode::kCancelled);
  engine_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(FilesEngineTest, StopEndsAListingThatHangs) {
  Put("small.bin", 10);
  source_->Add({.call = source::Call::kList, .hang = true});
  auto opened = std::async(std::launch::async, [this] {
    return engine_->catalog().Open(kUri, {}, Deadline::After(std::chrono::seconds(10)));
  });
  while (source_->fired() == 0) std::this_thread::yield();
  auto start = std::chrono::steady_clock::now();
  engine_->Stop();
  EXPECT_FALSE(opened.get().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(FilesEngineTest, ATreeWhoseSourceHangsLeavesThreadsToOthers) {
  const int half = static_cast<int>(FileFills::Options{}.thread_count / 2);
  const int count = 3 * half;
  for (int i = 0; i < count; ++i) Put(std::to_string(i), 70'000);
  memory_->Put("s3://b/other/x", "there");
  auto hangs = Open();
  auto other = engine_->catalog().Open("s3://b/other", {}, Deadline::Never());
  std::promise<void> answer;
  auto answered = answer.get_future().share();
  source_->Add({.uri_contains = "/images/", .times = count, .before = [answered] {
                  answered.wait();
                }});
  std::vector<FileFills::Asked> asked;
  for (int i = 0; i < count; ++i) {
    asked.push_back(Ask(hangs, {static_cast<uint32_t>(i), 0}));
  }
  while (source_->fired() < half) std::this_thread::yield();
  EXPECT_EQ(Bytes(Ask(*other, {0, 0})), "there");
  EXPECT_EQ(source_->fired(), half);
  answer.set_value();
  for (const FileFills::Asked& each : asked) EXPECT_EQ(Bytes(each).size(), 70'000);
}

TEST_F(FilesEngineTest, ATreeWhoseSourceHangsLeavesMemoryAndPacksToOthers) {
  options_.memory_bytes_max = 32 * kMiB;
  engine_ = std::make_unique<FilesEngine>(options_);
  for (int i = 0; i < 12; ++i) Put("large" + std::to_string(i), 6 * kMiB);
  for (int i = 0; i < 3000; ++i) Put("small/" + std::to_string(i), 60'000);
  for (int i = 0; i < 10; ++i) memory_->Put("s3://b/other/" + std::to_string(i), "there");
  memory_->Put("s3://b/other/x", std::string(8 * kMiB, 'x'));
  auto hangs = Open();
  auto other =
      engine_->catalog().Open("s3://b/other", {}, Deadline::Never()).ValueOrDie();
  std::promise<void> answer;
  auto answered = answer.get_future().share();
  source_->Add({.uri_contains = "/images/", .times = 10'000, .before = [answered] {
                  answered.wait();
                }});
  std::vector<FileFills::Asked> asked;
  for (uint32_t i = 0; i < hangs->manifest->packs().size(); ++i) {
    asked.push_back(Ask(hangs, {i, model::kPackGroup}, Need::kSomeday));
  }
  for (int i = 0; i < 12; ++i) {
    asked.push_back(Ask(hangs, Ref(hangs, "large" + std::to_string(i))));
  }
  while (source_->fired() < 2) std::this_thread::yield();
  EXPECT_EQ(Bytes(Ask(other, Ref(other, "x"))).size(), 8 * kMiB);
  EXPECT_EQ(Bytes(Ask(other, {0, model::kPackGroup}, Need::kSomeday)).size(), 50U);
  answer.set_value();
  for (const FileFills::Asked& each : asked) EXPECT_TRUE(each.future.get().ok());
}

}  // namespace
}  // namespace forebay::cache
