// Gather of single rows: the kernels behind a shuffled batch of flat columns.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "reader/copy_helper.h"
#include "reader/gather_output.h"
#include "reader/row_address.h"

namespace forebay::reader {

struct RowSelection {
  std::span<const ChunkColumn* const> sources;
  std::span<const RowAddress> rows;
  CopyHelper* helper = nullptr;  // for large copies; may be null

  const ChunkColumn& source(uint64_t i) const { return *sources[rows[i].source]; }
};

// Bits of validity; sets the null count.
Status GatherRowValidity(const RowSelection& selection, GatherOutput* output);
Status GatherRowBools(const RowSelection& selection, GatherOutput* output);
// Into buffer 1, values of `width` bytes.
Status GatherRowFixed(const RowSelection& selection, uint64_t width,
                      GatherOutput* output);
// Rows of `width` bytes whose values lie in the sources' only child: a fixed-size list
// taken as one wide value. `to` has room for them all.
void GatherRowFixedChild(const RowSelection& selection, uint64_t width, uint8_t* to);
// Offsets and bytes.
Status GatherRowBinary(const RowSelection& selection, GatherOutput* output);

}  // namespace forebay::reader
