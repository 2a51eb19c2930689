#include "reader/batches/row_look_ahead.h"

#include <algorithm>
#include <optional>

#include "reader/batches/pass_gather.h"

namespace forebay::reader {

RowLookAhead::~RowLookAhead() { Drop(); }

void RowLookAhead::Drop() {
  std::vector<RemoteTable::GatherTicket> tickets;
  for (const Block& block : blocks_) tickets.push_back(block.ticket);
  blocks_.clear();
  if (!tickets.empty()) options_.table->remote()->DropGathered(tickets);
}

RowLookAhead::Block RowLookAhead::Ask(uint64_t first) const {
  uint64_t end = std::min(first + size_.steps(), options_.shards->worker_step_count());
  Block block{.first = first, .end = end, .rows = {}};
  for (uint64_t step = first; step < end; ++step) {
    plan::StepSlice slice = options_.shards->At(options_.shards->WorkerStep(step));
    size_t at = block.rows.size();
    block.rows.resize(at + slice.count);
    options_.order->RowsAt(slice.first, std::span(block.rows).subspan(at));
  }
  ChunkTable& table = *options_.table;
  block.ticket = table.remote()->Gather(table.view(), block.rows);
  return block;
}

void RowLookAhead::AskAhead(uint64_t first) {
  if (!blocks_.empty() && blocks_.front().first != first) Drop();
  uint64_t next = blocks_.empty() ? first : blocks_.back().end;
  while (blocks_.size() < size_.blocks() && next < options_.shards->worker_step_count()) {
    blocks_.push_back(Ask(next));
    next = blocks_.back().end;
  }
}

Result<RowLookAhead::Taken> RowLookAhead::Take(
    uint64_t first_step, std::span<const ColumnGatherer> gatherers) {
  AskAhead(first_step);
  uint64_t end = blocks_.front().end;
  auto columns = Gather(blocks_.front(), gatherers);
  if (!columns.ok()) {
    Drop();  // the ticket may be used up
    return columns.status();
  }
  blocks_.pop_front();
  AskAhead(end);
  return Taken{.steps = end - first_step, .columns = *std::move(columns)};
}

Result<std::vector<Column>> RowLookAhead::Gather(
    const Block& block, std::span<const ColumnGatherer> gatherers) {
  ChunkTable& table = *options_.table;
  auto start = std::chrono::steady_clock::now();
  auto parts = table.remote()->TakeGathered(table.view(), block.ticket, block.rows);
  table.AddTimes({.peer = std::chrono::steady_clock::now() - start});
  if (!parts.ok()) return parts.status();
  Learn(*parts);
  FB_RETURN_NOT_OK(Locate(block, *parts, gatherers));
  std::vector<Column> columns;
  for (size_t i = 0; i < gatherers.size(); ++i) {
    std::optional<ChunkColumn> gathered;
    if (!gathered_.empty()) gathered = AsSource(gathered_[i]);
    std::vector<const ChunkColumn*> sources;
    for (const auto& part : parts->parts) sources.push_back(&part->columns[i]);
    for (uint32_t range : ranges_) sources.push_back(table.Sources(i)[range]);
    if (gathered) sources.push_back(&*gathered);
    sources.push_back(table.Sources(i)[table.filler_source()]);
    FB_ASSIGN_OR_RETURN(Column column, gatherers[i].Gather(sources, addresses_));
    columns.push_back(std::move(column));
  }
  gathered_.clear();
  return columns;
}

void RowLookAhead::Learn(const RemoteTable::RowParts& parts) {
  uint64_t bytes = 0;
  for (const auto& part : parts.parts) bytes += part->mapping->size();
  auto in_chunks = std::ranges::count(parts.part_of, wire::kRowInChunks);
  size_.Learn(parts.part_of.size() - static_cast<uint64_t>(in_chunks), bytes);
}

Status RowLookAhead::Locate(const Block& block, const RemoteTable::RowParts& parts,
                            std::span<const ColumnGatherer> gatherers) {
  addresses_.clear();
  std::vector<uint32_t> taken(parts.parts.size());
  InChunks in{.first_source = static_cast<uint32_t>(taken.size())};
  std::vector<size_t> fillers;
  size_t row = 0;
  for (uint64_t step = block.first; step < block.end; ++step) {
    plan::StepSlice slice = options_.shards->At(options_.shards->WorkerStep(step));
    for (uint64_t i = 0; i < slice.count; ++i, ++row) {
      uint32_t part = parts.part_of[row];
      if (part != wire::kRowInChunks && part >= taken.size()) {
        return Status::Corrupt("the node names a part of rows that it did not hand over");
      }
      if (part == wire::kRowInChunks) {
        in.rows.push_back(block.rows[row]);
        in.places.push_back(addresses_.size());
      }
      addresses_.push_back(part == wire::kRowInChunks ? RowAddress{}
                                                      : RowAddress{part, taken[part]++});
    }
    for (uint64_t i = 0; i < slice.filler; ++i) {
      fillers.push_back(addresses_.size());
      addresses_.emplace_back();
    }
  }
  FB_RETURN_NOT_OK(BringRanges(in, gatherers));
  if (!fillers.empty()) FB_RETURN_NOT_OK(options_.table->MakeFillers());
  size_t before_filler = taken.size() + ranges_.size() + (gathered_.empty() ? 0 : 1);
  auto filler = static_cast<uint32_t>(before_filler);
  for (size_t place : fillers) addresses_[place] = {filler, 0};
  return Status::OK();
}

Status RowLookAhead::BringRanges(const InChunks& in,
                                 std::span<const ColumnGatherer> gatherers) {
  std::vector<RowAddress> found(in.rows.size());
  options_.locator->Locate(in.rows, found);
  gathered_.clear();
  ranges_.clear();
  if (in_passes_) return GatherInPasses(in, found, gatherers);
  for (const RowAddress& address : found) ranges_.push_back(address.source);
  std::ranges::sort(ranges_);
  ranges_.erase(std::unique(ranges_.begin(), ranges_.end()), ranges_.end());
  Status brought = options_.table->Ensure(ranges_);
  if (brought.code() == StatusCode::kFull) return GatherInPasses(in, found, gatherers);
  FB_RETURN_NOT_OK(brought);
  for (size_t i = 0; i < found.size(); ++i) {
    auto at = std::ranges::lower_bound(ranges_, found[i].source) - ranges_.begin();
    addresses_[in.places[i]] = {in.first_source + static_cast<uint32_t>(at),
                                found[i].row};
  }
  return Status::OK();
}

Status RowLookAhead::GatherInPasses(const InChunks& in, std::span<const RowAddress> found,
                                    std::span<const ColumnGatherer> gatherers) {
  in_passes_ = true;
  ranges_.clear();
  if (found.empty()) return Status::OK();
  PassGather passes({.table = options_.table, .gatherers = gatherers});
  FB_ASSIGN_OR_RETURN(gathered_, passes.Gather(found));
  for (uint32_t i = 0; i < found.size(); ++i) {
    addresses_[in.places[i]] = {in.first_source, i};
  }
  return Status::OK();
}

}  // namespace forebay::reader
