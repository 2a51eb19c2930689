#include "plan/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace forebay::plan {
namespace {

constexpr OrderMode kModes[] = {OrderMode::kSequential, OrderMode::kWindow,
                                OrderMode::kGlobal};

Status CheckWindow(const Order::Options& options) {
  if (options.window_ranges == 0) {
    return Status::Invalid("A window of 0 ranges holds no rows: give at least 1.");
  }
  if (options.layout == nullptr) {
    return Status::Invalid(
        "The window order needs the table's row ranges: give its layout.");
  }
  if (options.layout->rows() != options.rows) {
    return Status::Invalid(
        fmt::format("The row ranges have {} rows, and the order {}: give the ranges of "
                    "the same version.",
                    options.layout->rows(), options.rows));
  }
  return Status::OK();
}

}  // namespace

std::string_view OrderModeName(OrderMode mode) {
  switch (mode) {
    case OrderMode::kSequential: return "sequential";
    case OrderMode::kWindow: return "window";
    case OrderMode::kGlobal: return "global";
  }
  return "unknown";
}

Result<OrderMode> ParseOrderMode(std::string_view name) {
  for (OrderMode mode : kModes) {
    if (name == OrderModeName(mode)) return mode;
  }
  return Status::Invalid(fmt::format(
      "There is no order \"{}\": use \"sequential\", \"window\" or \"global\".", name));
}

Result<Order> Order::Make(Options options) {
  if (options.rows > kRowsMax) {
    return Status::Unsupported(fmt::format(
        "An order has at most {} rows, and this table has {}.", kRowsMax, options.rows));
  }
  if (options.mode == OrderMode::kWindow) FB_RETURN_NOT_OK(CheckWindow(options));
  return Order(std::move(options));
}

Order::Order(Options options)
    : options_(std::move(options)),
      permutation_({.size = options_.mode == OrderMode::kGlobal ? options_.rows : 0,
                    .seed = options_.seed,
                    .epoch = options_.epoch}) {
  if (options_.mode != OrderMode::kWindow) return;
  window_ = std::make_shared<WindowOrder>(
      WindowOrder::Options{.layout = options_.layout,
                           .window_ranges = options_.window_ranges,
                           .seed = options_.seed,
                           .epoch = options_.epoch});
}

uint64_t Order::RowAt(uint64_t position) const {
  if (options_.mode == OrderMode::kGlobal) return permutation_.Forward(position);
  ToRows({&position, 1});
  return position;
}

uint64_t Order::PositionOf(uint64_t row) const {
  if (options_.mode == OrderMode::kGlobal) return permutation_.Inverse(row);
  ToPositions({&row, 1});
  return row;
}

void Order::RowsAt(uint64_t first, std::span<uint64_t> out) const {
  while (!out.empty()) {
    uint64_t start = first % options_.rows;
    auto part = out.first(std::min<uint64_t>(out.size(), options_.rows - start));
    if (window_ != nullptr) {
      window_->RowsAt(start, part);
    } else {
      std::iota(part.begin(), part.end(), start);
      ToRows(part);
    }
    first += part.size();
    out = out.subspan(part.size());
  }
}

void Order::ToRows(std::span<uint64_t> positions) const {
  switch (options_.mode) {
    case OrderMode::kSequential: return;
    case OrderMode::kWindow: return window_->ToRows(positions);
    case OrderMode::kGlobal: return permutation_.ForwardMany(positions);
  }
}

void Order::ToPositions(std::span<uint64_t> rows) const {
  switch (options_.mode) {
    case OrderMode::kSequential: return;
    case OrderMode::kWindow: return window_->ToPositions(rows);
    case OrderMode::kGlobal: return permutation_.InverseMany(rows);
  }
}

}  // namespace forebay::plan
