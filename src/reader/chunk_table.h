// The chunks a stream has at hand, arranged for gathering: for each projected column, its
// part in every row range. Owned by one stream; not thread-safe.
#pragma once

#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reader/remote_table.h"

namespace forebay::reader {

class ChunkTable {
 public:
  ChunkTable(std::shared_ptr<RemoteTable> remote, model::Projection columns,
             RemoteTable::MapOptions map = {});
  // Gives borrowed chunks back: the dataset may stay open without being read.
  ~ChunkTable();

  const model::Manifest& manifest() const { return *remote_->manifest(); }
  const model::Projection& columns() const { return columns_; }
  const std::shared_ptr<RemoteTable>& remote() const { return remote_; }
  uint32_t view() const { return view_; }

  // Time spent in Ensure since the last call.
  RemoteTable::Times TakeTimes() { return std::exchange(times_, {}); }
  // Time spent on rows that came another way.
  void AddTimes(const RemoteTable::Times& times) { times_ += times; }

  bool Has(uint32_t range) const { return present_[range] != 0; }
  bool complete() const { return present_count_ == present_.size(); }
  // Brings the ranges that are missing, whole.
  Status Ensure(std::span<const uint32_t> ranges);
  Status EnsureAll();
  // The same for a caller that lets go of what is borrowed before it asks for more.
  Status EnsureBriefly(std::span<const uint32_t> ranges);
  // After kFull: lets go of all other ranges and copies what is borrowed of these, one
  // chunk at a time; waits a while for other readers. The ranges ascend.
  Status EnsureAlone(std::span<const uint32_t> ranges);
  // Ensure, or EnsureAlone where that is kFull. For readers that copy what is borrowed.
  Status EnsureOrWait(std::span<const uint32_t> ranges);
  // Tells the node which ranges come next; those at hand are left out.
  void Want(std::span<const uint32_t> ranges);
  void Want(uint32_t first_range, uint32_t range_count);

  // Between batches: lets go of what the node has evicted.
  void DropEvicted();
  // Lets go of all ranges before this one.
  void DropBefore(uint32_t range);
  // Whether chunks are at hand that no tier of the node holds: to be let go of after use.
  // Where they are mapped, no slice of them should be handed out: a batch that is kept
  // would keep memory that others wait for.
  bool has_borrowed() const { return borrowed_count_ > 0; }
  void DropBorrowed();
  // Drops them and tells the node at once.
  void GiveBack();
  // Lets go of all ranges but these, which ascend.
  void KeepOnly(std::span<const uint32_t> ranges);

  // The parts of the i-th projected column by range, and one more: the filler's. Null
  // where a range is not at hand.
  std::span<const ChunkColumn* const> Sources(size_t i) const { return sources_[i]; }
  // Whoever keeps a part alive.
  std::shared_ptr<const void> Owner(size_t i, uint32_t range) const;
  uint32_t filler_source() const { return static_cast<uint32_t>(present_.size()); }
  Status MakeFillers();

 private:
  Status Bring(std::span<const uint32_t> ranges, RemoteTable::MapOptions map);
  void PlaceAll(std::span<const uint32_t> ranges, std::span<const model::ChunkRef> refs,
                std::vector<RemoteTable::ChunkPtr> chunks);
  void Place(const model::ChunkRef& ref, RemoteTable::ChunkPtr chunk);
  void Drop(uint32_t range);
  std::vector<model::ChunkRef> RefsOf(std::span<const uint32_t> ranges) const;

  std::shared_ptr<RemoteTable> remote_;
  model::Projection columns_;
  const RemoteTable::MapOptions map_;
  uint32_t view_;
  uint64_t evictions_seen_ = 0;
  RemoteTable::Times times_;
  std::vector<uint8_t> present_;
  size_t present_count_ = 0;
  size_t borrowed_count_ = 0;  // chunks
  bool one_by_one_ = false;    // several at once were too many before
  std::vector<std::vector<const ChunkColumn*>> sources_;
  std::unordered_map<model::ChunkRef, RemoteTable::ChunkPtr> held_;
  std::vector<std::shared_ptr<const ChunkColumn>> fillers_;
};

}  // namespace forebay::reader
