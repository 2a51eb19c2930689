// How values of a type lie in memory: what an Arrow format string means for the buffers.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "model/schema.h"

namespace forebay::reader {

enum class Layout : uint8_t {
  kNull,       // no buffers at all
  kBool,       // validity, bits
  kFixed,      // validity, values of `width` bytes
  kBinary32,   // validity, 32-bit offsets, bytes
  kBinary64,   // validity, 64-bit offsets, bytes
  kList32,     // validity, 32-bit offsets; one child (lists and maps)
  kList64,     // validity, 64-bit offsets; one child
  kFixedList,  // validity; one child with `width` items a row
  kStruct,     // validity; any number of children
};

struct TypeLayout {
  Layout layout = Layout::kNull;
  uint64_t width = 0;  // bytes of kFixed, items of kFixedList

  friend bool operator==(const TypeLayout&, const TypeLayout&) = default;
};

// kUnsupported for types that never are in a chunk (unions, views, dictionaries);
// kInvalid for a format string that makes no sense or has the wrong number of children.
Result<TypeLayout> LayoutOf(const model::Field& field);

// Buffers of an array of this layout in the C data interface, validity included.
int BufferCount(Layout layout);

inline bool HasOffsets(Layout layout) {
  return layout == Layout::kBinary32 || layout == Layout::kBinary64 ||
         layout == Layout::kList32 || layout == Layout::kList64;
}
// Bytes of one offset; 0 where the layout has none.
inline uint64_t OffsetWidth(Layout layout) {
  if (!HasOffsets(layout)) return 0;
  return layout == Layout::kBinary32 || layout == Layout::kList32 ? 4 : 8;
}

}  // namespace forebay::reader
