// Fills waiting to run, in order of need, each chunk at most once at a time. Thread-safe.
//
// A job fills one unit for one view. Whoever needs a chunk that a job already covers
// waits for that job (single flight). Jobs run on threads of the queue's own: as many for
// those that wait for fills of other nodes as for the rest, or two nodes whose threads
// all wait would wait for each other. A job starts to read its source once the memory
// that it takes is free: the more urgent first, then the older. Until then it may still
// be raised and dropped like one in the queue.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cache/fill.h"

namespace forebay::cache {

// A chunk that was stored, or was brought by a fill that took so long.
struct Brought {
  storage::Chunk chunk;
  FillTimes times{};
};
using ChunkFuture = std::shared_future<Result<Brought>>;

// Who asks: a session of the node. When it ends, what only it wanted is dropped.
using ClientId = uint64_t;

enum class Need : int {
  kNow = 0,      // a reader waits
  kSoon = 1,     // a reader said it will need it
  kSomeday = 2,  // a warm-up
};

// As it is handed to those who asked. A warm-up only counts, so memory that was lent for
// the chunk is given back at once.
Brought BroughtFor(Need need, storage::Chunk chunk, FillTimes times);

// How chunks are asked for.
struct RequestOptions {
  Need need = Need::kNow;
  ClientId client = 0;
  // Of looking into the store, which may be verifying the chunk for somebody else.
  Deadline deadline = Deadline::Never();
};

class FillQueue {
 public:
  struct Options {
    storage::Store* store = nullptr;
    arrow::MemoryPool* memory = nullptr;
    MemoryBudget* budget = nullptr;  // of `memory`; nullptr: nobody counts
    ThreadPool* read_pool = nullptr;
    table::FooterCache* footers = nullptr;
    size_t thread_count = 2;
    milliseconds unit_timeout = std::chrono::minutes(15);
  };
  struct Counters {
    uint64_t fills = 0;
    uint64_t failed_fills = 0;
    uint64_t chunks = 0;
    uint64_t queued = 0;
    uint64_t running = 0;  // those that wait for memory among them
  };

  explicit FillQueue(Options options);
  ~FillQueue();  // stops, and waits for running fills to end
  // kFull: threads could not be started, and requests would wait for ever.
  const Status& status() const { return status_; }

  // Futures in the order of `refs`. Everything missing of a unit in the asked-for groups
  // is filled with it, since the unit is decoded anyway.
  std::vector<ChunkFuture> Request(const View& view,
                                   const std::vector<model::ChunkRef>& refs,
                                   const RequestOptions& with);
  // Drops jobs that nobody else asked for and that did not start to read.
  void Forget(ClientId client);
  // Fills that wait or run end soon with kCancelled, and so does what is asked for later
  // and not stored.
  void Stop();
  Counters counters() const;

 private:
  struct Pending;
  struct Job;
  using Rank = std::pair<int, uint64_t>;  // need, then age
  using UnitKey = std::tuple<const Version*, uint32_t, model::Projection>;

  ChunkFuture Join(const View& view, model::ChunkRef ref, const RequestOptions& with);
  ChunkFuture StoredSince(const Hash128& key);
  std::shared_ptr<Job> QueuedJob(const View& view, uint32_t unit);
  void Enqueue(const std::shared_ptr<Job>& job);
  void Dequeue(Job& job);
  static UnitKey KeyOf(const Job& job);
  void Cover(const std::shared_ptr<Job>& job, uint32_t group);
  void Raise(const std::shared_ptr<Job>& job, const RequestOptions& with);
  void Work(bool waits);
  // The first job of these; null: there is none.
  std::shared_ptr<Job> Next(bool waits) const;
  void AwaitJob(bool waits, std::unique_lock<std::mutex>& lock);
  Status RunJob(Job& job, std::unique_lock<std::mutex>& lock);
  Result<Reservation> AwaitMemory(Job& job, MemoryBudget::Request request);
  void Drop(Job& job, const Status& why);
  void FinishJob(Job& job, const Status& status);
  void Resolve(const Hash128& key, Result<Brought> result);

  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::stop_source stop_;  // of running fills
  uint64_t next_age_ = 0;
  std::unordered_map<Hash128, std::shared_ptr<Pending>> pending_;
  std::map<Rank, std::shared_ptr<Job>> queue_;
  std::map<UnitKey, std::shared_ptr<Job>> by_unit_;  // the same jobs
  Counters counters_;
  std::set<Job*> awaiting_memory_;
  Status status_;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::cache
