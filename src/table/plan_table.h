// From a listing to a manifest: footers are read, in parallel, and nothing else.
#pragma once

#include <arrow/memory_pool.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/size.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "source/source.h"
#include "table/build_manifest.h"
#include "table/listing.h"

namespace forebay::table {

class FooterCache;

struct PlanOptions {
  ThreadPool* pool = nullptr;  // nullptr: the calling thread alone
  uint64_t range_bytes = 16 * kMiB;
  uint64_t wide_bytes = 1 * kMiB;
  arrow::MemoryPool* memory_pool = nullptr;  // nullptr: Arrow's default
  MemoryBudget* budget = nullptr;            // of memory_pool; nullptr: nobody counts
  Deadline deadline = Deadline::Never();
  FooterCache* footers = nullptr;
};

inline CutOptions CutsOf(const PlanOptions& options) {
  return {.range_bytes = options.range_bytes, .wide_bytes = options.wide_bytes};
}

// Schema and layout of every file, all rows alive.
Result<TablePlan> InspectTable(std::shared_ptr<source::Source> source,
                               const Listing& listing, const PlanOptions& options);

// The manifest's bytes. Ranges follow the files' layout and nothing else: not the
// projection, not what other files hold (docs/tables.md has the rules).
Result<std::string> PlanTable(std::shared_ptr<source::Source> source,
                              const Listing& listing, const PlanOptions& options);

}  // namespace forebay::table
