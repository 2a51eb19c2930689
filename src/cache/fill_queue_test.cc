#include "cache/fill_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>

#include "cache/catalog.h"
#include "cache/peers.h"
#include "cache/sample_engine.h"
#include "cache/unit_chunks.h"
#include "table/capped_memory_pool.h"

namespace forebay::cache {
namespace {

using ::testing::HasSubstr;

constexpr ClientId kAnna = 1;
constexpr ClientId kBert = 2;
const std::string kUri = "mem://data/events";

using BringCall =
    std::function<Result<std::vector<FillChunk>>(const FillRequest&, const FillContext&)>;

class ScriptedPeers : public Peers {
 public:
  explicit ScriptedPeers(BringCall bring) : bring_(std::move(bring)) {}
  Result<std::vector<FillChunk>> Bring(const FillRequest& request,
                                       const FillContext& context) override {
    return bring_(request, context);
  }

 private:
  BringCall bring_;
};

class FillQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) {
      memory_->Put(kUri + "/part-" + std::to_string(i) + ".parquet",
                   table::WriteParquet(*Noise(i * 1000, 1000, 100)));
    }
    catalog_ = std::make_unique<Catalog>(
        Catalog::Options{.store = store_.get(),
                         .pool = &read_pool_,
                         .memory = arrow::default_memory_pool(),
                         .open_source =
                             [this](const std::string&, const source::Options&) {
                               return Result<std::shared_ptr<source::Source>>(source_);
                             },
                         .range_bytes = 64 * kKiB});
    auto version = catalog_->Open(kUri, {}, Deadline::After(std::chrono::minutes(1)));
    view_ = WholeView(version.ValueOrDie());
    ASSERT_EQ(view_.manifest().units().size(), 3);
  }

  void Start(BringCall bring = {}) {
    if (bring) {
      auto version = std::make_shared<Version>(*view_.version);
      version->peers = std::make_shared<ScriptedPeers>(std::move(bring));
      view_.version = version;
    }
    queue_ = std::make_unique<FillQueue>(
        FillQueue::Options{.store = store_.get(),
                           .memory = arrow::default_memory_pool(),
                           .budget = &budget_,
                           .read_pool = &read_pool_,
                           .thread_count = threads_,
                           .unit_timeout = timeout_});
  }

  std::vector<ChunkFuture> Ask(uint32_t unit, Need need, ClientId client) {
    return queue_->Request(view_, UnitChunks(view_.manifest(), unit, view_.columns),
                           {need, client});
  }
  static Status Wait(const std::vector<ChunkFuture>& futures) {
    for (const ChunkFuture& future : futures) {
      if (!future.get().ok()) return future.get().status();
    }
    return Status::OK();
  }
  void RemoveFile(const Hash128& key) const {
    namespace fs = std::filesystem;
    size_t removed = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      bool is_it = entry.path().filename().string().starts_with(key.ToHex());
      if (is_it) removed += fs::remove(entry.path()) ? 1 : 0;
    }
    ASSERT_EQ(removed, 1U);
  }
  static bool Ready(const std::vector<ChunkFuture>& futures) {
    return futures[0].wait_for(milliseconds(0)) == std::future_status::ready;
  }
  void AwaitWaiting(size_t count) const {
    while (budget_.waiting() != count) std::this_thread::yield();
  }

  size_t threads_ = 1;
  milliseconds timeout_ = std::chrono::minutes(1);
  SampleFolder folder_;
  std::shared_ptr<source::MemorySource> memory_ =
      std::make_shared<source::MemorySource>();
  std::shared_ptr<source::FaultySource> source_ =
      std::make_shared<source::FaultySource>(memory_);
  std::unique_ptr<storage::Store> store_ = folder_.OpenStore();
  ThreadPool read_pool_{2};
  MemoryBudget budget_{1};  // so that fills run one after the other
  std::unique_ptr<Catalog> catalog_;
  View view_;
  std::unique_ptr<FillQueue> queue_;
};

// Threads that have just started look for jobs while the request is still being made.
TEST_F(FillQueueTest, GroupsOfAUnitThatAreAskedForTogetherShareOneFill) {
  threads_ = 4;
  auto refs = UnitChunks(view_.manifest(), 0, view_.columns);
  ASSERT_GT(refs.size(), 1U);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> fills{0};
    Start([&](const FillRequest& request, const FillContext&) {
      ++fills;
      return request.chunks;
    });
    ASSERT_EQ(Wait(Ask(0, Need::kNow, kAnna)), Status::OK());
    ASSERT_EQ(fills, 1) << round;
    queue_.reset();
    for (const auto& ref : refs) ASSERT_TRUE(store_->Remove(view_.Key(ref)).ok());
  }
}

