// The engine of a node: versions, fills and the store, behind one face. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "base/thread_pool.h"
#include "cache/block_memory_pool.h"
#include "cache/catalog.h"
#include "cache/files_engine.h"
#include "cache/fill_queue.h"
#include "cache/next_use.h"
#include "cache/warmup_progress.h"
#include "table/capped_memory_pool.h"
#include "table/files/footer_cache.h"

namespace forebay::cache {

class Engine {
 public:
  struct Options {
    uint64_t fill_memory_bytes = uint64_t{1} << 30;  // cap of fills and plans together
    size_t fill_threads = 0;                         // 0: one per core, at least 2
    size_t read_threads = 16;                        // source reads in flight
    SourceOpener open_source = source::OpenSource;
    uint64_t range_bytes = 16 * kMiB;     // as the catalog's
    std::vector<std::string> allowed{};   // as the catalog's
    std::shared_ptr<NextUse> next_use{};  // shared with the store's policy
    NamedDatasets* named = nullptr;       // as the catalog's
  };

  // kFull when its threads cannot be started.
  static Result<std::unique_ptr<Engine>> Make(std::unique_ptr<storage::Store> store,
                                              const Options& options);

  Catalog& catalog() { return catalog_; }
  storage::Store& store() { return *store_; }
  FillQueue& fills() { return fills_; }
  NextUse& next_use() { return *next_use_; }
  FilesEngine& files() { return files_; }
  uint64_t memory_peak_bytes() const {
    return static_cast<uint64_t>(memory_.max_memory());
  }

  // Gives back memory that decoding has used and does not need now.
  void ReleaseMemory() { memory_.ReleaseUnused(); }

  // Ends plans and fills soon with kCancelled, and all that are asked for later, even if
  // their source hangs. What is stored is still served.
  void Stop();

  Coverage Covered(const View& view) const;

  // Brings every chunk of the view into the store. `report` hears the progress and says
  // whether to go on. Failures are in the result, never hidden in a success.
  Result<WarmupProgress> Warmup(const View& view, ClientId client, Deadline deadline,
                                const std::function<bool(const WarmupProgress&)>& report);
  // The same of some units; `report` hears after each.
  Result<WarmupProgress> WarmupUnits(const View& view, std::span<const uint32_t> units,
                                     const WarmupCall& call);

 private:
  Engine(std::unique_ptr<storage::Store> store, const Options& options);

  std::unique_ptr<storage::Store> store_;
  std::shared_ptr<NextUse> next_use_;
  BlockMemoryPool blocks_;
  table::CappedMemoryPool memory_;
  MemoryBudget budget_;  // of memory_
  table::FooterCache footers_;
  ThreadPool read_pool_;
  Catalog catalog_;
  FillQueue fills_;
  FilesEngine files_;
};

}  // namespace forebay::cache
