#include "flight/planned_flight.h"

#include <fmt/format.h>

#include <algorithm>

#include "flight/row_bytes.h"
#include "reader/chunk_table.h"
#include "reader/request/mask.h"

namespace forebay::flight {
namespace {

constexpr uint64_t kBatchBytesMax = uint64_t{256} << 20;
constexpr uint64_t kBatchRowsMax = uint64_t{1} << 26;
// Batches that are made ahead of a client, together.
constexpr uint64_t kAheadBytes = uint64_t{8} << 20;
// Chunks that are looked at to count bytes, at most.
constexpr uint64_t kCountedChunksMax = 16 * 1024;

uint64_t LeastBytes(const std::vector<const model::Field*>& fields, uint64_t rows) {
  uint64_t bits = 0;
  for (const model::Field* field : fields) bits += LeastRowBits(*field);
  return bits * rows / 8;
}

uint64_t CutBatchRows(const std::vector<const model::Field*>& fields) {
  return std::max<uint64_t>(kCutBytes / std::max<uint64_t>(LeastBytes(fields, 1), 1), 1);
}

uint64_t Rows(const plan::StepSlice& slice) { return slice.count + slice.filler; }

// Of a worker from a step on: all its batches are alike but the last.
uint64_t CountRecords(const plan::Shards& shards, uint64_t start_step) {
  uint64_t steps = shards.worker_step_count();
  if (start_step >= steps) return 0;
  uint64_t whole = Rows(shards.At(shards.WorkerStep(start_step)));
  return whole * (steps - 1 - start_step) + Rows(shards.At(shards.WorkerStep(steps - 1)));
}

class ShareBatches : public FlightBatches {
 public:
  ShareBatches(ShareStream stream, reader::ColumnChoice choice)
      : stream_(std::move(stream)), choice_(std::move(choice)) {}

  Result<std::optional<reader::Batch>> Next(const std::function<bool()>&) override {
    FB_ASSIGN_OR_RETURN(auto batch, stream_.Next());
    if (batch) batch->columns = choice_.Arrange(std::move(batch->columns));
    return batch;
  }

 private:
  ShareStream stream_;
  reader::ColumnChoice choice_;
};

class SizedBatches : public FlightBatches {
 public:
  struct Options {
    reader::ColumnChoice choice;
    std::shared_ptr<reader::BufferPool> pool;
    bool padded = false;
  };
  SizedBatches(Options options, std::unique_ptr<reader::BatchStream> stream,
               std::unique_ptr<reader::Prefetch> prefetch)
      : options_(std::move(options)),
        stream_(std::move(stream)),
        prefetch_(std::move(prefetch)) {}

  Result<std::optional<reader::Batch>> Next(const std::function<bool()>& ended) override {
    FB_ASSIGN_OR_RETURN(auto batch,
                        prefetch_ != nullptr ? prefetch_->Next(ended) : stream_->Next());
    if (!batch) return batch;
    batch->columns = options_.choice.Arrange(std::move(batch->columns));
    if (options_.padded) FB_RETURN_NOT_OK(reader::AddMask(*options_.pool, &*batch));
    return batch;
  }

