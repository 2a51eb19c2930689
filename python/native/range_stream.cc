#include "native/range_stream.h"

#include <algorithm>
#include <array>

namespace forebay::python {
namespace {

// Ranges that the node is asked to have ready ahead of the consumer.
constexpr uint32_t kLookAhead = 8;

}  // namespace

RangeStream::RangeStream(std::shared_ptr<reader::RemoteTable> remote, Selection selection)
    : selection_(std::move(selection)),
      table_(std::move(remote), selection_.columns, Mapping::Mode::kShared) {}

Result<std::optional<ArrowBatch>> RangeStream::Next() {
  const model::Manifest& manifest = table_.manifest();
  auto range_count = static_cast<uint32_t>(manifest.ranges().size());
  if (next_ >= range_count) return std::optional<ArrowBatch>();
  table_.DropEvicted();
  table_.DropBefore(next_);
  FB_RETURN_NOT_OK(table_.Ensure(std::array{next_}));
  table_.Want(next_ + 1, std::min(kLookAhead, range_count - next_ - 1));
  uint64_t rows = manifest.ranges()[next_].row_count;
  std::vector<reader::Column> columns;
  for (size_t i = 0; i < selection_.columns.size(); ++i) {
    const model::Field& field = manifest.schema().fields[selection_.columns[i]];
    columns.push_back(reader::SliceChunk(field, *table_.Sources(i)[next_], 0, rows,
                                         table_.Owner(i, next_)));
  }
  ++next_;
  return std::optional(ArrowBatch{selection_.Arrange(std::move(columns)), rows});
}

}  // namespace forebay::python
