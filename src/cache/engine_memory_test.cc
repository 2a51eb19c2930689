// Fills and plans under a small memory budget: all of them succeed, and the source is
// read once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cache/engine.h"
#include "cache/sample_engine.h"
#include "cache/unit_chunks.h"
#include "support/no_threads.h"

namespace forebay::cache {
namespace {

using ::testing::HasSubstr;

constexpr ClientId kClient = 1;
constexpr uint64_t kRangeBytes = 512 * kKiB;
const std::string kUri = "mem://data/events";

class EngineMemoryTest : public ::testing::Test {
 protected:
  struct Shape {
    uint64_t memory = uint64_t{1} << 30;
    size_t fill_threads = 1;
    size_t read_threads = 4;
  };

  // An engine with an empty store.
  void Start(const Shape& shape) {
    engine_.reset();
    folder_.Clear();
    memory_->stats().bytes = 0;
    engine_ =
        Engine::Make(
            folder_.OpenStore(),
            Engine::Options{.fill_memory_bytes = shape.memory,
                            .fill_threads = shape.fill_threads,
                            .read_threads = shape.read_threads,
                            .open_source =
                                [this](const std::string&, const source::Options&) {
                                  return Result<std::shared_ptr<source::Source>>(memory_);
                                },
                            .range_bytes = kRangeBytes})
            .ValueOrDie();
  }

