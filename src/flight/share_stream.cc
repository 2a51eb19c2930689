#include "flight/share_stream.h"

#include <algorithm>

namespace forebay::flight {
namespace {

constexpr uint32_t kLookAheadRanges = 8;
// Slices that begin at a multiple of this need no bit shifted.
constexpr uint64_t kRowsAlignment = 64;

// A range's batches are alike: a small one at its end would cost a message, too.
uint64_t CutRows(uint64_t bytes, uint64_t rows) {
  uint64_t batches = std::max<uint64_t>((bytes + kCutBytes / 2) / kCutBytes, 1);
  uint64_t cut = std::max<uint64_t>((rows + batches - 1) / batches, 1);
  if (cut < kRowsAlignment) return cut;
  return (cut + kRowsAlignment - 1) / kRowsAlignment * kRowsAlignment;
}

uint64_t Portion(uint64_t rows, uint64_t rank, uint64_t world_size) {
  using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(rows) * rank / world_size);
}

}  // namespace

Share Share::Of(uint64_t rows, uint64_t start, uint64_t rank, uint64_t world_size) {
  start = std::min(start, rows);
  uint64_t left = rows - start;
  return {start + Portion(left, rank, world_size),
          start + Portion(left, rank + 1, world_size)};
}

ShareStream::ShareStream(std::shared_ptr<reader::RemoteTable> remote,
                         std::shared_ptr<reader::BufferPool> pool,
                         model::Projection columns, std::vector<Share> shares)
    : remote_(std::move(remote)),
      pool_(std::move(pool)),
      columns_(std::move(columns)),
      shares_(std::move(shares)),
      view_(remote_->ViewOf(columns_)) {
  if (!shares_.empty()) next_ = shares_[0].first;
  if (FindNext()) range_ = manifest().RangeOf(next_);
}

bool ShareStream::FindNext() {
  while (share_ < shares_.size() && next_ >= shares_[share_].last) {
    if (++share_ < shares_.size()) next_ = shares_[share_].first;
  }
  return share_ < shares_.size();
}

Result<std::optional<reader::Batch>> ShareStream::Next() {
  if (!FindNext()) return std::optional<reader::Batch>();
  auto ends = [&](uint32_t range) {
    const model::RangeRecord& record = manifest().ranges()[range];
    return record.first_row + record.row_count;
  };
  while (ends(range_) <= next_) ++range_;
  if (brought_ != range_) FB_RETURN_NOT_OK(Bring(range_));
  uint64_t offset = next_ - manifest().ranges()[range_].first_row;
  uint64_t count = std::min({batch_rows_ - offset % batch_rows_, ends(range_) - next_,
                             shares_[share_].last - next_});
  std::vector<reader::Run> runs;
  reader::AppendRuns(manifest(), {range_, static_cast<uint32_t>(offset)}, count, &runs);
  for (reader::Run& run : runs) run.source = 0;
  reader::Batch batch;
  for (size_t i = 0; i < columns_.size(); ++i) {
    FB_ASSIGN_OR_RETURN(reader::Column column, ColumnOf(i, runs));
    batch.columns.push_back(std::move(column));
  }
  batch.row_count = count;
  batch.first_position = next_;
  batch.manifest = remote_->manifest();
  next_ += count;
  return std::optional(std::move(batch));
}

std::vector<model::ChunkRef> ShareStream::RefsOf(uint32_t range) const {
  std::vector<model::ChunkRef> refs;
  uint32_t unit = manifest().ranges()[range].unit;
  for (uint32_t group : model::Groups(manifest(), unit, columns_)) {
    refs.push_back({range, group});
  }
  return refs;
}

Status ShareStream::Bring(uint32_t range) {
  if (!brought_) {
    remote_->Follow(view_, {.mode = plan::OrderMode::kSequential}, next_);
  }
  parts_.assign(columns_.size(), {});
  brought_.reset();
  remote_->Poll();
  remote_->ReportProgress(view_, next_, manifest().row_count());
  if (remote_->tight()) remote_->ForgetUnused(view_);
  std::vector<model::ChunkRef> refs = RefsOf(range);
  FB_ASSIGN_OR_RETURN(auto chunks, Acquire(refs));
  const model::RangeRecord& record = manifest().ranges()[range];
  uint64_t bytes = 0;
  for (size_t i = 0; i < refs.size(); ++i) {
    auto group = model::GroupColumns(manifest(), record.unit, refs[i].group, columns_);
    for (size_t j = 0; j < group.size(); ++j) {
      auto place = std::ranges::lower_bound(columns_, group[j]) - columns_.begin();
      parts_[static_cast<size_t>(place)] = {&chunks[i]->columns[j], chunks[i]};
    }
    bytes += chunks[i]->mapping->size();
  }
  batch_rows_ = CutRows(bytes, record.stored_rows);
  brought_ = range;
  LookAhead();
  return Status::OK();
}

// Batches wait for their client, so none may hold memory that other readers wait for.
Result<std::vector<reader::RemoteTable::ChunkPtr>> ShareStream::Acquire(
    std::span<const model::ChunkRef> refs) {
  auto chunks = remote_->Acquire(view_, refs, {.borrowed = reader::Borrowed::kCopy});
  if (chunks.status().code() != StatusCode::kFull) return chunks;
  return remote_->AcquireOneByOne(view_, refs, Mapping::Mode::kShared);
}

// True when rows of the range are wanted; `share` moves on with the ranges.
bool ShareStream::Touches(uint32_t range, size_t* share) const {
  const model::RangeRecord& record = manifest().ranges()[range];
  while (*share < shares_.size() && shares_[*share].last <= record.first_row) ++*share;
  return *share < shares_.size() &&
         shares_[*share].first < record.first_row + record.row_count;
}

void ShareStream::LookAhead() {
  auto range_count = static_cast<uint32_t>(manifest().ranges().size());
  uint32_t until = std::min(range_count, *brought_ + 1 + kLookAheadRanges);
  std::vector<model::ChunkRef> refs;
  size_t share = share_;
  for (uint32_t range = std::max(wanted_until_, *brought_ + 1);
       range < until && share < shares_.size(); ++range) {
    if (!Touches(range, &share)) continue;
    auto more = RefsOf(range);
    refs.insert(refs.end(), more.begin(), more.end());
  }
  wanted_until_ = until;
  if (!refs.empty()) remote_->Want(view_, refs);
}

Result<reader::Column> ShareStream::ColumnOf(size_t i,
                                             const std::vector<reader::Run>& runs) const {
  const model::Field& field = manifest().schema().fields[columns_[i]];
  const Part& part = parts_[i];
  if (runs.size() == 1) {
    return reader::SliceChunk(field, *part.column, runs[0].first, runs[0].count,
                              part.owner);
  }
  FB_ASSIGN_OR_RETURN(auto gatherer, reader::ColumnGatherer::Make(field, pool_));
  return gatherer.Gather(std::span(&part.column, 1), runs);
}

}  // namespace forebay::flight
