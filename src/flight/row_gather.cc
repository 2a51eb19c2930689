#include "flight/row_gather.h"

#include <fmt/format.h>

#include <algorithm>

namespace forebay::flight {

RowGather::RowGather(std::shared_ptr<reader::RemoteTable> table,
                     reader::ColumnChoice choice)
    : choice_(std::move(choice)),
      table_(std::move(table), choice_.columns),
      locator_(table_.manifest()) {}

Result<std::unique_ptr<RowGather>> RowGather::Make(
    std::shared_ptr<reader::RemoteTable> table,
    const std::shared_ptr<reader::BufferPool>& pool, reader::ColumnChoice choice) {
  auto gather =
      std::unique_ptr<RowGather>(new RowGather(std::move(table), std::move(choice)));
  const model::Schema& schema = gather->table_.manifest().schema();
  for (uint32_t column : gather->choice_.columns) {
    FB_ASSIGN_OR_RETURN(auto gatherer, reader::ColumnGatherer::Make(
                                           schema.fields[column], pool,
                                           gather->table_.remote()->copy_helper()));
    gather->gatherers_.push_back(std::move(gatherer));
  }
  return gather;
}

Result<reader::Batch> RowGather::Take(std::span<const uint64_t> rows) {
  uint64_t row_count = table_.manifest().row_count();
  for (uint64_t row : rows) {
    if (row < row_count) continue;
    return Status::Invalid(
        fmt::format("there is no row {}: the table has {} rows", row, row_count));
  }
  table_.DropEvicted();
  addresses_.resize(rows.size());
  locator_.Locate(rows, addresses_);
  std::vector<uint32_t> ranges;
  for (const reader::RowAddress& address : addresses_) {
    if (!table_.Has(address.source)) ranges.push_back(address.source);
  }
  std::ranges::sort(ranges);
  ranges.erase(std::unique(ranges.begin(), ranges.end()), ranges.end());
  FB_RETURN_NOT_OK(table_.Ensure(ranges));
  reader::Batch batch;
  for (size_t i = 0; i < gatherers_.size(); ++i) {
    FB_ASSIGN_OR_RETURN(reader::Column column,
                        gatherers_[i].Gather(table_.Sources(i), addresses_));
    batch.columns.push_back(std::move(column));
  }
  batch.columns = choice_.Arrange(std::move(batch.columns));
  batch.row_count = rows.size();
  batch.manifest = table_.remote()->manifest();
  return batch;
}

}  // namespace forebay::flight