 private:
  Options options_;
  std::unique_ptr<reader::BatchStream> stream_;  // or
  std::unique_ptr<reader::Prefetch> prefetch_;
};

}  // namespace

Status CheckBatchBytes(const std::vector<const model::Field*>& fields, uint64_t rows) {
  bool fits = rows <= kBatchRowsMax && LeastBytes(fields, rows) <= kBatchBytesMax;
  if (fits) return Status::OK();
  return Status::Invalid(
      fmt::format("a batch of {} rows of these columns is too large: at most {} rows and "
                  "{} bytes; ask for smaller ones",
                  rows, kBatchRowsMax, kBatchBytesMax));
}

bool PlannedFlight::cuts_shares() const {
  return command_.server_cuts() && command_.order == plan::OrderMode::kSequential;
}

std::vector<Share> PlannedFlight::shares() const {
  std::vector<Share> shares;
  if (command_.intervals) {
    for (const RowInterval& interval : *command_.intervals) {
      shares.push_back({interval.first, interval.end()});
    }
    return shares;
  }
  shares.push_back(Share::Of(table_->manifest()->row_count(), command_.start_position,
                             command_.rank, command_.world_size));
  return shares;
}

Result<PlannedFlight> PlannedFlight::Make(const BatchCommand& command,
                                          std::shared_ptr<reader::RemoteTable> table) {
  PlannedFlight flight(command, std::move(table));
  FB_RETURN_NOT_OK(flight.Plan());
  return flight;
}

Status PlannedFlight::Plan() {
  const model::Manifest& manifest = *table_->manifest();
  FB_ASSIGN_OR_RETURN(choice_, reader::ColumnChoice::Of(*table_, command_.columns));
  fields_ = choice_.Fields(manifest.schema());
  if (command_.start_position > manifest.row_count()) {
    return Status::Invalid(fmt::format("start_position {} lies past the {} rows",
                                       command_.start_position, manifest.row_count()));
  }
  if (cuts_shares()) {
    std::vector<Share> wanted = shares();
    if (!wanted.empty() && wanted.back().last > manifest.row_count()) {
      return Status::Invalid(fmt::format("the intervals end at row {} of {}",
                                         wanted.back().last, manifest.row_count()));
    }
    for (const Share& share : wanted) record_count_ += share.rows();
    return Status::OK();
  }
  options_.columns = choice_.columns;
  options_.start_step = command_.start_step;
  options_.order = {.mode = command_.order,
                    .seed = command_.seed,
                    .epoch = command_.epoch,
                    .window_ranges = command_.window};
  bool cuts = command_.server_cuts();
  options_.shards = {.rows = manifest.row_count(),
                     .batch_size = cuts ? CutBatchRows(fields_) : command_.batch_size,
                     .global_batch_size = command_.global_batch_size,
                     .world_size = command_.world_size,
                     .rank = command_.rank,
                     .worker_count = command_.worker_count,
                     .worker = command_.worker,
                     .remainder = command_.remainder.value_or(
                         cuts ? plan::Remainder::kKeep : plan::Remainder::kDrop),
                     .start_position = command_.start_position};
  FB_ASSIGN_OR_RETURN(plan::Shards shards, plan::Shards::Make(options_.shards));
  uint64_t batch_rows =
      std::max<uint64_t>(shards.global_batch_size() / command_.world_size, 1);
  FB_RETURN_NOT_OK(CheckBatchBytes(fields_, batch_rows));
  batch_bytes_ = LeastBytes(fields_, batch_rows);
  record_count_ = CountRecords(shards, command_.start_step);
  if (padded()) {
    FB_RETURN_NOT_OK(reader::CheckMaskName(manifest.schema()));
    fields_.push_back(&reader::MaskField());
  }
  return Status::OK();
}

Result<std::optional<uint64_t>> PlannedFlight::ByteCount() const {
  const model::Manifest& manifest = *table_->manifest();
  uint64_t bytes = 0;
  bool fixed = true;
  for (const model::Field* field : fields_) {
    auto bits = FixedRowBits(*field);
    fixed = fixed && bits;
    if (bits) bytes += (*bits * record_count_ + 7) / 8;
  }
  if (fixed) return std::optional(bytes);
  FB_ASSIGN_OR_RETURN(wire::Coverage coverage,
                      table_->Coverage(table_->ViewOf(choice_.columns)));
  bool stored = coverage.chunks_stored == coverage.chunk_count &&
                coverage.chunk_count <= kCountedChunksMax;
  if (!stored || manifest.row_count() == 0) return std::optional<uint64_t>();
  reader::ChunkTable chunks(table_, choice_.columns,
                            {.borrowed = reader::Borrowed::kMapBriefly});
  FB_RETURN_NOT_OK(chunks.EnsureAll());
  double all = 0;
  double stored_rows = 0;
  for (uint32_t range = 0; range < manifest.ranges().size(); ++range) {
    stored_rows += manifest.ranges()[range].stored_rows;
    for (size_t i = 0; i < choice_.columns.size(); ++i) {
      const reader::ChunkColumn* column = chunks.Sources(i)[range];
      if (column != nullptr) all += static_cast<double>(ColumnBytes(*column));
    }
  }
  double share = static_cast<double>(record_count_) / std::max(stored_rows, 1.0);
  return std::optional(static_cast<uint64_t>(all * share));
}

Result<std::unique_ptr<FlightBatches>> PlannedFlight::Batches(
    const std::shared_ptr<reader::BufferPool>& pool) const {
  std::unique_ptr<FlightBatches> out;
  if (cuts_shares()) {
    ShareStream stream(table_, pool, choice_.columns, shares());
    out = std::make_unique<ShareBatches>(std::move(stream), choice_);
    return out;
  }
  SizedBatches::Options options{.choice = choice_, .pool = pool, .padded = padded()};
  std::unique_ptr<reader::BatchStream> stream;
  std::unique_ptr<reader::Prefetch> prefetch;
  if (command_.order == plan::OrderMode::kSequential) {
    FB_ASSIGN_OR_RETURN(stream, reader::BatchStream::Make(table_, pool, options_));
  } else {
    // Rows are gathered while those before are on their way.
    uint64_t ahead = kAheadBytes / std::max<uint64_t>(batch_bytes_, 1);
    FB_ASSIGN_OR_RETURN(
        prefetch,
        reader::Prefetch::Make(
            reader::BatchStream::Maker(table_, pool, options_),
            {.share = {.shards = options_.shards, .start_step = options_.start_step},
             .threads = 1,
             .ahead = static_cast<uint32_t>(std::clamp<uint64_t>(ahead, 1, 64))}));
  }
  out = std::make_unique<SizedBatches>(std::move(options), std::move(stream),
                                       std::move(prefetch));
  return out;
}

}  // namespace forebay::flight
