// A column of a batch: pointers into a mapped chunk or into pooled buffers, and whoever
// keeps them alive. Copies and slices cost no bytes; export.h hands it to Arrow.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/schema.h"
#include "reader/ipc_layout.h"
#include "reader/type_layout.h"

namespace forebay::reader {

struct Buffer {
  const uint8_t* data = nullptr;
  uint64_t size = 0;
};

struct Column {
  static constexpr uint64_t kUnknownNulls = UINT64_MAX;

  // The manifest's (or the test's) field; must outlive what asks for it.
  const model::Field* field = nullptr;
  TypeLayout type;
  uint64_t length = 0;
  uint64_t offset = 0;      // elements of the buffers to skip
  uint64_t null_count = 0;  // kUnknownNulls after slicing a column with nulls
  // In the order of the C data interface; BufferCount(type.layout) of them are used.
  std::array<Buffer, 3> buffers{};
  std::vector<Column> children;
  std::shared_ptr<const void> owner;  // of the buffers, not of the children's
  bool writable = false;              // nobody else sees these buffers

  const uint8_t* validity() const { return buffers[0].data; }
  // Fixed-width values or bits; for strings the offsets are buffers[1], the bytes [2].
  const uint8_t* values() const { return buffers[1].data; }
  bool IsNull(uint64_t i) const {
    if (type.layout == Layout::kNull) return true;
    if (validity() == nullptr) return false;
    uint64_t bit = offset + i;
    return (validity()[bit / 8] >> (bit % 8) & 1) == 0;
  }

  // Rows [first, first + count) of this column, no copy. Counts nulls only where that is
  // free.
  Column Slice(uint64_t first, uint64_t count) const;
};

// Rows [first, first + count) of a chunk's column, no copy; `owner` keeps the mapping.
Column SliceChunk(const model::Field& field, const ChunkColumn& chunk, uint64_t first,
                  uint64_t count, std::shared_ptr<const void> owner);

// A gathered column as a source to gather from. The column must outlive it, and have no
// offset.
ChunkColumn AsSource(const Column& column);

// The nulls of a column, counted when the column does not know.
uint64_t CountNulls(const Column& column);

}  // namespace forebay::reader
