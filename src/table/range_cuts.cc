#include "table/range_cuts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace forebay::table {
namespace {

using Unit = model::ManifestBuilder::Unit;

// What opening one more file costs, in bytes of decoded rows: 1/512 of a range keeps runs
// of tiny files to a few hundred.
constexpr uint64_t kFileCostShare = 512;
// A commit's files are a unit of their own from this share of a range on.
constexpr uint64_t kCommitShare = 256;

uint64_t BytesOf(const GroupLayout& group) {
  uint64_t bytes = group.other_bytes;
  for (uint64_t column : group.column_bytes) bytes += column;
  return bytes;
}

uint64_t BytesOf(const CutFile& file) {
  uint64_t bytes = 0;
  for (const GroupLayout& group : file.groups) bytes += BytesOf(group);
  return bytes;
}

uint64_t RowsOf(const CutFile& file) {
  uint64_t rows = 0;
  for (const GroupLayout& group : file.groups) rows += group.row_count;
  return rows;
}

// A unit in the making.
struct Run {
  std::vector<model::ManifestBuilder::Piece> pieces;
  std::vector<uint64_t> column_bytes;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  uint64_t cost = 0;  // bytes, and a share for every file

  void Add(uint32_t object, uint32_t group, const GroupLayout& layout) {
    if (pieces.empty() || pieces.back().object != object) {
      pieces.push_back({object, group, 0, 0});
    }
    ++pieces.back().group_count;
    pieces.back().row_count += layout.row_count;
    column_bytes.resize(std::max(column_bytes.size(), layout.column_bytes.size()));
    for (size_t i = 0; i < layout.column_bytes.size(); ++i) {
      column_bytes[i] += layout.column_bytes[i];
    }
    bytes += BytesOf(layout);
    rows += layout.row_count;
  }
};

class Cutter {
 public:
  Cutter(const std::vector<CutFile>& files, const CutOptions& options)
      : files_(files), options_(options) {}

  Result<std::vector<Unit>> Cut() {
    for (uint32_t i = 0; i < files_.size(); ++i) {
      if (RowsOf(files_[i]) == 0) continue;
      bool tiny = BytesOf(files_[i]) < options_.range_bytes / 2;
      FB_RETURN_NOT_OK(tiny ? AddTinyFile(i) : AddFile(i));
    }
    FB_RETURN_NOT_OK(Flush());
    return std::move(units_);
  }

 private:
  Status AddFile(uint32_t index) {
    FB_RETURN_NOT_OK(Flush());
    const CutFile& file = files_[index];
    for (uint32_t g = 0; g < file.groups.size(); ++g) {
      uint64_t bytes = BytesOf(file.groups[g]);
      if (run_.bytes + bytes > options_.range_bytes * 3 / 2) FB_RETURN_NOT_OK(Flush());
      run_.Add(index, g, file.groups[g]);
      if (run_.bytes >= options_.range_bytes) FB_RETURN_NOT_OK(Flush());
    }
    return Flush();
  }

  Status AddTinyFile(uint32_t index) {
    const CutFile& file = files_[index];
    if (!run_.pieces.empty() && run_.bytes >= options_.range_bytes / kCommitShare &&
        files_[run_.pieces.back().object].commit != file.commit) {
      FB_RETURN_NOT_OK(Flush());
    }
    for (uint32_t g = 0; g < file.groups.size(); ++g) run_.Add(index, g, file.groups[g]);
    uint64_t cost = BytesOf(file) + options_.range_bytes / kFileCostShare;
    run_.cost += cost;
    return EndsRun(file, cost) ? Flush() : Status::OK();
  }

  // After half a range, each file ends the run with a chance in proportion to its cost,
  // so that runs are about a range long. The name draws the lot.
  bool EndsRun(const CutFile& file, uint64_t cost) const {
    uint64_t half = std::max<uint64_t>(options_.range_bytes / 2, 1);
    if (run_.cost >= 3 * half) return true;
    if (run_.cost < half) return false;
    double lot = static_cast<double>(HashBytes(file.uri).low) * 0x1p-64;
    return lot < static_cast<double>(cost) / static_cast<double>(half);
  }

  Status Flush() {
    Run run = std::move(run_);
    run_ = Run();
    if (run.rows == 0) return Status::OK();
    uint64_t count = (run.bytes + options_.range_bytes / 2) / options_.range_bytes;
    count =
        std::max({count, (run.rows + kRangeRowsMax - 1) / kRangeRowsMax, uint64_t{1}});
    count = std::min(count, run.rows);
    if (count > kRangesPerUnitMax) {
      return Status::Corrupt(fmt::format(
          "{}: the footer claims {} rows of {} bytes from group {} on, more than can be",
          files_[run.pieces[0].object].uri, run.rows, run.bytes,
          run.pieces[0].first_group));
    }
    uint64_t step = (run.rows + count - 1) / count;
    Unit unit;
    for (uint64_t at = 0; at < run.rows; at += step) {
      unit.range_rows.push_back(static_cast<uint32_t>(std::min(step, run.rows - at)));
    }
    std::vector<uint32_t> alone = AloneInAll(run);
    for (uint32_t c = 0; c < run.column_bytes.size(); ++c) {
      bool wide = run.column_bytes[c] / unit.range_rows.size() >= options_.wide_bytes ||
                  std::ranges::binary_search(alone, c);
      if (wide) unit.wide_columns.push_back(c);
    }
    unit.pieces = std::move(run.pieces);
    units_.push_back(std::move(unit));
    return Status::OK();
  }

  std::vector<uint32_t> AloneInAll(const Run& run) const {
    std::vector<uint32_t> common = files_[run.pieces[0].object].alone;
    for (const auto& piece : run.pieces) {
      const auto& alone = files_[piece.object].alone;
      std::erase_if(common,
                    [&](uint32_t c) { return !std::ranges::binary_search(alone, c); });
    }
    return common;
  }

  const std::vector<CutFile>& files_;
  const CutOptions& options_;
  Run run_;
  std::vector<Unit> units_;
};

}  // namespace

Result<std::vector<Unit>> CutUnits(const std::vector<CutFile>& files,
                                   const CutOptions& options) {
  return Cutter(files, options).Cut();
}

}  // namespace forebay::table
