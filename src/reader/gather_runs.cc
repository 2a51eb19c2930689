#include "reader/gather_runs.h"

#include <cstring>

#include "base/prefetch.h"
#include "reader/gather_bits.h"

namespace forebay::reader {
namespace {

uint64_t CountRows(std::span<const Run> runs) {
  uint64_t total = 0;
  for (const Run& run : runs) total += run.count;
  return total;
}

bool AnyNulls(Sources sources, std::span<const Run> runs) {
  for (const Run& run : runs) {
    if (run.count != 0 && sources[run.source]->null_count != 0) return true;
  }
  return false;
}

Status GatherValidity(Sources sources, std::span<const Run> runs, GatherOutput* output) {
  if (!AnyNulls(sources, runs)) return Status::OK();
  FB_ASSIGN_OR_RETURN(uint8_t * to, output->Allocate(0, (output->length() + 7) / 8));
  uint64_t at = 0;
  for (const Run& run : runs) {
    CopyBits({.to = to,
              .to_bit = at,
              .from = sources[run.source]->validity,
              .from_bit = run.first,
              .count = run.count});
    at += run.count;
  }
  output->SetNullCount(CountZeroBits(to, output->length()));
  return Status::OK();
}

Status GatherBools(Sources sources, std::span<const Run> runs, GatherOutput* output) {
  FB_ASSIGN_OR_RETURN(uint8_t * to, output->Allocate(1, (output->length() + 7) / 8));
  uint64_t at = 0;
  for (const Run& run : runs) {
    CopyBits({.to = to,
              .to_bit = at,
              .from = sources[run.source]->values,
              .from_bit = run.first,
              .count = run.count});
    at += run.count;
  }
  return Status::OK();
}

Status GatherFixed(Sources sources, std::span<const Run> runs, GatherOutput* output) {
  uint64_t width = output->type().width;
  FB_ASSIGN_OR_RETURN(uint8_t * to, output->Allocate(1, output->length() * width));
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (i + kAhead < runs.size()) {
      const Run& later = runs[i + kAhead];
      Prefetch(sources[later.source]->values + later.first * width);
    }
    uint64_t size = runs[i].count * width;
    if (size == 0) continue;
    std::memcpy(to, sources[runs[i].source]->values + runs[i].first * width, size);
    to += size;
  }
  return Status::OK();
}

template <typename Offset>
Offset LoadOffset(const ChunkColumn& source, uint64_t i) {
  Offset value;
  std::memcpy(&value, source.offsets + i * sizeof(Offset), sizeof(Offset));
  return value;
}

// Rebases the run's offsets to start at `base`. False when they are not ascending.
template <typename Offset>
bool CopyOffsets(const ChunkColumn& source, const Run& run, uint64_t base, Offset* to) {
  auto first = LoadOffset<Offset>(source, run.first);
  Offset previous = first;
  bool ascending = first >= 0;
  for (uint64_t i = 0; i < run.count; ++i) {
    auto next = LoadOffset<Offset>(source, run.first + i + 1);
    ascending &= next >= previous;
    previous = next;
    to[i] = static_cast<Offset>(static_cast<uint64_t>(next) -
                                static_cast<uint64_t>(first) + base);
  }
  return ascending;
}

// How far a source's offsets may reach.
uint64_t LimitOf(const ChunkColumn& source) {
  return source.children.empty() ? source.values_size : source.children[0].length;
}

// Writes the offsets and appends to `values` the runs of bytes or child rows they name.
template <typename Offset>
Status GatherOffsets(Sources sources, std::span<const Run> runs, GatherOutput* output,
                     std::vector<Run>* values) {
  uint64_t size = (output->length() + 1) * sizeof(Offset);
  FB_ASSIGN_OR_RETURN(uint8_t * bytes, output->Allocate(1, size));
  auto* to = reinterpret_cast<Offset*>(bytes);
  *to++ = 0;
  uint64_t total = 0;
  values->reserve(runs.size());
  for (const Run& run : runs) {
    if (run.count == 0) continue;
    const ChunkColumn& source = *sources[run.source];
    auto begin = static_cast<uint64_t>(LoadOffset<Offset>(source, run.first));
    auto end = static_cast<uint64_t>(LoadOffset<Offset>(source, run.first + run.count));
    bool good = begin <= end && end <= LimitOf(source);
    if (!good || !CopyOffsets(source, run, total, to)) return BadOffsets(output->field());
    values->push_back({run.source, begin, end - begin});
    total += end - begin;
    if (sizeof(Offset) == 4 && total > INT32_MAX) return OffsetsOverflow(output->field());
    to += run.count;
  }
  return Status::OK();
}

Status GatherOffsets(Sources sources, std::span<const Run> runs, GatherOutput* output,
                     std::vector<Run>* values) {
  return OffsetWidth(output->type().layout) == 4
             ? GatherOffsets<int32_t>(sources, runs, output, values)
             : GatherOffsets<int64_t>(sources, runs, output, values);
}

Status GatherBinary(Sources sources, std::span<const Run> runs, GatherOutput* output) {
  std::vector<Run> values;
  FB_RETURN_NOT_OK(GatherOffsets(sources, runs, output, &values));
  FB_ASSIGN_OR_RETURN(uint8_t * to, output->Allocate(2, CountRows(values)));
  for (const Run& value : values) {
    if (value.count == 0) continue;
    std::memcpy(to, sources[value.source]->values + value.first, value.count);
    to += value.count;
  }
  return Status::OK();
}

Status GatherChild(Sources sources, std::span<const Run> runs, size_t index,
                   GatherOutput* output) {
  std::vector<const ChunkColumn*> children = ChildSources(sources, index);
  FB_ASSIGN_OR_RETURN(Column child, GatherRuns(output->field().children[index], children,
                                               runs, output->pool()));
  output->AddChild(std::move(child));
  return Status::OK();
}

Status GatherList(Sources sources, std::span<const Run> runs, GatherOutput* output) {
  std::vector<Run> values;
  FB_RETURN_NOT_OK(GatherOffsets(sources, runs, output, &values));
  return GatherChild(sources, values, 0, output);
}

Status GatherFixedList(Sources sources, std::span<const Run> runs, GatherOutput* output) {
  std::vector<Run> values(runs.begin(), runs.end());
  for (Run& value : values) {
    value.first *= output->type().width;
    value.count *= output->type().width;
  }
  return GatherChild(sources, values, 0, output);
}

Status GatherStruct(Sources sources, std::span<const Run> runs, GatherOutput* output) {
  for (size_t i = 0; i < output->field().children.size(); ++i) {
    FB_RETURN_NOT_OK(GatherChild(sources, runs, i, output));
  }
  return Status::OK();
}

Status GatherValues(Sources sources, std::span<const Run> runs, GatherOutput* output) {
  switch (output->type().layout) {
    case Layout::kNull: return Status::OK();
    case Layout::kBool: return GatherBools(sources, runs, output);
    case Layout::kFixed: return GatherFixed(sources, runs, output);
    case Layout::kBinary32:
    case Layout::kBinary64: return GatherBinary(sources, runs, output);
    case Layout::kList32:
    case Layout::kList64: return GatherList(sources, runs, output);
    case Layout::kFixedList: return GatherFixedList(sources, runs, output);
    case Layout::kStruct: return GatherStruct(sources, runs, output);
  }
  return Status::Internal("a column has a layout nobody knows");
}

}  // namespace

std::vector<const ChunkColumn*> ChildSources(Sources sources, size_t index) {
  std::vector<const ChunkColumn*> children(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] != nullptr) children[i] = &sources[i]->children[index];
  }
  return children;
}

Result<Column> GatherRuns(const model::Field& field, Sources sources,
                          std::span<const Run> runs, BufferPool* pool) {
  FB_ASSIGN_OR_RETURN(TypeLayout type, LayoutOf(field));
  GatherOutput output(field, type, CountRows(runs), pool);
  if (type.layout != Layout::kNull) {
    FB_RETURN_NOT_OK(GatherValidity(sources, runs, &output));
  }
  FB_RETURN_NOT_OK(GatherValues(sources, runs, &output));
  return std::move(output).Finish();
}

}  // namespace forebay::reader
