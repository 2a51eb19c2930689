// Fills of files waiting to run, in order of need, each chunk at most once at a time.
// Thread-safe.
//
// A small file that a reader waits for comes by itself; its pack is filled by warm-ups,
// or when so much of it was asked for that the rest is worth having.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cache/file_fill.h"
#include "cache/fill_queue.h"

namespace forebay::cache {

class FileFills {
 public:
  struct Options {
    storage::Store* store = nullptr;
    ThreadPool* read_pool = nullptr;
    size_t thread_count = 128;    // fills at once, half of them of one tree
    size_t object_threads = 192;  // small objects read at once
    size_t packs_max = 12;        // packs filled at once, half of them of one tree
    uint64_t memory_bytes_max = uint64_t{512} << 20;
    arrow::MemoryPool* memory = arrow::default_memory_pool();
    milliseconds fill_timeout = std::chrono::minutes(15);
  };
  using Version = std::shared_ptr<const FilesVersion>;
  // What will be handed over, which is a pack where a file of it was asked for and the
  // pack is there.
  struct Asked {
    model::ChunkRef ref;
    ChunkFuture future;
  };

  explicit FileFills(Options options);
  ~FileFills();  // stops, and waits for running fills to end

  std::vector<Asked> Request(const Version& version,
                             const std::vector<model::ChunkRef>& refs,
                             const RequestOptions& with);
  // Drops queued fills that nobody else asked for.
  void Forget(ClientId client);
  // Fills that wait or run end soon with kCancelled, and so does what is asked for later
  // and not stored.
  void Stop();
  FillQueue::Counters counters() const;

 private:
  struct Job;
  using Rank = std::pair<int, uint64_t>;  // need, then age

  // Where none runs; the lock is held. kFull: this request fails, the next one tries
  // again.
  Status StartThreads();
  Asked RequestOne(const Version& version, model::ChunkRef ref,
                   const RequestOptions& with);
  ChunkFuture Join(const Version& version, model::ChunkRef ref,
                   const RequestOptions& with);
  void Raise(Job& job, const RequestOptions& with);
  void NoteSingle(const Job& job);
  // What the running fills of one tree take.
  struct Share {
    size_t fills = 0;
    size_t packs = 0;
    uint64_t bytes = 0;
  };
  bool MayRun(const Job& job) const;
  std::shared_ptr<Job> Next();
  void Count(const Job& job, int change);
  void Work();
  std::shared_ptr<Job> AwaitJob(std::unique_lock<std::mutex>& lock);
  void Run(Job& job, std::unique_lock<std::mutex>& lock);

  Options options_;
  MemoryBudget budget_;
  std::unique_ptr<ThreadPool> objects_;  // starts with the other threads
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::stop_source stop_;  // of running fills
  uint64_t next_age_ = 0;
  size_t packs_running_ = 0;
  size_t waiting_running_ = 0;  // of jobs that wait for fills of other nodes
  // Of the others, by the root of their tree.
  std::map<std::string, Share, std::less<>> reading_;
  uint64_t reading_bytes_ = 0;
  std::unordered_map<Hash128, std::shared_ptr<Job>> jobs_;  // queued and running
  std::map<Rank, std::shared_ptr<Job>> queue_;
  std::unordered_map<Hash128, uint64_t> single_bytes_;  // by pack
  FillQueue::Counters counters_;
  std::vector<std::thread> threads_;
};

}  // namespace forebay::cache
