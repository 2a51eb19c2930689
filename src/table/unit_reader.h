// Decodes a fill unit, once, into the record batches of its row ranges.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>

#include <atomic>
#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "model/chunk.h"
#include "model/manifest.h"
#include "source/source.h"

namespace forebay::table {

class FooterCache;

struct DecodeOptions {
  arrow::MemoryPool* memory_pool = nullptr;  // nullptr: Arrow's default
  ThreadPool* pool = nullptr;                // for parallel reads; nullptr: none
  Deadline deadline = Deadline::Never();
  FooterCache* footers = nullptr;  // saves reading a file's footer once per unit
  std::atomic<uint64_t>* read_ns = nullptr;  // time spent waiting for the source
};

// One thread at a time. After a failure every later call fails the same way.
class UnitReader {
 public:
  virtual ~UnitReader() = default;
  // What MemoryBytes takes at its peak.
  virtual uint64_t OpenMemoryBytes() const = 0;
  // What reading the unit takes at its peak, the batch that was handed out last counted.
  // Reads the footer of the unit's first file; an estimate, rather too high than too low.
  virtual Result<uint64_t> MemoryBytes() = 0;
  // The unit's ranges in order: exactly the range's rows, the projected columns in the
  // manifest's types (ChunkSchema), validated. nullptr after the last.
  virtual Result<std::shared_ptr<arrow::RecordBatch>> Next() = 0;
};

Result<std::unique_ptr<UnitReader>> OpenUnit(
    std::shared_ptr<source::Source> source,
    std::shared_ptr<const model::Manifest> manifest, uint32_t unit,
    const model::Projection& columns, const DecodeOptions& options);

}  // namespace forebay::table
