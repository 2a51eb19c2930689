// How random an order is, in figures a person can compare with those of a plain shuffle.
// What `forebay order --quality` prints.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/manifest.h"

namespace forebay::plan {

// Rows from `first_row` on, up to the next one's, come from this file.
struct FileRun {
  uint64_t first_row = 0;
  uint32_t file = 0;
};

// Live rows by file, ascending.
std::vector<FileRun> FileRuns(const model::Manifest& manifest);
// `rows` cut into `files` of like size.
std::vector<FileRun> EvenFileRuns(uint64_t rows, uint64_t files);

constexpr size_t kDeciles = 10;

struct OrderQuality {
  uint64_t rows_looked_at = 0;
  // |row − position| on average, as a share of the rows. A shuffle has 1/3.
  double mean_displacement = 0;
  // Different files among the rows of a batch, on average.
  double files_per_batch = 0;
  // Correlation of each row with the one after it, in each tenth of the epoch: near 1
  // where neighbours come together, near 0 in a shuffle.
  std::array<double, kDeciles> lag1_correlation{};
  // Of how rows of each tenth of the table fall into tenths of the epoch. A shuffle has
  // about `chi_square_expected`, give or take √(2 · that).
  double chi_square = 0;
  double chi_square_expected = 0;
};

// Gives the rows at positions first, first + 1, … .
using RowsAt = std::function<void(uint64_t first, std::span<uint64_t> out)>;

struct QualityOptions {
  uint64_t rows = 0;
  uint64_t batch_size = 1024;
  std::vector<FileRun> files{};
};

// Looks at all batches of small epochs, and at some, spread evenly, of large ones: never
// at many more than kQualityRowsMax rows.
constexpr uint64_t kQualityRowsMax = uint64_t{1} << 20;
OrderQuality MeasureQuality(const QualityOptions& options, const RowsAt& rows_at);

// A Fisher–Yates shuffle, for comparison. Of large epochs only as many rows are drawn as
// are looked at; drawn without repetition, they are distributed as a shuffle's.
RowsAt FisherYates(uint64_t rows, uint64_t seed);

}  // namespace forebay::plan
