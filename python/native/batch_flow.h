// Batches as Python's iterators take them: made when asked for, or ahead by threads.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "native/stream_options.h"
#include "reader/batches/prefetch.h"

namespace forebay::python {

class BatchFlow {
 public:
  // `share` is what all threads together deliver. May wait.
  static Result<std::unique_ptr<BatchFlow>> Make(const reader::BatchMaker& make,
                                                 const reader::BatchShare& share,
                                                 const StreamOptions& options);
  ~BatchFlow();
  BatchFlow(const BatchFlow&) = delete;
  BatchFlow& operator=(const BatchFlow&) = delete;

  // nullopt after the last. May wait.
  Result<std::optional<reader::Batch>> Next();
  // Whether Next() would return without waiting. Not known without prefetching.
  bool ready() const { return prefetch_ != nullptr && prefetch_->ready(); }
  // Ends the wait of a thread that is in Next(), soon. From any thread.
  void Cancel() { cancelled_ = true; }
  // Seconds that the last Next() waited for a prefetched batch.
  double waited() const;
  const plan::Shards& shards() const { return shards_; }

 private:
  explicit BatchFlow(plan::Shards shards) : shards_(std::move(shards)) {}

  plan::Shards shards_;
  std::unique_ptr<reader::Batches> batches_;  // or
  std::unique_ptr<reader::Prefetch> prefetch_;
  std::atomic<bool> cancelled_{false};
  std::atomic<pid_t> busy_in_{0};
};

}  // namespace forebay::python
