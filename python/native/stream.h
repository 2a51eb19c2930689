// The batches of one worker of one rank, as Python iterates them.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "native/batch.h"
#include "native/table.h"
#include "reader/batch_stream.h"
#include "reader/prefetch.h"

namespace forebay::python {

struct StreamOptions {
  std::optional<std::vector<std::string>> columns;
  std::string shuffle = "sequential";
  std::string remainder = "drop";
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t batch_size = 0;
  uint64_t global_batch_size = 0;
  uint64_t world_size = 1;
  uint64_t rank = 0;
  uint64_t worker_count = 1;
  uint64_t worker = 0;
  uint64_t start_step = 0;
  uint64_t start_position = 0;  // rows of the epoch that all ranks consumed before
  uint64_t window_ranges = plan::kWindowRangesDefault;
  bool writable = false;
  uint32_t threads = 0;  // that prefetch; 0: batches are made when they are asked for
  uint32_t ahead = 4;    // batches that are prefetched
  std::shared_ptr<reader::BufferPool> pool{};  // to gather into; null: the table's
};

// The order these options ask for; its rows and ranges are the table's.
Result<plan::Order::Options> OrderOptions(const StreamOptions& options);
// The share these options ask for; its rows are the table's.
Result<plan::ShardOptions> ShardOptionsOf(const StreamOptions& options);

// One thread at a time; a second one gets an error, not a wait.
class Stream {
 public:
  static std::shared_ptr<Stream> Make(const Table& table, const StreamOptions& options);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  std::optional<Batch> Next();
  // Whether Next() would return without waiting. Not known without prefetching.
  bool ready() const { return prefetch_ != nullptr && prefetch_->ready(); }
  // Ends the wait of a thread that is in Next(), soon. From any thread.
  void Cancel() { cancelled_ = true; }
  uint64_t step_count() const { return shards().worker_step_count(); }
  uint64_t dropped_rows() const { return shards().dropped_rows(); }
  // Steps of the whole rank, from the start position on.
  uint64_t rank_step_count() const { return shards().step_count(); }
  // Rows of the epoch consumed once every rank has delivered so many steps.
  uint64_t PositionAfter(uint64_t steps) const { return shards().PositionAfter(steps); }
  // Seconds that the last next() waited for a prefetched batch.
  double waited() const;
  ArrowFields fields() const;
  // Without Python: for consumers of an Arrow stream.
  Result<std::optional<reader::Batch>> NextColumns();

 private:
  Stream(const Table& table, const StreamOptions& options, Selection selection);

  std::shared_ptr<reader::RemoteTable> remote_;
  std::shared_ptr<reader::BufferPool> pool_;
  Selection selection_;
  bool padded_;
  const plan::Shards& shards() const {
    return prefetch_ != nullptr ? prefetch_->shards() : stream_->shards();
  }

  std::unique_ptr<reader::BatchStream> stream_;  // or
  std::unique_ptr<reader::Prefetch> prefetch_;
  std::atomic<bool> cancelled_{false};
  std::atomic<pid_t> busy_in_{0};
};

void BindStream(nanobind::module_& m);

}  // namespace forebay::python
