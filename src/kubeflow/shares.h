// Cuts a table into shares of consecutive rows, and each share by who holds its rows.
// Pure: whoever has the manifest and the owners computes the same.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "flight/batch_command.h"
#include "model/manifest.h"

namespace forebay::kubeflow {

// The index-th of `total` shares.
struct ShareIndex {
  uint64_t index = 0;
  uint64_t total = 1;
};
// Of a Flight path [index, total]. kInvalid: other than two numbers, or index ≥ total.
Result<ShareIndex> ParseShare(const std::vector<std::string>& path);

// [⌊index·rows/total⌋, ⌊(index+1)·rows/total⌋): every row is in exactly one share, and
// sizes differ by one row at most.
flight::RowInterval RowsOf(ShareIndex share, uint64_t rows);

// Rows that one owner serves, ascending; at most flight::kIntervalsMax intervals.
struct OwnedRows {
  uint32_t owner = 0;
  std::vector<flight::RowInterval> intervals{};
};
// In the order in which the owners' first rows come. `owner_of` says who holds the unit
// of that content.
std::vector<OwnedRows> CutByOwner(
    const model::Manifest& manifest, flight::RowInterval rows,
    const std::function<uint32_t(const Hash128&)>& owner_of);

}  // namespace forebay::kubeflow
