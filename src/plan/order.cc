#include "plan/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace forebay::plan {

std::string_view OrderModeName(OrderMode mode) {
  switch (mode) {
    case OrderMode::kSequential: return "sequential";
    case OrderMode::kGlobal: return "global";
  }
  return "unknown";
}

Result<OrderMode> ParseOrderMode(std::string_view name) {
  for (OrderMode mode : {OrderMode::kSequential, OrderMode::kGlobal}) {
    if (name == OrderModeName(mode)) return mode;
  }
  return Status::Invalid(
      fmt::format("There is no order \"{}\": use \"sequential\" or \"global\".", name));
}

Result<Order> Order::Make(Options options) {
  if (options.rows > kRowsMax) {
    return Status::Unsupported(fmt::format(
        "An order has at most {} rows, and this table has {}.", kRowsMax, options.rows));
  }
  return Order(options);
}

Order::Order(Options options)
    : options_(options),
      permutation_({.size = options.mode == OrderMode::kGlobal ? options.rows : 0,
                    .seed = options.seed,
                    .epoch = options.epoch}) {}

uint64_t Order::RowAt(uint64_t position) const {
  switch (options_.mode) {
    case OrderMode::kSequential: return position;
    case OrderMode::kGlobal: return permutation_.Forward(position);
  }
  return position;
}

uint64_t Order::PositionOf(uint64_t row) const {
  switch (options_.mode) {
    case OrderMode::kSequential: return row;
    case OrderMode::kGlobal: return permutation_.Inverse(row);
  }
  return row;
}

void Order::RowsAt(uint64_t first, std::span<uint64_t> out) const {
  while (!out.empty()) {
    uint64_t start = first % options_.rows;
    auto part = out.first(std::min<uint64_t>(out.size(), options_.rows - start));
    std::iota(part.begin(), part.end(), start);
    ToRows(part);
    first += part.size();
    out = out.subspan(part.size());
  }
}

void Order::ToRows(std::span<uint64_t> positions) const {
  switch (options_.mode) {
    case OrderMode::kSequential: return;
    case OrderMode::kGlobal: return permutation_.ForwardMany(positions);
  }
}

void Order::ToPositions(std::span<uint64_t> rows) const {
  switch (options_.mode) {
    case OrderMode::kSequential: return;
    case OrderMode::kGlobal: return permutation_.InverseMany(rows);
  }
}

}  // namespace forebay::plan