  // Files of one row group, and of one unit each. The first is the largest.
  void PutFiles(int count, int64_t rows, size_t name_bytes) {
    for (int i = 0; i < count; ++i) {
      int64_t own = i == 0 ? rows * 2 : rows;
      memory_->Put(kUri + "/part-" + std::to_string(100 + i) + ".parquet",
                   table::WriteParquet(*Noise(i * 100'000, own, name_bytes)));
    }
  }

  Result<View> Open(const std::string& filter = "") {
    source::Options options;
    if (!filter.empty()) options["forebay.filter"] = filter;
    FB_ASSIGN_OR_RETURN(
        auto version, engine_->catalog().Open(kUri, options, Deadline::After(kPatience)));
    return WholeView(version);
  }

  // All units at once.
  std::vector<Status> Fill(const View& view) {
    std::vector<std::vector<ChunkFuture>> units;
    for (uint32_t i = 0; i < view.manifest().units().size(); ++i) {
      units.push_back(engine_->fills().Request(
          view, UnitChunks(view.manifest(), i, view.columns), {Need::kNow, kClient}));
    }
    std::vector<Status> out;
    for (const auto& unit : units) {
      Status status;
      for (const ChunkFuture& future : unit) {
        if (!future.get().ok()) status = future.get().status();
      }
      out.push_back(status);
    }
    return out;
  }
  void ExpectFilled(const View& view) {
    for (const Status& status : Fill(view)) EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(engine_->fills().counters().failed_fills, 0);
  }

  uint64_t bytes_read() const { return memory_->stats().bytes; }

  static constexpr milliseconds kPatience = std::chrono::minutes(2);
  SampleFolder folder_;
  std::shared_ptr<source::MemorySource> memory_ =
      std::make_shared<source::MemorySource>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineMemoryTest, EveryUnitIsFilledOnceWhateverTheThreadsAndTheCap) {
  PutFiles(24, 3000, 150);
  Start({});
  View view = Open().ValueOrDie();
  ASSERT_EQ(view.manifest().units().size(), 24);
  ExpectFilled(view);
  uint64_t once = bytes_read();
  uint64_t largest = engine_->memory_peak_bytes();
  for (size_t threads : {1, 4, 24, 64}) {
    // As 128 MiB are to a unit of 53 MiB; hardly more than a unit; room for several.
    for (uint64_t memory : {largest * 128 / 53, largest * 9 / 8, largest * 8}) {
      Start({.memory = memory, .fill_threads = threads});
      ExpectFilled(Open().ValueOrDie());
      EXPECT_EQ(bytes_read(), once) << threads << " threads, " << memory << " bytes";
      EXPECT_LE(engine_->memory_peak_bytes(), memory);
    }
  }
}

TEST_F(EngineMemoryTest, ThereIsRoomForSeveralFillsAtOnce) {
  PutFiles(8, 3000, 150);
  Start({});
  ExpectFilled(Open().ValueOrDie());
  uint64_t largest = engine_->memory_peak_bytes();
  Start({.memory = largest * 16, .fill_threads = 8});
  ExpectFilled(Open().ValueOrDie());
  EXPECT_GT(engine_->memory_peak_bytes(), largest);
}

TEST_F(EngineMemoryTest, FilteredFoldersOfManyLargeFilesOpenUnderASmallCap) {
  PutFiles(24, 3000, 150);
  const std::string filter = "name >= 'a'";
  Start({.read_threads = 1});
  (void)Open(filter).ValueOrDie();
  uint64_t once = bytes_read();
  uint64_t largest = engine_->memory_peak_bytes();
  for (uint64_t memory : {largest * 9 / 8, largest * 4}) {
    for (int i = 0; i < 3; ++i) {
      Start({.memory = memory, .read_threads = 16});
      auto view = Open(filter);
      ASSERT_TRUE(view.ok()) << view.status();
      EXPECT_EQ(bytes_read(), once);
      EXPECT_LE(engine_->memory_peak_bytes(), memory);
    }
  }
}

TEST_F(EngineMemoryTest, FillsAndPlansShareOneBudget) {
  PutFiles(20, 3000, 150);
  Start({});
  View view = Open().ValueOrDie();
  ExpectFilled(view);
  uint64_t largest = engine_->memory_peak_bytes();
  for (size_t read_threads : {1, 16}) {
    Start({.memory = largest * 3 / 2, .fill_threads = 8, .read_threads = read_threads});
    view = Open().ValueOrDie();
    std::vector<std::thread> openers;
    for (int i = 0; i < 4; ++i) {
      openers.emplace_back([&, i] {
        auto opened =
            Open("name >= '" + std::string(1, static_cast<char>('a' + i)) + "'");
        EXPECT_TRUE(opened.ok()) << opened.status();
      });
    }
    ExpectFilled(view);
    for (auto& opener : openers) opener.join();
    EXPECT_LE(engine_->memory_peak_bytes(), largest * 3 / 2);
  }
}

TEST_F(EngineMemoryTest, AnEngineWithoutThreadsIsAnError) {
  testing_support::NoThreads limit;
  auto engine = Engine::Make(folder_.OpenStore(), {});
  EXPECT_EQ(engine.status().code(), StatusCode::kFull);
  EXPECT_THAT(engine.status().message(), HasSubstr("ulimit -u"));
}

TEST_F(EngineMemoryTest, AUnitLargerThanTheCapSaysSoAndStopsNobodyElse) {
  PutFiles(8, 300, 150);
  // A value of 4 MiB cannot be decoded in 2 MiB.
  memory_->Put(kUri + "/part-104.parquet", table::WriteParquet(*Noise(0, 2, 4 * kMiB)));
  Start({.memory = 2 * kMiB, .fill_threads = 4});
  auto opened = Open();
  ASSERT_TRUE(opened.ok()) << opened.status();
  int failed = 0;
  for (const Status& status : Fill(*opened)) {
    if (status.ok()) continue;
    ++failed;
    EXPECT_EQ(status.code(), StatusCode::kFull);
    EXPECT_THAT(status.message(), HasSubstr("part-104.parquet"));
    EXPECT_THAT(status.message(), HasSubstr("cap of 2.0 MiB"));
    EXPECT_THAT(status.message(), HasSubstr("nothing else was being decoded"));
    EXPECT_THAT(status.message(), HasSubstr("--fill-memory"));
  }
  EXPECT_EQ(failed, 1);
}

TEST_F(EngineMemoryTest, AUnitThatTakesMoreThanItsFooterTellsRunsAgainAlone) {
  // ORC footers tell nothing of how long strings are that repeat.
  arrow::StringBuilder names;
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(names.Append(std::string(1000, 'a')).ok());
  auto table = arrow::Table::Make(arrow::schema({arrow::field("name", arrow::utf8())}),
                                  {*names.Finish()});
  constexpr int kFiles = 12;
  for (int i = 0; i < kFiles; ++i) {
    memory_->Put(kUri + "/part-" + std::to_string(100 + i) + ".orc",
                 table::WriteOrc(*table));
  }
  Start({});
  ExpectFilled(Open().ValueOrDie());
  uint64_t largest = engine_->memory_peak_bytes();
  uint64_t once = bytes_read();
  for (size_t threads : {1, 4, 16}) {
    Start({.memory = largest * 5 / 4, .fill_threads = threads});
    ExpectFilled(Open().ValueOrDie());
    EXPECT_LE(engine_->memory_peak_bytes(), largest * 5 / 4);
    EXPECT_LT(bytes_read(), 2 * once);
  }
}

}  // namespace
}  // namespace forebay::cache
