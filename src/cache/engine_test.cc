#include "cache/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "source/faulty_source.h"
#include "source/memory_source.h"
#include "table/sample_tables.h"

namespace forebay::cache {
namespace {

using ::testing::HasSubstr;

constexpr ClientId kClient = 1;
const std::string kUri = "mem://data/events";

std::shared_ptr<arrow::Table> Numbers(int64_t first, int64_t rows) {
  arrow::Int64Builder ids;
  arrow::StringBuilder names;
  for (int64_t i = first; i < first + rows; ++i) {
    EXPECT_TRUE(ids.Append(i).ok());
    EXPECT_TRUE(names.Append("row " + std::to_string(i)).ok());
  }
  auto schema = arrow::schema(
      {arrow::field("id", arrow::int64()), arrow::field("name", arrow::utf8())});
  return arrow::Table::Make(schema, {*ids.Finish(), *names.Finish()});
}

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 4; ++i) {
      // Large enough that each file is a unit of its own.
      memory_->Put(kUri + "/part-" + std::to_string(i) + ".parquet",
                   table::WriteParquet(*Numbers(i * 500'000, 500'000)));
    }
    auto info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::temp_directory_path() /
                 (std::string("forebay-engine-") + info->name() + "-" +
                  std::to_string(::getpid()));
    Restart();
  }
  void TearDown() override {
    view_ = {};
    engine_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Restart(uint64_t memory_cap = uint64_t{1} << 30) {
    view_ = {};
    engine_.reset();
    storage::StoreOptions store;
    store.tiers = storage::TiersOf(
        {{.medium = model::Medium::kSsd, .path = directory_, .quota_bytes = 0}});
    auto opened = storage::Store::Open(std::move(store));
    ASSERT_TRUE(opened.ok()) << opened.status();
    Engine::Options options;
    options.fill_memory_bytes = memory_cap;
    options.open_source = [this](const std::string&, const source::Options&) {
      return Result<std::shared_ptr<source::Source>>(source_);
    };
    engine_ = Engine::Make(*std::move(opened), options).ValueOrDie();
  }

  void Open() {
    auto version = engine_->catalog().Open(kUri, {}, Deadline::After(kPatience));
    ASSERT_TRUE(version.ok()) << version.status();
    view_.version = *version;
    view_.columns = *model::Project(view_.manifest().schema(), {});
  }

  std::vector<model::ChunkRef> AllRefs() const {
    std::vector<model::ChunkRef> refs;
    const model::Manifest& manifest = view_.manifest();
    for (uint32_t range = 0; range < manifest.ranges().size(); ++range) {
      uint32_t unit = manifest.ranges()[range].unit;
      for (uint32_t group : model::Groups(manifest, unit, view_.columns)) {
        refs.push_back({range, group});
      }
    }
    return refs;
  }

  Status FetchAll() {
    for (auto& future :
         engine_->fills().Request(view_, AllRefs(), {Need::kNow, kClient})) {
      if (!future.get().ok()) return future.get().status();
    }
    return Status::OK();
  }

  uint64_t bytes_read() const { return memory_->stats().bytes; }

  static constexpr milliseconds kPatience = std::chrono::seconds(30);
  std::shared_ptr<source::MemorySource> memory_ =
      std::make_shared<source::MemorySource>();
  std::shared_ptr<source::FaultySource> source_ =
      std::make_shared<source::FaultySource>(memory_);
  std::string directory_;
  std::unique_ptr<Engine> engine_;
  View view_;
};

TEST_F(EngineTest, FillsEveryChunkAndCountsIt) {
  Open();
  EXPECT_EQ(view_.manifest().row_count(), 2'000'000);
  EXPECT_EQ(engine_->Covered(view_).chunks_stored, 0);
  ASSERT_TRUE(FetchAll().ok());
  Coverage coverage = engine_->Covered(view_);
  EXPECT_EQ(coverage.chunks_stored, coverage.chunk_count);
  EXPECT_EQ(coverage.rows_stored, 2'000'000);
}

TEST_F(EngineTest, ASecondBootReadsNothingFromTheSource) {
  Open();
  ASSERT_TRUE(FetchAll().ok());
  uint64_t before = bytes_read();
  ASSERT_GT(before, 0);
  Restart();
  Open();
  ASSERT_TRUE(FetchAll().ok());
  EXPECT_EQ(bytes_read(), before);
}

TEST_F(EngineTest, ManyClientsAtOnceDecodeEachUnitOnce) {
  Open();
  std::vector<std::thread> clients;
  std::atomic<int> failures{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] { failures += FetchAll().ok() ? 0 : 1; });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(engine_->fills().counters().chunks, AllRefs().size());
}

TEST_F(EngineTest, ManyOpensAtOncePlanOnce) {
  std::vector<std::thread> clients;
  std::atomic<int> failures{0};
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      auto version = engine_->catalog().Open(kUri, {}, Deadline::After(kPatience));
      failures += version.ok() ? 0 : 1;
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(failures, 0);
  uint64_t eight = bytes_read();
  memory_->stats().bytes = 0;
  std::filesystem::remove_all(directory_);
  Restart();
  Open();
  EXPECT_EQ(bytes_read(), eight);
}

