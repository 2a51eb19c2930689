#include "reader/gather_rows.h"

#include <algorithm>
#include <cstring>

#include "base/prefetch.h"
#include "reader/gather_bits.h"

namespace forebay::reader {
namespace {

constexpr uint64_t kLine = 64;
// Narrow values: addresses are found and prefetched this many rows before the copy.
constexpr uint64_t kAhead = 128;
// Wide values: so many bytes are on their way ahead of the copy.
constexpr uint64_t kAheadBytes = 8192;
// Copies of this many bytes are worth waking the helper, and are cut into such pieces.
constexpr uint64_t kSharedBytesMin = uint64_t{1} << 20;
constexpr uint64_t kPieceBytes = uint64_t{256} << 10;

// Into the second-level cache: it tracks twice as many misses at once as the first, which
// is what bounds a gather from memory. Measured 1.5 × faster than prefetching all the
// way.
void PrefetchValue(const uint8_t* at) { Prefetch<CacheLevel::kSecond>(at); }

const uint8_t* ValuesOf(const ChunkColumn& column) { return column.values; }
const uint8_t* ChildValuesOf(const ChunkColumn& column) {
  return column.children[0].values;
}

using Values = const uint8_t* (*)(const ChunkColumn&);

template <uint64_t kWidth>
void CopyNarrow(const RowSelection& selection, uint8_t* to) {
  const uint8_t* addresses[2][kAhead];
  uint64_t count = selection.rows.size();
  auto locate = [&](uint64_t first, const uint8_t** out) {
    uint64_t n = std::min(kAhead, count - first);
    for (uint64_t i = 0; i < n; ++i) {
      RowAddress at = selection.rows[first + i];
      out[i] = selection.sources[at.source]->values + at.row * kWidth;
      PrefetchValue(out[i]);
    }
  };
  if (count != 0) locate(0, addresses[0]);
  for (uint64_t first = 0; first < count; first += kAhead) {
    uint64_t block = first / kAhead % 2;
    if (first + kAhead < count) locate(first + kAhead, addresses[1 - block]);
    uint64_t n = std::min(kAhead, count - first);
    for (uint64_t i = 0; i < n; ++i) {
      std::memcpy(to + (first + i) * kWidth, addresses[block][i], kWidth);
    }
  }
}

void PrefetchRow(const uint8_t* row, uint64_t width) {
  for (uint64_t i = 0; i < width; i += kLine) PrefetchValue(row + i);
}

template <Values kValues>
void CopyWideRows(const RowSelection& selection, uint64_t width, uint8_t* to) {
  uint64_t count = selection.rows.size();
  uint64_t ahead = std::clamp<uint64_t>(kAheadBytes / width, 1, kAhead);
  auto at = [&](uint64_t i) {
    return kValues(selection.source(i)) + selection.rows[i].row * width;
  };
  for (uint64_t i = 0; i < std::min(ahead, count); ++i) PrefetchRow(at(i), width);
  for (uint64_t i = 0; i < count; ++i) {
    if (i + ahead < count) PrefetchRow(at(i + ahead), width);
    std::memcpy(to + i * width, at(i), width);
  }
}

template <Values kValues>
void CopyWide(const RowSelection& selection, uint64_t width, uint8_t* to) {
  uint64_t count = selection.rows.size();
  if (selection.helper == nullptr || count * width < kSharedBytesMin) {
    return CopyWideRows<kValues>(selection, width, to);
  }
  uint64_t piece_rows = std::max<uint64_t>(kPieceBytes / width, 1);
  selection.helper->Share((count + piece_rows - 1) / piece_rows, [&](size_t i) {
    uint64_t first = i * piece_rows;
    auto rows = selection.rows.subspan(first, std::min(piece_rows, count - first));
    CopyWideRows<kValues>({selection.sources, rows}, width, to + first * width);
  });
}

// Asks whichever are fewer: the sources, or the rows. Sources that no row names may say
// yes for nothing, which costs time only.
bool AnyNulls(const RowSelection& selection) {
  uint64_t nulls = 0;
  if (selection.sources.size() < selection.rows.size()) {
    for (const ChunkColumn* source : selection.sources) {
      if (source != nullptr) nulls |= source->null_count;
    }
    return nulls != 0;
  }
  for (RowAddress row : selection.rows)
    nulls |= selection.sources[row.source]->null_count;
  return nulls != 0;
}

// One output byte at a time; `bit(i)` gives row i's.
template <typename Bit>
void PackBits(uint64_t count, uint8_t* to, Bit bit) {
  for (uint64_t first = 0; first < count; first += 8) {
    uint64_t n = std::min<uint64_t>(8, count - first);
    unsigned byte = 0;
    for (uint64_t i = 0; i < n; ++i) byte |= unsigned{bit(first + i)} << i;
    to[first / 8] = static_cast<uint8_t>(byte);
  }
}

template <typename Pointer>
void PrefetchBits(const RowSelection& selection, uint64_t i, Pointer pointer) {
  if (i + kAhead >= selection.rows.size()) return;
  const uint8_t* bits = pointer(selection.source(i + kAhead));
  if (bits != nullptr) PrefetchValue(bits + selection.rows[i + kAhead].row / 8);
}

// A string or binary value where it lies.
struct Piece {
  const uint8_t* data;
  uint64_t size;
};

constexpr uint64_t kShort = 32;
// Set in Piece::size when kShort bytes may be read whatever the size.
constexpr uint64_t kRoomy = uint64_t{1} << 63;

template <typename Offset>
bool FindPieces(const RowSelection& selection, Offset* offsets, Piece* pieces) {
  uint64_t count = selection.rows.size();
  bool good = true;
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const ChunkColumn& later = selection.source(i + kAhead);
      PrefetchValue(later.offsets + selection.rows[i + kAhead].row * sizeof(Offset));
    }
    const ChunkColumn& source = selection.source(i);
    Offset ends[2];
    std::memcpy(ends, source.offsets + selection.rows[i].row * sizeof(Offset),
                sizeof(ends));
    auto begin = static_cast<uint64_t>(ends[0]), end = static_cast<uint64_t>(ends[1]);
    // A negative offset is huge here and fails one of the two.
    if (begin > end || end > source.values_size) {
      good = false;
      begin = end = 0;
    }
    bool roomy = begin + kShort <= source.values_size;
    pieces[i] = {source.values + begin, (end - begin) | (roomy ? kRoomy : 0)};
    offsets[i] = static_cast<Offset>(total);
    total += end - begin;
  }
  offsets[count] = static_cast<Offset>(total);
  return good;
}

