#include "table/build_manifest.h"

#include "base/bytes.h"

namespace forebay::table {
namespace {

using Unit = model::ManifestBuilder::Unit;

uint64_t RowsBefore(const PlannedFile& file, uint32_t group) {
  uint64_t rows = 0;
  for (uint32_t g = 0; g < group; ++g) rows += file.groups[g].row_count;
  return rows;
}

// Live rows per range; nothing where all rows of the unit live.
std::vector<model::LiveRows> LiveByRange(const TablePlan& plan, const Unit& unit) {
  model::LiveRows live;
  for (const auto& piece : unit.pieces) {
    const PlannedFile& file = plan.files[piece.object];
    if (file.live.all()) {
      live.Append({.row_count = piece.row_count});
    } else {
      uint64_t first = RowsBefore(file, piece.first_group);
      live.Append(file.live.Slice(first, piece.row_count));
    }
  }
  std::vector<model::LiveRows> ranges;
  if (live.all()) return ranges;
  uint64_t first = 0;
  for (uint32_t rows : unit.range_rows) {
    ranges.push_back(live.Slice(first, rows));
    first += rows;
  }
  return ranges;
}

std::string ContextOf(const TablePlan& plan, const Unit& unit) {
  Encoder out;
  for (const auto& piece : unit.pieces) {
    out.PutString(plan.files[piece.object].depends_on);
  }
  return out.Take();
}

}  // namespace

Result<std::string> BuildManifest(const TablePlan& plan, const CutOptions& cuts) {
  model::ManifestBuilder builder(
      {.version = plan.version, .origin = plan.origin, .schema = plan.schema});
  std::vector<CutFile> files;
  for (const PlannedFile& file : plan.files) {
    uint64_t rows = RowsBefore(file, static_cast<uint32_t>(file.groups.size()));
    builder.AddObject(
        file.object, {.row_count = rows, .format = file.format, .context = file.context});
    files.push_back({file.object.uri, file.groups, file.alone, file.commit});
  }
  FB_ASSIGN_OR_RETURN(auto units, CutUnits(files, cuts));
  for (Unit& unit : units) {
    unit.context = ContextOf(plan, unit);
    unit.live = LiveByRange(plan, unit);
    builder.AddUnit(unit);
  }
  return builder.Finish();
}

}  // namespace forebay::table
