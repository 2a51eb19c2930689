// Brings the bytes of one chunk of files from the source into the store.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "cache/files_version.h"
#include "cache/fill.h"
#include "storage/store.h"

namespace forebay::cache {

// Bytes that fills may hold at once. One that is larger than all runs alone.
class MemoryGate {
 public:
  explicit MemoryGate(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  class Pass {
   public:
    Pass(MemoryGate* gate, uint64_t bytes);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    MemoryGate* gate_;
    uint64_t bytes_;
  };

 private:
  const uint64_t bytes_max_;
  std::mutex mutex_;
  std::condition_variable freed_;
  uint64_t used_ = 0;
};

struct FileFillContext {
  storage::Store* store = nullptr;
  ThreadPool* ranges = nullptr;   // reads of parts of a large object
  ThreadPool* objects = nullptr;  // reads of small objects, hundreds at once
  MemoryGate* memory = nullptr;
  Deadline deadline = Deadline::Never();
};

struct FileFilled {
  storage::Chunk chunk;
  FillTimes times;
};

// One request per object, or one per 8 MiB of a large one. An object that is no longer
// the pinned one is kChanged, by name, and nothing is stored.
Result<FileFilled> FillFileChunk(const FilesVersion& version, model::ChunkRef ref,
                                 const FileFillContext& context);

}  // namespace forebay::cache