uint64_t TotalSize(std::span<const Piece> pieces) {
  uint64_t total = 0;
  for (const Piece& piece : pieces) total += piece.size & ~kRoomy;
  return total;
}

// `to` has kPadding bytes more than the pieces need.
void CopyPieces(std::span<const Piece> pieces, uint8_t* to) {
  constexpr uint64_t kPiecesAhead = 32;
  for (uint64_t i = 0; i < pieces.size(); ++i) {
    if (i + kPiecesAhead < pieces.size()) {
      const Piece& later = pieces[i + kPiecesAhead];
      PrefetchRow(later.data, std::min(later.size & ~kRoomy, kAheadBytes));
    }
    uint64_t size = pieces[i].size & ~kRoomy;
    if (size <= kShort && (pieces[i].size & kRoomy) != 0) {
      std::memcpy(to, pieces[i].data, kShort);
    } else if (size != 0) {
      std::memcpy(to, pieces[i].data, size);
    }
    to += size;
  }
}

template <typename Offset>
Status GatherBinary(const RowSelection& selection, GatherOutput* output) {
  uint64_t count = selection.rows.size();
  FB_ASSIGN_OR_RETURN(uint8_t * offsets,
                      output->Allocate(1, (count + 1) * sizeof(Offset)));
  PooledBuffer keep;
  FB_ASSIGN_OR_RETURN(Piece * scratch, TakeScratch<Piece>(output->pool(), count, &keep));
  if (!FindPieces(selection, reinterpret_cast<Offset*>(offsets), scratch)) {
    return BadOffsets(output->field());
  }
  std::span<const Piece> pieces(scratch, count);
  uint64_t total = TotalSize(pieces);
  if (sizeof(Offset) == 4 && total > INT32_MAX) return OffsetsOverflow(output->field());
  FB_ASSIGN_OR_RETURN(uint8_t * bytes, output->Allocate(2, total));
  CopyPieces(pieces, bytes);
  return Status::OK();
}

}  // namespace

Status GatherRowValidity(const RowSelection& selection, GatherOutput* output) {
  if (!AnyNulls(selection)) return Status::OK();
  uint64_t count = selection.rows.size();
  FB_ASSIGN_OR_RETURN(uint8_t * to, output->Allocate(0, (count + 7) / 8));
  auto validity = [](const ChunkColumn& column) { return column.validity; };
  PackBits(count, to, [&](uint64_t i) {
    PrefetchBits(selection, i, validity);
    const uint8_t* bits = selection.source(i).validity;
    return bits == nullptr || GetBit(bits, selection.rows[i].row);
  });
  output->SetNullCount(CountZeroBits(to, count));
  return Status::OK();
}

Status GatherRowBools(const RowSelection& selection, GatherOutput* output) {
  uint64_t count = selection.rows.size();
  FB_ASSIGN_OR_RETURN(uint8_t * to, output->Allocate(1, (count + 7) / 8));
  PackBits(count, to, [&](uint64_t i) {
    PrefetchBits(selection, i, ValuesOf);
    return GetBit(selection.source(i).values, selection.rows[i].row);
  });
  return Status::OK();
}

Status GatherRowFixed(const RowSelection& selection, uint64_t width,
                      GatherOutput* output) {
  FB_ASSIGN_OR_RETURN(uint8_t * to, output->Allocate(1, selection.rows.size() * width));
  switch (width) {
    case 0: break;
    case 1: CopyNarrow<1>(selection, to); break;
    case 2: CopyNarrow<2>(selection, to); break;
    case 4: CopyNarrow<4>(selection, to); break;
    case 8: CopyNarrow<8>(selection, to); break;
    case 16: CopyNarrow<16>(selection, to); break;
    case 32: CopyNarrow<32>(selection, to); break;
    default: CopyWide<ValuesOf>(selection, width, to); break;
  }
  return Status::OK();
}

void GatherRowFixedChild(const RowSelection& selection, uint64_t width, uint8_t* to) {
  if (width != 0) CopyWide<ChildValuesOf>(selection, width, to);
}

Status GatherRowBinary(const RowSelection& selection, GatherOutput* output) {
  bool narrow = OffsetWidth(output->type().layout) == 4;
  return narrow ? GatherBinary<int32_t>(selection, output)
                : GatherBinary<int64_t>(selection, output);
}

}  // namespace forebay::reader
