#include "flight/row_chunk_bound.h"

#include "reader/type_layout.h"

namespace forebay::flight {
namespace {

using reader::Layout;

// Of the file around the columns, and of what it says of each field: far more than it is.
constexpr uint64_t kFileBytes = 16 * 1024;
constexpr uint64_t kFieldBytes = 2 * 1024;
constexpr uint64_t kValuesMax = uint64_t{1} << 44;

uint64_t Padded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// Texts are said twice, in the head of a file and in its foot.
uint64_t TextBytes(const std::vector<std::pair<std::string, std::string>>& metadata) {
  uint64_t bytes = 0;
  for (const auto& [key, value] : metadata) bytes += 2 * (key.size() + value.size() + 64);
  return bytes;
}

std::optional<uint64_t> BytesMax(const model::Field& field, uint64_t count) {
  auto type = reader::LayoutOf(field);
  if (!type.ok() || reader::HasOffsets(type->layout)) return std::nullopt;
  if (type->width > 0 && count > kValuesMax / type->width) return std::nullopt;
  uint64_t bits = Padded((count + 7) / 8);
  uint64_t bytes = kFieldBytes + 4 * field.name.size() + TextBytes(field.metadata) + bits;
  if (type->layout == Layout::kBool) bytes += bits;
  if (type->layout == Layout::kFixed) bytes += Padded(count * type->width);
  bool list = type->layout == Layout::kFixedList;
  for (const model::Field& child : field.children) {
    auto more = BytesMax(child, list ? count * type->width : count);
    if (!more) return std::nullopt;
    bytes += *more;
  }
  return bytes;
}

}  // namespace

std::optional<uint64_t> RowChunkBytesMax(const model::Schema& schema,
                                         std::span<const uint32_t> columns,
                                         uint64_t rows) {
  uint64_t bytes = kFileBytes + TextBytes(schema.metadata);
  for (uint32_t column : columns) {
    auto more = BytesMax(schema.fields[column], rows);
    if (!more) return std::nullopt;
    bytes += *more;
  }
  return bytes;
}

}  // namespace forebay::flight