// Another process removed the chunk, and the thread that finds out takes its time.
TEST_F(FillQueueTest, WaitsForAVerificationNoLongerThanItIsTold) {
  Start();
  ASSERT_EQ(Wait(Ask(0, Need::kNow, kAnna)), Status::OK());
  queue_.reset();
  std::promise<void> entered, leave;
  storage::StoreOptions options;
  options.on_evict = [&, left = leave.get_future().share()](const Hash128&) {
    entered.set_value();
    left.wait();
  };
  store_ = folder_.OpenStore(std::move(options), 0);
  model::ChunkRef ref = UnitChunks(view_.manifest(), 0, view_.columns)[0];
  RemoveFile(view_.Key(ref));
  Start();
  auto finder = std::async(std::launch::async,
                           [&] { return store_->Get(view_.Key(ref)).status().code(); });
  entered.get_future().wait();
  auto futures = queue_->Request(view_, {ref},
                                 {Need::kNow, kAnna, Deadline::After(milliseconds(20))});
  EXPECT_EQ(futures[0].get().status().code(), StatusCode::kDeadline);
  leave.set_value();
  EXPECT_EQ(finder.get(), StatusCode::kNotFound);
  EXPECT_EQ(Wait(queue_->Request(view_, {ref}, {Need::kNow, kAnna})), Status::OK());
}

// The only thread fills unit 0 until it is told to go on.
class BusyFillQueueTest : public FillQueueTest {
 protected:
  void StartBusy() {
    Start([this](const FillRequest& request, const FillContext&) {
      if (request.unit == 0) {
        started_.count_down();
        go_on_.wait();
      }
      return request.chunks;
    });
    running_ = Ask(0, Need::kNow, kAnna);
    started_.wait();
  }

  std::latch started_{1}, go_on_{1};
  std::vector<ChunkFuture> running_;
};

TEST_F(BusyFillQueueTest, AQueuedFillOutlivesAllButItsLastClient) {
  StartBusy();
  auto of_anna = Ask(1, Need::kSoon, kAnna);
  auto of_both = Ask(2, Need::kSoon, kAnna);
  auto again = Ask(2, Need::kSoon, kBert);
  EXPECT_EQ(queue_->counters().queued, 2);
  queue_->Forget(kAnna);
  EXPECT_EQ(queue_->counters().queued, 1);
  EXPECT_EQ(Wait(of_anna).code(), StatusCode::kCancelled);
  EXPECT_FALSE(Ready(of_both));
  queue_->Forget(kAnna);  // who has left leaves nothing more
  EXPECT_EQ(queue_->counters().queued, 1);
  go_on_.count_down();
  EXPECT_TRUE(Wait(running_).ok());  // a running fill ends
  EXPECT_TRUE(Wait(of_both).ok());
  EXPECT_TRUE(Wait(again).ok());
}

TEST_F(BusyFillQueueTest, AStrangerWhoLeavesCancelsNothing) {
  StartBusy();
  auto queued = Ask(1, Need::kNow, kAnna);
  queue_->Forget(kBert);
  EXPECT_EQ(queue_->counters().queued, 1);
  go_on_.count_down();
  EXPECT_TRUE(Wait(queued).ok());
}

TEST_F(BusyFillQueueTest, AFillThatIsNeededSoonerOvertakes) {
  StartBusy();
  auto second = Ask(1, Need::kSoon, kAnna);
  auto third = Ask(2, Need::kSomeday, kAnna);
  Ask(2, Need::kNow, kBert);
  // Fills of the second fail from now on, once the third is there.
  source_->Add({.uri_contains = "part-1",
                .status = Status::Permission("too early"),
                .before = [&] { EXPECT_TRUE(Ready(third)); }});
  go_on_.count_down();
  EXPECT_EQ(Wait(second).code(), StatusCode::kPermission);
  EXPECT_TRUE(Wait(third).ok());
  EXPECT_EQ(source_->fired(), 1);
}

