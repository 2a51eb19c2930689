#include "reader/gather.h"

#include <algorithm>
#include <vector>

#include "reader/gather_output.h"
#include "reader/gather_rows.h"

namespace forebay::reader {
namespace {

bool Follows(RowAddress row, RowAddress next) {
  return next.source == row.source && next.row == row.row + 1;
}

// Whether runs of followers average kRowsPerRun rows or more; with fewer, starting runs
// costs more than it saves. Shuffled rows are known after a quarter of them.
bool IsMostlyRuns(std::span<const RowAddress> rows) {
  constexpr uint64_t kRowsPerRun = 4;
  uint64_t breaks_max = rows.size() / kRowsPerRun, breaks = 0;
  for (size_t i = 1; i < rows.size() && breaks <= breaks_max; ++i) {
    breaks += !Follows(rows[i - 1], rows[i]);
  }
  return breaks < breaks_max;
}

// Consecutive rows joined.
std::vector<Run> MakeRuns(std::span<const RowAddress> rows) {
  std::vector<Run> runs;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i != 0 && Follows(rows[i - 1], rows[i])) {
      ++runs.back().count;
    } else {
      runs.push_back({rows[i].source, rows[i].row, 1});
    }
  }
  return runs;
}

Result<Column> GatherRows(const model::Field& field, const RowSelection& selection,
                          BufferPool* pool);

Status GatherStruct(const RowSelection& selection, GatherOutput* output) {
  for (size_t i = 0; i < output->field().children.size(); ++i) {
    std::vector<const ChunkColumn*> children = ChildSources(selection.sources, i);
    FB_ASSIGN_OR_RETURN(
        Column child,
        GatherRows(output->field().children[i],
                   {children, selection.rows, selection.helper}, output->pool()));
    output->AddChild(std::move(child));
  }
  return Status::OK();
}

bool ChildHasNulls(const RowSelection& selection) {
  return std::any_of(selection.sources.begin(), selection.sources.end(),
                     [](const ChunkColumn* source) {
                       return source != nullptr && source->children[0].null_count != 0;
                     });
}

// A vector of numbers without nulls (an embedding, an image) is one wide value.
Status GatherFixedList(const RowSelection& selection, GatherOutput* output) {
  const model::Field& child_field = output->field().children[0];
  uint64_t items = output->type().width, rows = selection.rows.size();
  FB_ASSIGN_OR_RETURN(TypeLayout child, LayoutOf(child_field));
  if (child.layout == Layout::kFixed && !ChildHasNulls(selection)) {
    GatherOutput values(child_field, child, rows * items, output->pool());
    uint64_t width = items * child.width;
    FB_ASSIGN_OR_RETURN(uint8_t * to, values.Allocate(1, rows * width));
    GatherRowFixedChild(selection, width, to);
    output->AddChild(std::move(values).Finish());
    return Status::OK();
  }
  std::vector<Run> runs = MakeRuns(selection.rows);
  for (Run& run : runs) {
    run.first *= items;
    run.count *= items;
  }
  std::vector<const ChunkColumn*> children = ChildSources(selection.sources, 0);
  FB_ASSIGN_OR_RETURN(Column gathered,
                      GatherRuns(child_field, children, runs, output->pool()));
  output->AddChild(std::move(gathered));
  return Status::OK();
}

Status GatherValues(const RowSelection& selection, GatherOutput* output) {
  switch (output->type().layout) {
    case Layout::kBool: return GatherRowBools(selection, output);
    case Layout::kFixed: return GatherRowFixed(selection, output->type().width, output);
    case Layout::kBinary32:
    case Layout::kBinary64: return GatherRowBinary(selection, output);
    case Layout::kFixedList: return GatherFixedList(selection, output);
    case Layout::kStruct: return GatherStruct(selection, output);
    case Layout::kNull:
    case Layout::kList32:
    case Layout::kList64: break;
  }
  return Status::Internal("single rows of this layout are gathered as runs");
}

