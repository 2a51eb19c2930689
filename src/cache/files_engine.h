// The part of the engine that deals with trees of files: versions, fills, warm-ups.
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "cache/file_fills.h"
#include "cache/files_catalog.h"
#include "cache/warmup_progress.h"

namespace forebay::cache {

class FilesEngine {
 public:
  struct Options {
    storage::Store* store = nullptr;  // must outlive the engine, as the next one
    ThreadPool* read_pool = nullptr;
    uint64_t memory_bytes_max = uint64_t{512} << 20;
    arrow::MemoryPool* memory = arrow::default_memory_pool();
    FilesCatalog::OpenSource open_source;
    NamedDatasets* named = nullptr;  // as the catalog's
  };
  using Version = FileFills::Version;

  explicit FilesEngine(const Options& options);

  FilesCatalog& catalog() { return catalog_; }
  // Its threads start with the first files that are asked for.
  FileFills& fills();
  void Forget(ClientId client);
  // Listings and fills end soon with kCancelled; new ones do, too.
  void Stop();
  FillQueue::Counters counters() const;

  Coverage Covered(const FilesVersion& version) const;
  // Brings every chunk of the version into the store, small files in packs. `report`
  // hears the progress and says whether to go on; failures are named in the result.
  Result<WarmupProgress> Warmup(const Version& version, const WarmupCall& call);
  // The same of some chunks.
  Result<WarmupProgress> WarmupChunks(const Version& version,
                                      std::span<const model::ChunkRef> chunks,
                                      const WarmupCall& call);

 private:
  Options options_;
  FilesCatalog catalog_;
  mutable std::mutex mutex_;
  std::unique_ptr<FileFills> fills_;
};

}  // namespace forebay::cache
