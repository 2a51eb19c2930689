#include "plan/quality.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <unordered_set>

namespace forebay::plan {
namespace {

// How many live rows of a range lie before one of its stored rows.
uint64_t LiveBefore(const model::Selection& selection, uint64_t stored_row) {
  uint32_t low = 0, high = selection.live_rows();
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (selection.RowOf(middle) < stored_row) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The number of the version's row that a stored row of a unit is, or would be.
uint64_t RowOfStored(const model::Manifest& manifest, const model::UnitRecord& unit,
                     uint64_t stored_row) {
  auto ranges = manifest.ranges().subspan(unit.first_range, unit.range_count);
  auto after =
      std::ranges::upper_bound(ranges, stored_row, {}, &model::RangeRecord::offset);
  if (after == ranges.begin()) return unit.first_row;
  const model::RangeRecord& range = *(after - 1);
  return range.first_row +
         LiveBefore(manifest.selection(range), stored_row - range.offset);
}

// Sums for the correlation of pairs.
struct Pairs {
  double count = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;

  void Add(double a, double b) {
    count += 1;
    x += a;
    y += b;
    xx += a * a;
    yy += b * b;
    xy += a * b;
  }
  double Correlation() const {
    double spread = (count * xx - x * x) * (count * yy - y * y);
    return spread <= 0 ? 0 : (count * xy - x * y) / std::sqrt(spread);
  }
};

class Measurement {
 public:
  explicit Measurement(const QualityOptions& options)
      : options_(options), seen_(FileCount(options.files)) {}

  void AddBatch(uint64_t first, std::span<const uint64_t> rows) {
    uint64_t files = 0;
    ++batches_;
    for (size_t i = 0; i < rows.size(); ++i) {
      uint64_t position = first + i;
      double row = Share(rows[i]);
      displacement_ += std::abs(row - Share(position));
      uint64_t decile = DecileOf(position);
      ++table_[decile][DecileOf(rows[i])];
      if (i + 1 < rows.size()) pairs_[decile].Add(row - 0.5, Share(rows[i + 1]) - 0.5);
      uint64_t& last = seen_[FileOf(rows[i])];
      files += last != batches_ ? 1 : 0;
      last = batches_;
    }
    files_ += static_cast<double>(files);
    rows_ += rows.size();
  }

  OrderQuality Finish() const {
    OrderQuality out{.rows_looked_at = rows_};
    if (rows_ == 0) return out;
    out.mean_displacement = displacement_ / static_cast<double>(rows_);
    out.files_per_batch = files_ / static_cast<double>(batches_);
    for (size_t i = 0; i < kDeciles; ++i) {
      out.lag1_correlation[i] = pairs_[i].Correlation();
    }
    AddChiSquare(&out);
    return out;
  }

 private:
  static size_t FileCount(const std::vector<FileRun>& files) {
    uint32_t largest = 0;
    for (const FileRun& run : files) largest = std::max(largest, run.file);
    return size_t{largest} + 1;
  }
  double Share(uint64_t x) const {
    return static_cast<double>(x) / static_cast<double>(options_.rows);
  }
  uint64_t DecileOf(uint64_t x) const {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(x) * kDeciles /
                                 options_.rows);
  }
  uint32_t FileOf(uint64_t row) const {
    auto after = std::ranges::upper_bound(options_.files, row, {}, &FileRun::first_row);
    return after == options_.files.begin() ? 0 : (after - 1)->file;
  }
  void AddChiSquare(OrderQuality* out) const {
    for (const auto& line : table_) {
      double total = std::accumulate(line.begin(), line.end(), 0.0);
      for (size_t k = 0; k < kDeciles; ++k) {
        // Of the rows looked at in this tenth of the epoch, those of tenth k of the
        // table.
        double expected = total * Share(DecileBegin(k + 1) - DecileBegin(k));
        if (expected == 0) continue;
        out->chi_square += (line[k] - expected) * (line[k] - expected) / expected;
      }
    }
    // Both margins of the table are fixed when every row was looked at, one otherwise.
    double part = static_cast<double>(rows_) / static_cast<double>(options_.rows);
    double n = kDeciles - 1;
    out->chi_square_expected = n * n + n * (1 - part);
  }
  uint64_t DecileBegin(uint64_t k) const {
    return static_cast<uint64_t>(
        (static_cast<unsigned __int128>(k) * options_.rows + kDeciles - 1) / kDeciles);
  }

  const QualityOptions& options_;
  std::vector<uint64_t> seen_;  // by file: the last batch that had a row of it
  uint64_t batches_ = 0;
  uint64_t rows_ = 0;
  double displacement_ = 0;
  double files_ = 0;
  std::array<Pairs, kDeciles> pairs_{};
  std::array<std::array<double, kDeciles>, kDeciles> table_{};
};

}  // namespace

std::vector<FileRun> FileRuns(const model::Manifest& manifest) {
  std::vector<FileRun> runs;
  for (const model::UnitRecord& unit : manifest.units()) {
    uint64_t stored_row = 0;
    for (const auto& piece :
         manifest.pieces().subspan(unit.first_piece, unit.piece_count)) {
      uint64_t first_row = RowOfStored(manifest, unit, stored_row);
      stored_row += piece.row_count;
      if (!runs.empty() && runs.back().file == piece.object) continue;
      // A file without live rows has no run.
      if (!runs.empty() && runs.back().first_row == first_row) runs.pop_back();
      runs.push_back({first_row, piece.object});
    }
  }
  return runs;
}

std::vector<FileRun> EvenFileRuns(uint64_t rows, uint64_t files) {
  std::vector<FileRun> runs;
  for (uint64_t i = 0; i < files; ++i) {
    auto first = static_cast<uint64_t>(static_cast<unsigned __int128>(rows) * i / files);
    runs.push_back({first, static_cast<uint32_t>(i)});
  }
  return runs;
}

OrderQuality MeasureQuality(const QualityOptions& options, const RowsAt& rows_at) {
  Measurement measurement(options);
  uint64_t batch_size = std::clamp<uint64_t>(options.batch_size, 1, kQualityRowsMax);
  uint64_t batches = (options.rows + batch_size - 1) / batch_size;
  uint64_t looked_at = std::clamp<uint64_t>(kQualityRowsMax / batch_size, 1, batches);
  if (options.rows <= kQualityRowsMax) looked_at = batches;
  std::vector<uint64_t> rows;
  for (uint64_t i = 0; i < looked_at; ++i) {
    auto batch =
        static_cast<uint64_t>(static_cast<unsigned __int128>(batches) * i / looked_at);
    uint64_t first = batch * batch_size;
    rows.resize(std::min(batch_size, options.rows - first));
    rows_at(first, rows);
    measurement.AddBatch(first, rows);
  }
  return measurement.Finish();
}

RowsAt FisherYates(uint64_t rows, uint64_t seed) {
  auto random = std::make_shared<std::mt19937_64>(seed);
  auto below = [random](uint64_t bound) {
    return std::uniform_int_distribution<uint64_t>(0, bound - 1)(*random);
  };
  if (rows > kQualityRowsMax) {
    auto drawn = std::make_shared<std::unordered_set<uint64_t>>();
    return [=](uint64_t, std::span<uint64_t> out) {
      for (uint64_t& row : out) {
        do {
          row = below(rows);
        } while (!drawn->insert(row).second);
      }
    };
  }
  auto shuffled = std::make_shared<std::vector<uint64_t>>(rows);
  std::iota(shuffled->begin(), shuffled->end(), uint64_t{0});
  for (uint64_t i = rows; i > 1; --i)
    std::swap((*shuffled)[i - 1], (*shuffled)[below(i)]);
  return [shuffled](uint64_t first, std::span<uint64_t> out) {
    std::copy_n(shuffled->begin() + static_cast<int64_t>(first), out.size(), out.begin());
  };
}

}  // namespace forebay::plan