Result<Column> GatherRows(const model::Field& field, const RowSelection& selection,
                          BufferPool* pool) {
  FB_ASSIGN_OR_RETURN(TypeLayout type, LayoutOf(field));
  bool as_runs = type.layout == Layout::kNull || type.layout == Layout::kList32 ||
                 type.layout == Layout::kList64;
  if (as_runs) {
    return GatherRuns(field, selection.sources, MakeRuns(selection.rows), pool);
  }
  GatherOutput output(field, type, selection.rows.size(), pool);
  FB_RETURN_NOT_OK(GatherRowValidity(selection, &output));
  FB_RETURN_NOT_OK(GatherValues(selection, &output));
  return std::move(output).Finish();
}

// The bytes behind a filler column, kept with it.
struct Filler {
  ChunkColumn column;
  std::vector<uint64_t> zeros;
};

ChunkColumn FillerColumn(const model::Field& field, TypeLayout type, uint64_t length,
                         const uint8_t* zeros) {
  ChunkColumn column;
  column.type = type;
  column.length = length;
  if (type.layout == Layout::kNull) column.null_count = length;
  if (HasOffsets(type.layout)) column.offsets = zeros;
  column.values = zeros;
  uint64_t child_length = type.layout == Layout::kStruct      ? length
                          : type.layout == Layout::kFixedList ? length * type.width
                                                              : 0;
  for (const model::Field& child : field.children) {
    TypeLayout child_type = LayoutOf(child).ValueOrDie();
    column.children.push_back(FillerColumn(child, child_type, child_length, zeros));
  }
  return column;
}

// Zero bytes that `length` values of this type and its children may reach.
Result<uint64_t> FillerBytes(const model::Field& field, uint64_t length) {
  FB_ASSIGN_OR_RETURN(TypeLayout type, LayoutOf(field));
  uint64_t bytes = (length + 1) * 8;
  if (type.layout == Layout::kFixed) bytes = std::max(bytes, length * type.width);
  if (type.layout == Layout::kFixedList) length *= type.width;
  if (HasOffsets(type.layout)) length = 0;
  for (const model::Field& child : field.children) {
    FB_ASSIGN_OR_RETURN(uint64_t child_bytes, FillerBytes(child, length));
    bytes = std::max(bytes, child_bytes);
  }
  return bytes;
}

}  // namespace

Result<ColumnGatherer> ColumnGatherer::Make(const model::Field& field,
                                            std::shared_ptr<BufferPool> pool,
                                            CopyHelper* helper) {
  FB_RETURN_NOT_OK(FillerBytes(field, 1).status());  // every type below is known
  return ColumnGatherer(field, std::move(pool), helper);
}

Result<Column> ColumnGatherer::Gather(std::span<const ChunkColumn* const> sources,
                                      std::span<const RowAddress> rows) const {
  if (IsMostlyRuns(rows)) {
    return GatherRuns(*field_, sources, MakeRuns(rows), pool_.get());
  }
  return GatherRows(*field_, {sources, rows, helper_}, pool_.get());
}

Result<Column> ColumnGatherer::Gather(std::span<const ChunkColumn* const> sources,
                                      std::span<const Run> runs) const {
  return GatherRuns(*field_, sources, runs, pool_.get());
}

Result<std::shared_ptr<const ChunkColumn>> MakeFiller(const model::Field& field) {
  FB_ASSIGN_OR_RETURN(TypeLayout type, LayoutOf(field));
  FB_ASSIGN_OR_RETURN(uint64_t bytes, FillerBytes(field, 1));
  auto filler = std::make_shared<Filler>();
  filler->zeros.resize((bytes + 7) / 8);
  auto* zeros = reinterpret_cast<const uint8_t*>(filler->zeros.data());
  filler->column = FillerColumn(field, type, 1, zeros);
  return std::shared_ptr<const ChunkColumn>(filler, &filler->column);
}

}  // namespace forebay::reader
