#include "native/range_stream.h"

#include <algorithm>
#include <array>

namespace forebay::python {
namespace {

// Ranges that the node is asked to have ready ahead of the consumer.
constexpr uint32_t kLookAhead = 8;

}  // namespace

RangeStream::RangeStream(std::shared_ptr<reader::RemoteTable> remote,
                         std::shared_ptr<reader::BufferPool> pool, Selection selection)
    : pool_(std::move(pool)),
      selection_(std::move(selection)),
      table_(std::move(remote), selection_.columns,
             {.mode = Mapping::Mode::kShared, .borrowed = reader::Borrowed::kCopy}) {}

Result<std::optional<ArrowBatch>> RangeStream::Next() {
  const model::Manifest& manifest = table_.manifest();
  auto range_count = static_cast<uint32_t>(manifest.ranges().size());
  while (next_ < range_count && manifest.ranges()[next_].row_count == 0) ++next_;
  if (next_ >= range_count) return std::optional<ArrowBatch>();
  table_.DropEvicted();
  table_.DropBefore(next_);
  FB_RETURN_NOT_OK(table_.EnsureOrWait(std::array{next_}));
  // What no tier takes would be read ahead of need in vain.
  if (!table_.has_borrowed()) {
    table_.Want(next_ + 1, std::min(kLookAhead, range_count - next_ - 1));
  }
  uint64_t rows = manifest.ranges()[next_].row_count;
  std::vector<reader::Run> runs;
  reader::AppendRuns(manifest, {next_, 0}, rows, &runs);
  std::vector<reader::Column> columns;
  for (size_t i = 0; i < selection_.columns.size(); ++i) {
    FB_ASSIGN_OR_RETURN(reader::Column column, ColumnOf(i, runs));
    columns.push_back(std::move(column));
  }
  ++next_;
  return std::optional(ArrowBatch{selection_.Arrange(std::move(columns)), rows});
}

Result<reader::Column> RangeStream::ColumnOf(size_t i,
                                             const std::vector<reader::Run>& runs) const {
  const model::Field& field = table_.manifest().schema().fields[selection_.columns[i]];
  if (runs.size() == 1) {
    return reader::SliceChunk(field, *table_.Sources(i)[next_], runs[0].first,
                              runs[0].count, table_.Owner(i, next_));
  }
  FB_ASSIGN_OR_RETURN(auto gatherer, reader::ColumnGatherer::Make(field, pool_));
  return gatherer.Gather(table_.Sources(i), runs);
}

}  // namespace forebay::python