TEST_F(EngineTest, AFailedFillNamesTheFileAndCanBeTriedAgain) {
  Open();
  source_->Add({.call = source::Call::kRead,
                .uri_contains = "part-2",
                .times = 1,
                .status = Status::Permission("the keys were taken away")});
  Status status = FetchAll();
  EXPECT_EQ(status.code(), StatusCode::kPermission);
  EXPECT_THAT(status.message(), HasSubstr("part-2"));
  EXPECT_GE(source_->fired(), 1);
  EXPECT_TRUE(FetchAll().ok());
}

TEST_F(EngineTest, AnOverwrittenObjectIsAnErrorAndNeverMixed) {
  Open();
  memory_->Put(kUri + "/part-1.parquet", table::WriteParquet(*Numbers(0, 500'000)));
  Status status = FetchAll();
  EXPECT_EQ(status.code(), StatusCode::kChanged) << status;
  Open();  // the new state is another version
  EXPECT_TRUE(FetchAll().ok());
}

TEST_F(EngineTest, AnAdoptedManifestIsTheSameVersion) {
  Open();
  Hash128 version = view_.manifest().version();
  std::string bytes(view_.manifest().bytes());
  std::filesystem::remove_all(directory_);
  Restart();
  uint64_t before = bytes_read();
  auto adopted = engine_->catalog().Adopt(kUri, {}, bytes);
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  EXPECT_EQ((*adopted)->manifest->version(), version);
  EXPECT_EQ(bytes_read(), before);
  view_.version = *adopted;
  view_.columns = *model::Project(view_.manifest().schema(), {});
  EXPECT_TRUE(FetchAll().ok());
}

TEST_F(EngineTest, ForgottenClientsLeaveNoQueue) {
  Open();
  auto futures = engine_->fills().Request(view_, AllRefs(), {Need::kSoon, kClient});
  engine_->fills().Forget(kClient);
  EXPECT_EQ(engine_->fills().counters().queued, 0);
  for (auto& future : futures) {
    auto result = future.get();
    EXPECT_TRUE(result.ok() || result.status().code() == StatusCode::kCancelled);
  }
  EXPECT_TRUE(FetchAll().ok());
}

TEST_F(EngineTest, DecodingStaysUnderItsMemoryCap) {
  constexpr uint64_t kCap = 96 << 20;
  Restart(kCap);
  Open();
  ASSERT_TRUE(FetchAll().ok());
  EXPECT_LE(engine_->memory_peak_bytes(), kCap);
}

TEST_F(EngineTest, AWarmupCountsExactlyAndNamesWhatFailed) {
  Open();
  auto go_on = [](const WarmupProgress&) { return true; };
  source_->Add({.call = source::Call::kRead,
                .uri_contains = "part-3",
                .times = 1,
                .status = Status::Corrupt("rotten")});
  auto half = engine_->Warmup(view_, kClient, Deadline::After(kPatience), go_on);
  ASSERT_TRUE(half.ok()) << half.status();
  ASSERT_EQ(half->failures.size(), 1);
  EXPECT_THAT(half->failures[0], HasSubstr("part-3"));
  EXPECT_EQ(half->rows_done, 1'500'000);
  auto whole = engine_->Warmup(view_, kClient, Deadline::After(kPatience), go_on);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(whole->failures.empty());
  EXPECT_EQ(whole->rows_done, 2'000'000);
  EXPECT_EQ(whole->chunks_done, whole->chunk_count);
}

TEST_F(EngineTest, AWarmupNamesEachFileThatFailedAlsoWhereTheyShareAUnit) {
  const std::string small = "mem://data/small";
  for (int i = 0; i < 4; ++i) {
    memory_->Put(small + "/p" + std::to_string(i) + ".parquet",
                 table::WriteParquet(*Numbers(i * 10, 10)));
  }
  auto version = engine_->catalog().Open(small, {}, Deadline::After(kPatience));
  ASSERT_TRUE(version.ok()) << version.status();
  view_ = {*version, *model::Project((*version)->manifest->schema(), {})};
  ASSERT_EQ(view_.manifest().units().size(), 1u);
  memory_->Put(small + "/p1.parquet", "");
  memory_->Put(small + "/p2.parquet", table::WriteParquet(*Numbers(0, 7)));
  auto warmed = engine_->Warmup(view_, kClient, Deadline::After(kPatience),
                                [](const WarmupProgress&) { return true; });
  ASSERT_TRUE(warmed.ok()) << warmed.status();
  ASSERT_EQ(warmed->failures.size(), 2u);
  EXPECT_TRUE(warmed->failures[0].starts_with(small + "/p1.parquet: "));
  EXPECT_TRUE(warmed->failures[1].starts_with(small + "/p2.parquet: "));
  EXPECT_EQ(warmed->units_failed, 1u);
  EXPECT_EQ(warmed->rows_done, 0u);
}

TEST_F(EngineTest, TwoProjectionsShareTheirWideChunks) {
  Open();
  ASSERT_TRUE(view_.manifest().IsWide(0, 0));
  View ids = view_;
  ids.columns = {0};
  for (auto& future : engine_->fills().Request(ids, {{0, 0}}, {Need::kNow, kClient})) {
    ASSERT_TRUE(future.get().ok());
  }
  uint64_t before = bytes_read();
  for (auto& future : engine_->fills().Request(view_, {{0, 0}}, {Need::kNow, kClient})) {
    ASSERT_TRUE(future.get().ok());
  }
  EXPECT_EQ(bytes_read(), before);
}

}  // namespace
}  // namespace forebay::cache
