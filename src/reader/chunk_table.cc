#include "reader/chunk_table.h"

#include <algorithm>
#include <numeric>

#include "reader/gather.h"

namespace forebay::reader {

ChunkTable::ChunkTable(std::shared_ptr<RemoteTable> remote, model::Projection columns,
                       RemoteTable::MapOptions map)
    : remote_(std::move(remote)),
      columns_(std::move(columns)),
      map_(map),
      view_(remote_->ViewOf(columns_)),
      present_(manifest().ranges().size()),
      sources_(columns_.size(), std::vector<const ChunkColumn*>(present_.size() + 1)) {}

ChunkTable::~ChunkTable() { GiveBack(); }

std::vector<model::ChunkRef> ChunkTable::RefsOf(std::span<const uint32_t> ranges) const {
  std::vector<model::ChunkRef> refs;
  for (uint32_t range : ranges) {
    // Of a range without live rows nothing is ever read.
    if (Has(range) || manifest().ranges()[range].row_count == 0) continue;
    uint32_t unit = manifest().ranges()[range].unit;
    for (uint32_t group : model::Groups(manifest(), unit, columns_)) {
      refs.push_back({range, group});
    }
  }
  return refs;
}

Status ChunkTable::Ensure(std::span<const uint32_t> ranges) {
  return Bring(ranges, map_);
}

Status ChunkTable::EnsureBriefly(std::span<const uint32_t> ranges) {
  return Bring(ranges, {.mode = map_.mode, .borrowed = Borrowed::kMapBriefly});
}

Status ChunkTable::Bring(std::span<const uint32_t> ranges, RemoteTable::MapOptions map) {
  std::vector<model::ChunkRef> refs = RefsOf(ranges);
  std::vector<RemoteTable::ChunkPtr> chunks;
  if (!refs.empty()) {
    FB_ASSIGN_OR_RETURN(chunks, remote_->Acquire(view_, refs, map, &times_));
  }
  PlaceAll(ranges, refs, std::move(chunks));
  return Status::OK();
}

void ChunkTable::PlaceAll(std::span<const uint32_t> ranges,
                          std::span<const model::ChunkRef> refs,
                          std::vector<RemoteTable::ChunkPtr> chunks) {
  for (size_t i = 0; i < refs.size(); ++i) Place(refs[i], std::move(chunks[i]));
  for (uint32_t range : ranges) {
    if (Has(range)) continue;
    present_[range] = 1;
    ++present_count_;
  }
}

Status ChunkTable::EnsureAll() {
  if (complete()) return Status::OK();
  std::vector<uint32_t> ranges(present_.size());
  std::iota(ranges.begin(), ranges.end(), 0);
  return Ensure(ranges);
}

Status ChunkTable::EnsureAlone(std::span<const uint32_t> ranges) {
  KeepOnly(ranges);
  std::vector<model::ChunkRef> refs = RefsOf(ranges);
  FB_ASSIGN_OR_RETURN(auto chunks,
                      remote_->AcquireOneByOne(view_, refs, map_.mode, &times_));
  PlaceAll(ranges, refs, std::move(chunks));
  return Status::OK();
}

Status ChunkTable::EnsureOrWait(std::span<const uint32_t> ranges) {
  if (!one_by_one_) {
    Status status = Ensure(ranges);
    if (status.code() != StatusCode::kFull) return status;
    one_by_one_ = true;
  }
  return EnsureAlone(ranges);
}

void ChunkTable::DropBorrowed() {
  std::vector<uint32_t> borrowed;
  for (const auto& [ref, chunk] : held_) {
    if (chunk->borrowed) borrowed.push_back(ref.range);
  }
  for (uint32_t range : borrowed) Drop(range);
}

void ChunkTable::GiveBack() {
  DropBorrowed();
  remote_->TellUnmappedIfIdle();
}

void ChunkTable::Want(uint32_t first_range, uint32_t range_count) {
  std::vector<uint32_t> ranges;
  for (uint32_t i = 0; i < range_count; ++i) {
    if (first_range + i < present_.size()) ranges.push_back(first_range + i);
  }
  Want(ranges);
}

void ChunkTable::Want(std::span<const uint32_t> ranges) {
  std::vector<model::ChunkRef> refs = RefsOf(ranges);
  if (!refs.empty()) remote_->Want(view_, refs);
}

void ChunkTable::Place(const model::ChunkRef& ref, RemoteTable::ChunkPtr chunk) {
  uint32_t unit = manifest().ranges()[ref.range].unit;
  size_t in_chunk = 0;
  for (uint32_t column : model::GroupColumns(manifest(), unit, ref.group, columns_)) {
    auto at = std::ranges::lower_bound(columns_, column) - columns_.begin();
    sources_[static_cast<size_t>(at)][ref.range] = &chunk->columns[in_chunk++];
  }
  borrowed_count_ += chunk->borrowed ? 1 : 0;
  held_[ref] = std::move(chunk);
}

void ChunkTable::Drop(uint32_t range) {
  if (!Has(range)) return;
  present_[range] = 0;
  --present_count_;
  uint32_t unit = manifest().ranges()[range].unit;
  for (uint32_t group : model::Groups(manifest(), unit, columns_)) {
    auto held = held_.find({range, group});
    if (held == held_.end()) continue;
    borrowed_count_ -= held->second->borrowed ? 1 : 0;
    held_.erase(held);
  }
  for (auto& column : sources_) column[range] = nullptr;
}

void ChunkTable::DropEvicted() {
  uint64_t evictions = remote_->Poll();
  if (evictions == evictions_seen_) return;
  evictions_seen_ = evictions;
  std::vector<uint32_t> evicted;
  for (const auto& [ref, chunk] : held_) {
    if (chunk->evicted) evicted.push_back(ref.range);
  }
  for (uint32_t range : evicted) Drop(range);
}

void ChunkTable::DropBefore(uint32_t range) {
  if (present_count_ == 0) return;
  std::vector<uint32_t> earlier;
  for (const auto& [ref, chunk] : held_) {
    if (ref.range < range) earlier.push_back(ref.range);
  }
  for (uint32_t one : earlier) Drop(one);
}

void ChunkTable::KeepOnly(std::span<const uint32_t> ranges) {
  std::vector<uint32_t> others;
  for (const auto& [ref, chunk] : held_) {
    if (!std::ranges::binary_search(ranges, ref.range)) others.push_back(ref.range);
  }
  for (uint32_t one : others) Drop(one);
}

std::shared_ptr<const void> ChunkTable::Owner(size_t i, uint32_t range) const {
  uint32_t unit = manifest().ranges()[range].unit;
  return held_.at({range, model::GroupOf(manifest(), unit, columns_[i])});
}

Status ChunkTable::MakeFillers() {
  if (!fillers_.empty()) return Status::OK();
  for (size_t i = 0; i < columns_.size(); ++i) {
    FB_ASSIGN_OR_RETURN(auto filler, MakeFiller(manifest().schema().fields[columns_[i]]));
    sources_[i].back() = filler.get();
    fillers_.push_back(std::move(filler));
  }
  return Status::OK();
}

}  // namespace forebay::reader
