#include "cache/engine.h"

#include <arrow/memory_pool.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

#include "cache/failed_objects.h"
#include "cache/unit_chunks.h"
#include "table/memory_jobs.h"

namespace forebay::cache {
namespace {

// Units a warm-up has in flight; enough to keep every fill thread busy.
constexpr size_t kWarmupUnitsMax = 32;

size_t FillThreads(size_t wanted) {
  if (wanted > 0) return wanted;
  return std::max(2U, std::thread::hardware_concurrency());
}

std::vector<model::ChunkRef> UnitRefs(const View& view, uint32_t unit) {
  return UnitChunks(view.manifest(), unit, view.columns);
}

// Small files share a unit.
std::vector<model::Object> ObjectsOf(const model::Manifest& manifest, uint32_t unit) {
  const model::UnitRecord& record = manifest.units()[unit];
  std::set<uint32_t> indices;
  for (uint32_t i = 0; i < record.piece_count; ++i) {
    indices.insert(manifest.pieces()[record.first_piece + i].object);
  }
  std::vector<model::Object> objects;
  for (uint32_t index : indices) objects.push_back(manifest.object(index));
  return objects;
}

struct UnitInFlight {
  uint32_t unit;
  std::vector<ChunkFuture> futures;
};

// Waits for one unit and adds what came of it.
Status Collect(const View& view, const UnitInFlight& flight, Deadline deadline,
               WarmupProgress* progress) {
  Status failure;
  for (const ChunkFuture& future : flight.futures) {
    if (future.wait_until(deadline.when()) != std::future_status::ready) {
      return Status::Deadline("the warm-up did not end in time");
    }
    const Result<Brought>& brought = future.get();
    if (brought.ok()) {
      ++progress->chunks_done;
      progress->bytes_stored += brought->chunk.size;
    } else if (failure.ok()) {
      failure = brought.status();
    }
  }
  if (failure.ok()) {
    progress->rows_done += view.manifest().units()[flight.unit].row_count;
  } else {
    ++progress->units_failed;
    std::ranges::move(
        FailedObjects(*view.version->source, ObjectsOf(view.manifest(), flight.unit),
                      failure, deadline),
        std::back_inserter(progress->failures));
  }
  return Status::OK();
}

}  // namespace

Engine::Engine(std::unique_ptr<storage::Store> store, const Options& options)
    : store_(std::move(store)),
      next_use_(options.next_use ? options.next_use : std::make_shared<NextUse>()),
      blocks_(static_cast<int64_t>(options.fill_memory_bytes / 4)),
      memory_(static_cast<int64_t>(options.fill_memory_bytes), &blocks_),
      budget_(table::ReservableBytes(options.fill_memory_bytes)),
      read_pool_(options.read_threads),
      catalog_({.store = store_.get(),
                .pool = &read_pool_,
                .memory = &memory_,
                .budget = &budget_,
                .footers = &footers_,
                .open_source = options.open_source,
                .range_bytes = options.range_bytes,
                .allowed = options.allowed,
                .named = options.named}),
      fills_({.store = store_.get(),
              .memory = &memory_,
              .budget = &budget_,
              .read_pool = &read_pool_,
              .footers = &footers_,
              .thread_count = FillThreads(options.fill_threads)}),
      files_({.store = store_.get(),
              .read_pool = &read_pool_,
              .memory_bytes_max = options.fill_memory_bytes / 2,
              .memory = &blocks_,
              .open_source =
                  [this](const std::string& uri, const source::Options& with) {
                    return catalog_.SourceFor(uri, with);
                  },
              .named = options.named}) {}

Result<std::unique_ptr<Engine>> Engine::Make(std::unique_ptr<storage::Store> store,
                                             const Options& options) {
  std::unique_ptr<Engine> engine(new Engine(std::move(store), options));
  FB_RETURN_NOT_OK(engine->fills_.status());
  return engine;
}

void Engine::Stop() {
  catalog_.Stop();
  fills_.Stop();
  files_.Stop();
}

Coverage Engine::Covered(const View& view) const {
  Coverage coverage;
  const model::Manifest& manifest = view.manifest();
  for (uint32_t unit = 0; unit < manifest.units().size(); ++unit) {
    auto refs = UnitRefs(view, unit);
    size_t i = 0;
    while (i < refs.size()) {
      uint32_t range = refs[i].range;
      bool whole = true;
      for (; i < refs.size() && refs[i].range == range; ++i) {
        bool stored = store_->Contains(view.Key(refs[i]));
        ++coverage.chunk_count;
        coverage.chunks_stored += stored ? 1 : 0;
        whole = whole && stored;
      }
      if (whole) coverage.rows_stored += manifest.ranges()[range].row_count;
    }
  }
  return coverage;
}

Result<WarmupProgress> Engine::Warmup(
    const View& view, ClientId client, Deadline deadline,
    const std::function<bool(const WarmupProgress&)>& report) {
  std::vector<uint32_t> units(view.manifest().units().size());
  std::iota(units.begin(), units.end(), 0);
  return WarmupUnits(view, units, {client, deadline, report});
}

Result<WarmupProgress> Engine::WarmupUnits(const View& view,
                                           std::span<const uint32_t> units,
                                           const WarmupCall& call) {
  WarmupProgress progress;
  for (uint32_t unit : units) {
    progress.row_count += view.manifest().units()[unit].row_count;
    progress.chunk_count += UnitRefs(view, unit).size();
  }
  source::Stats& stats = view.version->source->stats();
  uint64_t bytes_before = stats.bytes;
  std::deque<UnitInFlight> flights;
  size_t next = 0;
  while (next < units.size() || !flights.empty()) {
    while (next < units.size() && flights.size() < kWarmupUnitsMax) {
      uint32_t unit = units[next++];
      flights.push_back({unit, fills_.Request(view, UnitRefs(view, unit),
                                              {.need = Need::kSomeday,
                                               .client = call.client,
                                               .deadline = call.deadline})});
    }
    FB_RETURN_NOT_OK(Collect(view, flights.front(), call.deadline, &progress));
    flights.pop_front();
    progress.bytes_fetched = stats.bytes - bytes_before;
    if (!call.report(progress)) return Status::Cancelled("the warm-up was given up");
  }
  return progress;
}

}  // namespace forebay::cache
