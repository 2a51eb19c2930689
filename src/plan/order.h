// An order: a bijection position ↔ row that is a pure function of (mode, rows, seed,
// epoch) and, for `window` alone, of how the rows lie in ranges and of the window's size.
// It does not know ranks, workers, files or versions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"
#include "plan/permutation.h"
#include "plan/range_layout.h"
#include "plan/window_order.h"

namespace forebay::plan {

// The numbers are a format.
enum class OrderMode : uint8_t { kSequential = 0, kWindow = 1, kGlobal = 2 };

std::string_view OrderModeName(OrderMode mode);
// "sequential", "window" or "global"; anything else is an error that lists them.
Result<OrderMode> ParseOrderMode(std::string_view name);

// Ranges hold about 16 MiB of decoded rows: half a GiB a window.
constexpr uint64_t kWindowRangesDefault = 32;

// Read-only after construction; a value, cheap to copy, safe to use from many threads.
class Order {
 public:
  struct Options {
    OrderMode mode = OrderMode::kSequential;
    uint64_t rows = 0;
    uint64_t seed = 0;
    uint64_t epoch = 0;
    // Of `window` only: how many ranges are shuffled together, and the ranges, which must
    // have `rows` rows.
    uint64_t window_ranges = kWindowRangesDefault;
    std::shared_ptr<const RangeLayout> layout{};
  };
  // Fails when there are more rows than kRowsMax, and where `window` lacks its ranges.
  static Result<Order> Make(Options options);

  const Options& options() const { return options_; }
  uint64_t rows() const { return options_.rows; }

  // position and row below rows().
  uint64_t RowAt(uint64_t position) const;
  uint64_t PositionOf(uint64_t row) const;
  // Rows of the positions first, first + 1, … . Positions at and past rows() start again
  // from 0, as the `wrap` remainder wants; with no rows `out` must be empty.
  void RowsAt(uint64_t first, std::span<uint64_t> out) const;
  // In place: positions become rows.
  void ToRows(std::span<uint64_t> positions) const;
  // In place: rows become positions, for look-ahead.
  void ToPositions(std::span<uint64_t> rows) const;

  // The windows of a `window` order; null for the others.
  const WindowOrder* window() const { return window_.get(); }

 private:
  explicit Order(Options options);

  Options options_;
  Permutation permutation_;
  std::shared_ptr<const WindowOrder> window_;
};

}  // namespace forebay::plan
