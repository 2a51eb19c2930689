#include "reader/batches/batch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reader/batches/pass_gather.h"

namespace forebay::reader {
namespace {

// Ranges that a sequential stream asks its node to have ready ahead of it.
constexpr uint32_t kLookAheadRanges = 8;
// Between reports of progress, whichever is first.
constexpr uint64_t kProgressSteps = 64;
constexpr auto kProgressTime = std::chrono::milliseconds(500);
constexpr uint64_t kBlockBytes = uint64_t{1} << 20;
constexpr uint64_t kBlockStepsMax = 32;
// Of a block that costs a pass over the whole table: large, and there are two of it.
constexpr BlockSize::Limits kPassLimits{.bytes = uint64_t{64} << 20,
                                        .rows = uint64_t{1} << 21};

Result<std::vector<ColumnGatherer>> MakeGatherers(
    RemoteTable& remote, const model::Projection& columns,
    const std::shared_ptr<BufferPool>& pool) {
  std::vector<ColumnGatherer> gatherers;
  for (uint32_t column : columns) {
    const model::Field& field = remote.manifest()->schema().fields[column];
    FB_ASSIGN_OR_RETURN(auto gatherer,
                        ColumnGatherer::Make(field, pool, remote.copy_helper()));
    gatherers.push_back(std::move(gatherer));
  }
  return gatherers;
}

// Sequential batches are slices, which may be kept for long. So they are of memory that
// other readers do not wait for.
RemoteTable::MapOptions MapOptionsOf(const BatchOptions& options) {
  if (options.order.mode != plan::OrderMode::kSequential) return {};
  return {.mode = options.writable ? Mapping::Mode::kPrivate : Mapping::Mode::kShared,
          .borrowed = Borrowed::kCopy};
}

// Bytes of a row where every row has as many; 0 otherwise.
uint64_t FixedRowBytes(const model::Field& field) {
  auto type = LayoutOf(field);
  if (!type.ok()) return 0;
  switch (type->layout) {
    case Layout::kBool: return 1;
    case Layout::kFixed: return type->width;
    case Layout::kFixedList: return type->width * FixedRowBytes(field.children[0]);
    default: return 0;
  }
}

std::optional<uint64_t> FixedRowBytes(const model::Manifest& manifest,
                                      const model::Projection& columns) {
  uint64_t sum = 0;
  for (uint32_t column : columns) {
    uint64_t bytes = FixedRowBytes(manifest.schema().fields[column]);
    if (bytes == 0) return std::nullopt;
    sum += bytes;
  }
  return sum;
}

// How many steps are gathered at once: enough rows that memory is kept busy, few enough
// that a block stays in a core's cache.
uint64_t StepsPerBlock(std::optional<uint64_t> row_bytes, uint64_t batch_rows) {
  if (!row_bytes) return 1;
  uint64_t step_bytes = std::max<uint64_t>(*row_bytes * batch_rows, 1);
  return std::clamp<uint64_t>(kBlockBytes / step_bytes, 1, kBlockStepsMax);
}

// The distinct ranges of some addresses that are not at hand, ascending.
std::vector<uint32_t> MissingRanges(const ChunkTable& table,
                                    std::span<const RowAddress> addresses) {
  std::vector<uint32_t> missing;
  if (table.complete()) return missing;
  for (const RowAddress& address : addresses) {
    if (address.source != table.filler_source() && !table.Has(address.source)) {
      missing.push_back(address.source);
    }
  }
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  return missing;
}

uint64_t BytesOf(const Column& column) {
  uint64_t bytes = 0;
  for (const Buffer& buffer : column.buffers) bytes += buffer.size;
  for (const Column& child : column.children) bytes += BytesOf(child);
  return bytes;
}

Result<std::vector<Column>> GatherColumns(const ChunkTable& table,
                                          const std::vector<ColumnGatherer>& gatherers,
                                          std::span<const RowAddress> addresses) {
  std::vector<Column> columns;
  columns.reserve(gatherers.size());
  for (size_t i = 0; i < gatherers.size(); ++i) {
    FB_ASSIGN_OR_RETURN(Column column, gatherers[i].Gather(table.Sources(i), addresses));
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace

BatchStream::BatchStream(std::shared_ptr<RemoteTable> remote, BatchOptions options,
                         plan::Order order, plan::Shards shards)
    : options_(std::move(options)),
      order_(std::move(order)),
      shards_(std::move(shards)),
      table_(std::move(remote), options_.columns, MapOptionsOf(options_)),
      locator_(table_.manifest()),
      next_(options_.start_step) {}

Result<std::unique_ptr<BatchStream>> BatchStream::Make(
    std::shared_ptr<RemoteTable> remote, std::shared_ptr<BufferPool> pool,
    BatchOptions options) {
  uint64_t rows = remote->manifest()->row_count();
  options.order.rows = rows;
  if (options.shards.rows == 0) options.shards.rows = rows;
  if (options.shards.rows > rows) {
    return Status::Invalid(
        fmt::format("rows up to position {} were asked for, and there are {}",
                    options.shards.rows, rows));
  }
  if (options.order.mode == plan::OrderMode::kWindow) {
    options.order.layout = plan::RangeLayout::Of(*remote->manifest());
  }
  FB_ASSIGN_OR_RETURN(plan::Order order, plan::Order::Make(options.order));
  FB_ASSIGN_OR_RETURN(plan::Shards shards, plan::Shards::Make(options.shards));
  auto stream = std::unique_ptr<BatchStream>(new BatchStream(
      std::move(remote), std::move(options), std::move(order), std::move(shards)));
  FB_ASSIGN_OR_RETURN(stream->gatherers_, MakeGatherers(*stream->table_.remote(),
                                                        stream->options_.columns, pool));
  uint64_t batch_rows =
      stream->shards_.global_batch_size() / stream->shards_.options().world_size;
  stream->steps_per_block_ = StepsPerBlock(
      FixedRowBytes(stream->table_.manifest(), stream->options_.columns), batch_rows);
  FB_RETURN_NOT_OK(stream->LookAhead(batch_rows));
  return stream;
}

Status BatchStream::LookAhead(uint64_t batch_rows) {
  if (options_.order.mode != plan::OrderMode::kGlobal) return Status::OK();
  FB_ASSIGN_OR_RETURN(bool gathers, table_.remote()->Gathers(table_.view()));
  if (!gathers || batch_rows > wire::kGatherRowsMax) {
    FB_ASSIGN_OR_RETURN(bool fits, table_.remote()->Fits(table_.view()));
    if (!fits) GoInPasses();
    return Status::OK();
  }
  BlockSize size(batch_rows, FixedRowBytes(table_.manifest(), options_.columns));
  ahead_ = std::make_unique<RowLookAhead>(
      RowLookAhead::Options{
          .table = &table_, .order = &order_, .shards = &shards_, .locator = &locator_},
      size);
  return Status::OK();
}

BatchMaker BatchStream::Maker(std::shared_ptr<RemoteTable> remote,
                              std::shared_ptr<BufferPool> pool, BatchOptions options) {
  return
      [remote = std::move(remote), pool = std::move(pool), options = std::move(options)](
          const BatchShare& share) -> Result<std::unique_ptr<Batches>> {
        BatchOptions of_share = options;
        of_share.shards = share.shards;
        of_share.start_step = share.start_step;
        FB_ASSIGN_OR_RETURN(auto stream, Make(remote, pool, std::move(of_share)));
        return stream;
      };
}

bool BatchStream::sequential() const {
  return options_.order.mode == plan::OrderMode::kSequential;
}

Result<std::optional<Batch>> BatchStream::Next() {
  if (next_ >= step_count()) {
    table_.GiveBack();
    return std::optional<Batch>();
  }
  uint64_t step = shards_.WorkerStep(next_);
  plan::StepSlice slice = shards_.At(step);
  if (next_ == options_.start_step) {
    table_.remote()->Follow(table_.view(), order_.options(), slice.first);
  }
  Batch batch;
  auto start = std::chrono::steady_clock::now();
  FB_ASSIGN_OR_RETURN(batch.columns, sequential() ? FromRuns(slice) : FromBlock());
  batch.times.chunks = table_.TakeTimes();
  batch.times.gather =
      std::chrono::steady_clock::now() - start - batch.times.chunks.total();
  batch.row_count = slice.count + slice.filler;
  batch.filler_count = slice.filler;
  batch.step = step;
  batch.first_position = slice.first;
  batch.manifest = table_.remote()->manifest();
  if (next_ % kProgressSteps == 0 || start - advanced_ >= kProgressTime) {
    advanced_ = start;
    Advance(slice.first);
  }
  ++next_;
  return std::optional<Batch>(std::move(batch));
}

void BatchStream::Advance(uint64_t position) {
  RemoteTable& remote = *table_.remote();
  remote.ReportProgress(table_.view(), position % std::max<uint64_t>(order_.rows(), 1),
                        order_.rows());
  if (remote.tight()) remote.ForgetUnused(table_.view());
}

Result<std::vector<Column>> BatchStream::FromBlock() {
  if (next_ < block_.first || next_ >= block_.first + block_.row_counts.size()) {
    FB_RETURN_NOT_OK(GatherBlock());
  }
  uint64_t rows = block_.row_counts[next_ - block_.first];
  std::vector<Column> columns;
  if (block_.row_counts.size() == 1) {
    columns = std::move(block_.columns);
  } else {
    for (const Column& column : block_.columns) {
      columns.push_back(column.Slice(block_.rows_given, rows));
    }
  }
  block_.rows_given += rows;
  // The last batch of a block takes it along, so that its buffers can be used again.
  if (next_ - block_.first + 1 == block_.row_counts.size()) block_ = {};
  return columns;
}

Status BatchStream::GatherBlock() {
  table_.DropEvicted();
  Block block{.first = next_};
  uint64_t steps = pass_size_ ? pass_size_->steps() : steps_per_block_;
  uint64_t count = std::min(steps, step_count() - next_);
  if (ahead_ != nullptr) {
    FB_ASSIGN_OR_RETURN(auto taken, ahead_->Take(next_, gatherers_));
    count = taken.steps;
    block.columns = std::move(taken.columns);
  }
  for (uint64_t i = 0; i < count; ++i) {
    plan::StepSlice slice = shards_.At(shards_.WorkerStep(next_ + i));
    block.row_counts.push_back(slice.count + slice.filler);
  }
  if (ahead_ == nullptr) {
    FB_ASSIGN_OR_RETURN(block.columns, GatherHere(block.row_counts));
  }
  block_ = std::move(block);
  return Status::OK();
}

Result<std::vector<Column>> BatchStream::GatherHere(
    const std::vector<uint64_t>& row_counts) {
  addresses_.resize(std::accumulate(row_counts.begin(), row_counts.end(), uint64_t{0}));
  std::span<RowAddress> rest(addresses_);
  for (uint64_t i = 0; i < row_counts.size(); ++i) {
    FB_RETURN_NOT_OK(Locate(shards_.At(shards_.WorkerStep(next_ + i)), rest));
    rest = rest.subspan(row_counts[i]);
  }
  if (pass_size_) return GatherInPasses();
  plan::StepSlice first = shards_.At(shards_.WorkerStep(next_));
  plan::StepSlice last = shards_.At(shards_.WorkerStep(next_ + row_counts.size() - 1));
  Status brought = BringBlock(first.first, last.first + last.count);
  if (brought.ok()) return GatherColumns(table_, gatherers_, addresses_);
  // No tier took what this block needs, and the node lends no more memory.
  if (brought.code() != StatusCode::kFull) return brought;
  GoInPasses();
  return GatherInPasses();
}

void BatchStream::GoInPasses() {
  uint64_t batch_rows = shards_.global_batch_size() / shards_.options().world_size;
  pass_size_.emplace(batch_rows, FixedRowBytes(table_.manifest(), options_.columns),
                     kPassLimits);
}

Result<std::vector<Column>> BatchStream::GatherInPasses() {
  PassGather passes({.table = &table_, .gatherers = gatherers_});
  FB_ASSIGN_OR_RETURN(auto columns, passes.Gather(addresses_));
  uint64_t bytes = 0;
  for (const Column& column : columns) bytes += BytesOf(column);
  pass_size_->Learn(addresses_.size(), bytes);
  return columns;
}

Status BatchStream::BringBlock(uint64_t first, uint64_t last) {
  if (order_.window() != nullptr && last > first) {
    FB_RETURN_NOT_OK(BringWindows(first, last));
  } else if (next_ == options_.start_step) {
    // Every batch touches most ranges: the first one brings them all.
    FB_RETURN_NOT_OK(table_.EnsureAll());
  }
  return table_.Ensure(MissingRanges(table_, addresses_));
}

// Memory is bounded by the windows at hand: earlier ones are let go, and the node is
// asked for the one after them.
Status BatchStream::BringWindows(uint64_t first, uint64_t last) {
  const plan::WindowOrder& windows = *order_.window();
  uint64_t from = windows.WindowOf(first % order_.rows());
  if (from == window_) return Status::OK();
  window_ = from;
  uint64_t until = std::max(from, windows.WindowOf(std::min(last, order_.rows()) - 1));
  std::vector<uint32_t> kept;
  for (uint64_t w = from; w <= until; ++w) {
    auto ranges = windows.RangesOf(w);
    kept.insert(kept.end(), ranges.begin(), ranges.end());
  }
  std::ranges::sort(kept);
  table_.KeepOnly(kept);
  Advance(first);
  FB_RETURN_NOT_OK(table_.Ensure(windows.RangesOf(from)));
  if (until + 1 < windows.window_count()) table_.Want(windows.RangesOf(until + 1));
  return Status::OK();
}

// Where the rows of a step lie, then its filler.
Status BatchStream::Locate(const plan::StepSlice& slice, std::span<RowAddress> out) {
  rows_.resize(slice.count);
  order_.RowsAt(slice.first, rows_);
  locator_.Locate(rows_, out);
  std::ranges::fill(out.subspan(slice.count, slice.filler),
                    RowAddress{table_.filler_source(), 0});
  return slice.filler > 0 ? table_.MakeFillers() : Status::OK();
}

Result<std::vector<Column>> BatchStream::FromRuns(const plan::StepSlice& slice) {
  table_.DropEvicted();
  std::vector<Run> runs = RunsOf(slice);
  FB_RETURN_NOT_OK(BringRanges(runs));
  bool one_slice = runs.size() == 1 && slice.filler == 0;
  if (!one_slice && slice.filler > 0) FB_RETURN_NOT_OK(table_.MakeFillers());
  std::vector<Column> columns;
  columns.reserve(gatherers_.size());
  for (size_t i = 0; i < gatherers_.size(); ++i) {
    if (one_slice) {
      columns.push_back(Slice(i, runs.front()));
      continue;
    }
    FB_ASSIGN_OR_RETURN(Column column, gatherers_[i].Gather(table_.Sources(i), runs));
    columns.push_back(std::move(column));
  }
  return columns;
}

// The rows of a sequential step, range by range, then the filler.
std::vector<Run> BatchStream::RunsOf(const plan::StepSlice& slice) const {
  std::vector<Run> runs;
  uint64_t left = slice.count;
  for (uint64_t row = slice.first; left > 0;) {
    row %= order_.rows();
    RowAddress at = locator_.LocateLive(row);
    uint64_t rest = table_.manifest().ranges()[at.source].row_count - at.row;
    uint64_t count = std::min(left, rest);
    AppendRuns(table_.manifest(), at, count, &runs);
    row += count;
    left -= count;
  }
  runs.resize(runs.size() + slice.filler, Run{table_.filler_source(), 0, 1});
  return runs;
}

std::vector<uint32_t> BatchStream::RangesOf(std::span<const Run> runs) const {
  std::vector<uint32_t> ranges;
  for (const Run& run : runs) {
    if (run.source != table_.filler_source()) ranges.push_back(run.source);
  }
  std::ranges::sort(ranges);
  ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
  return ranges;
}

Status BatchStream::BringRanges(std::span<const Run> runs) {
  std::vector<uint32_t> missing;
  for (const Run& run : runs) {
    bool is_filler = run.source == table_.filler_source();
    if (!is_filler && !table_.Has(run.source)) missing.push_back(run.source);
  }
  if (missing.empty()) return Status::OK();
  if (options_.writable || table_.has_borrowed() || table_.remote()->tight()) {
    table_.DropBefore(runs.front().source);
    Advance(table_.manifest().ranges()[runs.front().source].first_row);
  }
  FB_RETURN_NOT_OK(table_.EnsureOrWait(RangesOf(runs)));
  // What no tier takes would be read ahead of need in vain.
  if (table_.has_borrowed()) return Status::OK();
  uint32_t first = std::max(wanted_until_, missing.back() + 1);
  uint32_t until = missing.back() + 1 + kLookAheadRanges;
  if (first < until) {
    table_.Want(first, until - first);
    wanted_until_ = until;
  }
  return Status::OK();
}

// Rows that follow each other in one range need no copy.
Column BatchStream::Slice(size_t i, const Run& run) const {
  const model::Field& field = table_.manifest().schema().fields[options_.columns[i]];
  Column column = SliceChunk(field, *table_.Sources(i)[run.source], run.first, run.count,
                             table_.Owner(i, run.source));
  column.writable = options_.writable;
  return column;
}

Result<Batch> Take(std::shared_ptr<RemoteTable> remote, std::shared_ptr<BufferPool> pool,
                   const model::Projection& columns, std::span<const uint64_t> rows) {
  const model::Manifest& manifest = *remote->manifest();
  for (uint64_t row : rows) {
    if (row >= manifest.row_count()) {
      return Status::Invalid(fmt::format("there is no row {}: the table has {} rows", row,
                                         manifest.row_count()));
    }
  }
  FB_ASSIGN_OR_RETURN(auto gatherers, MakeGatherers(*remote, columns, pool));
  ChunkTable table(remote, columns, {.borrowed = Borrowed::kMapBriefly});
  table.DropEvicted();
  std::vector<RowAddress> addresses(rows.size());
  RowLocator(manifest).Locate(rows, addresses);
  Status brought = table.Ensure(MissingRanges(table, addresses));
  Batch batch;
  if (brought.code() == StatusCode::kFull) {
    PassGather passes({.table = &table, .gatherers = gatherers});
    FB_ASSIGN_OR_RETURN(batch.columns, passes.Gather(addresses));
  } else {
    FB_RETURN_NOT_OK(brought);
    FB_ASSIGN_OR_RETURN(batch.columns, GatherColumns(table, gatherers, addresses));
  }
  batch.row_count = rows.size();
  batch.manifest = remote->manifest();
  return batch;
}

}  // namespace forebay::reader