TEST_F(BusyFillQueueTest, QueuedFillsAreCancelledWhenTheQueueEnds) {
  StartBusy();
  auto queued = Ask(1, Need::kNow, kAnna);
  std::thread ends([&] { queue_.reset(); });
  EXPECT_EQ(Wait(queued).code(), StatusCode::kCancelled);
  // It has not begun to read its source.
  go_on_.count_down();
  ends.join();
  EXPECT_EQ(Wait(running_).code(), StatusCode::kCancelled);
}

// The source would hang until the fill's own deadline.
TEST_F(FillQueueTest, StopEndsAFillWhoseSourceHangs) {
  timeout_ = milliseconds(10'000);
  Start();
  source_->Add({.hang = true});
  auto running = Ask(0, Need::kNow, kAnna);
  while (source_->fired() == 0) std::this_thread::yield();
  auto queued = Ask(1, Need::kNow, kAnna);
  auto start = std::chrono::steady_clock::now();
  queue_->Stop();
  Status status = Wait(running);
  EXPECT_EQ(status.code(), StatusCode::kCancelled) << status;
  EXPECT_EQ(Wait(queued).code(), StatusCode::kCancelled);
  EXPECT_EQ(Wait(Ask(2, Need::kNow, kAnna)).code(), StatusCode::kCancelled) << "too late";
  queue_.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(2'000));
}

TEST_F(FillQueueTest, StopIsHeardByAFillThatWaitsForPeers) {
  timeout_ = milliseconds(10'000);
  std::latch asked(1);
  std::atomic<bool> stopped{false};
  Start([&](const FillRequest& request, const FillContext& context) {
    asked.count_down();
    while (!context.deadline.passed()) std::this_thread::yield();
    stopped = context.deadline.stopped();
    return request.chunks;
  });
  auto running = Ask(0, Need::kNow, kAnna);
  asked.wait();
  queue_->Stop();
  EXPECT_EQ(Wait(running).code(), StatusCode::kCancelled);
  EXPECT_TRUE(stopped);
}

TEST_F(FillQueueTest, AFillThatFailsDoesNotAnswerForALaterFillOfAChunkItBrought) {
  threads_ = 2;
  std::latch brought(1), first_may_fail(1), second_may_go_on(1);
  std::atomic<int> fills{0};
  Start([&](const FillRequest& request,
            const FillContext& context) -> Result<std::vector<FillChunk>> {
    if (++fills == 2) {
      second_may_go_on.wait();
      return request.chunks;
    }
    const FillChunk& chunk = request.chunks[0];
    auto writer = store_->Create(chunk.key, model::ChunkKind::kTable, 4).ValueOrDie();
    EXPECT_TRUE(writer->Append("rows", 4).ok());
    context.on_chunk(chunk, writer->Commit().ValueOrDie(), {});
    brought.count_down();
    first_may_fail.wait();
    return Status::Permission("the keys were taken away");
  });
  auto refs = UnitChunks(view_.manifest(), 0, view_.columns);
  ASSERT_GE(refs.size(), 2);
  auto first = Ask(0, Need::kNow, kAnna);
  brought.wait();
  // Its first chunk is evicted, and needed again before the fill has ended.
  ASSERT_TRUE(first[0].get().ok());
  ASSERT_TRUE(store_->Remove(view_.Key(refs[0])).ok());
  auto again = queue_->Request(view_, {refs[0]}, {Need::kNow, kBert});
  first_may_fail.count_down();
  EXPECT_EQ(first[1].get().status().code(), StatusCode::kPermission);
  EXPECT_FALSE(Ready(again));
  second_may_go_on.count_down();
  EXPECT_TRUE(Wait(again).ok()) << Wait(again);
  EXPECT_EQ(fills, 2);
}

// No tier takes a chunk.
class LentFillTest : public FillQueueTest {
 protected:
  LentFillTest() {
    storage::StoreOptions options;
    options.tiers =
        storage::TiersOf({{.medium = model::Medium::kMem, .path = "", .quota_bytes = 1}});
    store_ = storage::Store::Open(std::move(options)).ValueOrDie();
  }
  uint64_t lent() const { return store_->Stats().borrowed_bytes; }
};

TEST_F(LentFillTest, AWarmUpHoldsNoMemoryOfWhatItCounted) {
  Start();
  auto warmed = Ask(0, Need::kSomeday, kAnna);
  ASSERT_TRUE(Wait(warmed).ok());
  EXPECT_GT(warmed[0].get()->chunk.size, 0U);
  while (queue_->counters().running > 0) std::this_thread::yield();
  EXPECT_EQ(lent(), 0U);
  auto wanted = Ask(1, Need::kSoon, kAnna);
  ASSERT_TRUE(Wait(wanted).ok());
  EXPECT_GT(lent(), 0U) << "a reader comes for it";
  EXPECT_NE(wanted[0].get()->chunk.fd, nullptr);
}

// Here the fills wait for memory, which the test holds.
class FillMemoryTest : public FillQueueTest {
 protected:
  void Hold() { held_ = *budget_.TryReserve(budget_.capacity_bytes()); }
  void GiveBack() { held_ = {}; }

  MemoryBudget::Reservation held_;
};

TEST_F(FillMemoryTest, AFillStartsOnceThereIsMemory) {
  Start();
  Hold();
  uint64_t before = memory_->stats().requests;
  auto futures = Ask(0, Need::kNow, kAnna);
  AwaitWaiting(1);
  EXPECT_FALSE(Ready(futures));
  EXPECT_EQ(memory_->stats().requests, before);
  GiveBack();
  EXPECT_TRUE(Wait(futures).ok());
  queue_.reset();
  EXPECT_EQ(budget_.reserved_bytes(), 0);
}

TEST_F(FillMemoryTest, AFillThatWaitsForMemoryIsDroppedWithItsLastClient) {
  Start();
  Hold();
  auto futures = Ask(0, Need::kNow, kAnna);
  auto shared = Ask(0, Need::kNow, kBert);
  AwaitWaiting(1);
  queue_->Forget(kAnna);
  EXPECT_FALSE(Ready(futures));
  EXPECT_EQ(budget_.waiting(), 1);
  queue_->Forget(kBert);
  EXPECT_EQ(Wait(futures).code(), StatusCode::kCancelled);
  // Whoever asks now gets a fill of its own.
  auto later = Ask(0, Need::kNow, kAnna);
  GiveBack();
  EXPECT_TRUE(Wait(later).ok()) << Wait(later);
  EXPECT_EQ(queue_->counters().failed_fills, 1);
}

TEST_F(FillMemoryTest, AFillThatWaitsForMemoryCanBeRaised) {
  threads_ = 2;
  Start();
  Hold();
  auto first = Ask(0, Need::kSoon, kAnna);
  AwaitWaiting(1);
  auto second = Ask(1, Need::kSomeday, kAnna);
  AwaitWaiting(2);
  Ask(1, Need::kNow, kBert);
  std::atomic<bool> in_order{true};
  source_->Add({.uri_contains = "part-0", .times = 1, .before = [&] {
                  in_order = Ready(second);
                }});
  GiveBack();
  EXPECT_TRUE(Wait(first).ok());
  EXPECT_TRUE(Wait(second).ok());
  EXPECT_TRUE(in_order);
  EXPECT_EQ(source_->fired(), 1);
}

TEST_F(FillMemoryTest, ADeadlineEndsTheWaitForMemory) {
  timeout_ = milliseconds(1);
  Start();
  Hold();
  Status status = Wait(Ask(0, Need::kNow, kAnna));
  EXPECT_EQ(status.code(), StatusCode::kDeadline);
  EXPECT_THAT(status.message(), HasSubstr("memory"));
}

TEST_F(FillMemoryTest, FillsThatWaitForMemoryAreCancelledWhenTheQueueEnds) {
  Start();
  Hold();
  auto futures = Ask(0, Need::kNow, kAnna);
  AwaitWaiting(1);
  queue_.reset();
  EXPECT_EQ(Wait(futures).code(), StatusCode::kCancelled);
}

// Two nodes that each wait for the other would else keep each other from filling.
TEST_F(FillMemoryTest, NothingIsReservedWhileAFillWaitsForPeers) {
  std::latch asked(1), go_on(1);
  Start([&](const FillRequest& request, const FillContext&) {
    asked.count_down();
    go_on.wait();
    return request.chunks;
  });
  auto futures = Ask(0, Need::kNow, kAnna);
  asked.wait();
  EXPECT_EQ(budget_.reserved_bytes(), 0);
  go_on.count_down();
  EXPECT_TRUE(Wait(futures).ok());
}

}  // namespace
}  // namespace forebay::cache
