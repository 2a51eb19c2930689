#include "reader/batches/prefetch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support/no_threads.h"

namespace forebay::reader {
namespace {

// Batches that are their steps; one step may fail some times first.
class Steps : public Batches {
 public:
  struct Faults {
    uint64_t step = UINT64_MAX;
    std::atomic<int> left{0};
  };

  Steps(const BatchShare& share, std::shared_ptr<Faults> faults)
      : shards_(plan::Shards::Make(share.shards).ValueOrDie()),
        next_(share.start_step),
        faults_(std::move(faults)) {}

  Result<std::optional<Batch>> Next() override {
    if (next_ >= shards_.worker_step_count()) return std::optional<Batch>();
    uint64_t step = shards_.WorkerStep(next_);
    if (step == faults_->step && faults_->left-- > 0) {
      return Status::Unavailable("the node is away");
    }
    if (step % 7 == 0) std::this_thread::yield();
    Batch batch;
    batch.step = step;
    batch.row_count = shards_.At(step).count;
    ++next_;
    return std::optional<Batch>(std::move(batch));
  }

 private:
  plan::Shards shards_;
  uint64_t next_;
  std::shared_ptr<Faults> faults_;
};

struct Setting {
  PrefetchOptions options{};
  std::shared_ptr<Steps::Faults> faults = std::make_shared<Steps::Faults>();

  explicit Setting(uint64_t rows) {
    options.share.shards = {
        .rows = rows, .batch_size = 10, .remainder = plan::Remainder::kKeep};
  }
  std::unique_ptr<Prefetch> Make() {
    auto make =
        [faults = faults](const BatchShare& share) -> Result<std::unique_ptr<Batches>> {
      return std::unique_ptr<Batches>(std::make_unique<Steps>(share, faults));
    };
    return Prefetch::Make(make, options).ValueOrDie();
  }
};

std::vector<uint64_t> StepsOf(Prefetch& prefetch) {
  std::vector<uint64_t> steps;
  while (auto batch = prefetch.Next().ValueOrDie()) steps.push_back(batch->step);
  return steps;
}

std::vector<uint64_t> Every(uint64_t first, uint64_t end, uint64_t by = 1) {
  std::vector<uint64_t> steps;
  for (uint64_t i = first; i < end; i += by) steps.push_back(i);
  return steps;
}

TEST(Prefetch, KeepsTheOrderOfOneStreamWithAnyNumberOfThreads) {
  for (uint32_t threads : {1U, 2U, 3U, 8U}) {
    for (uint64_t start : {0U, 1U, 5U, 100U}) {
      Setting setting(1005);
      setting.options.threads = threads;
      setting.options.share.start_step = start;
      EXPECT_EQ(StepsOf(*setting.Make()), Every(start, 101)) << threads << ' ' << start;
    }
  }
}

TEST(Prefetch, SaysThatNoThreadCanBeStarted) {
  Setting setting(100);
  auto make = [&](const BatchShare& share) -> Result<std::unique_ptr<Batches>> {
    return std::unique_ptr<Batches>(std::make_unique<Steps>(share, setting.faults));
  };
  testing_support::NoThreads limit;
  EXPECT_EQ(Prefetch::Make(make, setting.options).status().code(), StatusCode::kFull);
}

TEST(Prefetch, DeliversTheStepsOfAWorkerOnly) {
  Setting setting(1000);
  setting.options.threads = 3;
  setting.options.share.shards.worker_count = 4;
  setting.options.share.shards.worker = 2;
  EXPECT_EQ(StepsOf(*setting.Make()), Every(2, 100, 4));
}

TEST(Prefetch, AfterAnErrorTheSameBatchIsNext) {
  Setting setting(1000);
  setting.options.threads = 2;
  setting.faults->step = 31;
  setting.faults->left = 2;
  auto prefetch = setting.Make();
  for (uint64_t step = 0; step < 31; ++step) {
    EXPECT_EQ(prefetch->Next().ValueOrDie()->step, step);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(prefetch->Next().status().code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(StepsOf(*prefetch), Every(31, 100));
}

TEST(Prefetch, NothingIsLeftPastTheEnd) {
  Setting setting(0);
  setting.options.threads = 4;
  auto prefetch = setting.Make();
  EXPECT_FALSE(prefetch->Next().ValueOrDie());
  EXPECT_FALSE(prefetch->Next().ValueOrDie());
}

TEST(Prefetch, EndsInTheMiddle) {
  for (int i = 0; i < 50; ++i) {
    Setting setting(100000);
    setting.options.threads = 3;
    auto prefetch = setting.Make();
    for (int k = 0; k < i; ++k) prefetch->Next().ValueOrDie();
  }
}

TEST(Prefetch, IsAnErrorInAForkedChildAndNoHang) {
  Setting setting(1000);
  auto prefetch = setting.Make();
  prefetch->Next().ValueOrDie();
  pid_t child = ::fork();
  if (child == 0) {
    bool refused = prefetch->Next().status().code() == StatusCode::kInvalid;
    prefetch.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A stream whose batches never come, until it is given up.
class Stuck : public Batches {
 public:
  Result<std::optional<Batch>> Next() override {
    while (!released) std::this_thread::yield();
    return std::optional<Batch>();
  }
  static inline std::atomic<bool> released{false};
};

TEST(Prefetch, AWaitCanBeInterrupted) {
  Setting setting(1000);
  auto make = [](const BatchShare&) -> Result<std::unique_ptr<Batches>> {
    return std::unique_ptr<Batches>(std::make_unique<Stuck>());
  };
  auto prefetch = Prefetch::Make(make, setting.options).ValueOrDie();
  EXPECT_FALSE(prefetch->ready());
  auto ended = prefetch->Next([] { return true; });
  EXPECT_EQ(ended.status().code(), StatusCode::kCancelled);
  Stuck::released = true;
}

}  // namespace
}  // namespace forebay::reader
