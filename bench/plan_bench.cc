// Nanoseconds per index of the permutation, in batches, at sizes around powers of two,
// and of the window order. The promise is at most 5 ns, and 10 ns for windows; an epoch
// of 1e11 rows starts within 1 ms (docs/orders.md). The first batch of 1e9 rows on 1,000
// members is planned within 20 ms.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/feistel.h"
#include "plan/order.h"
#include "plan/permutation.h"
#include "plan/placement.h"

namespace {

using forebay::plan::Order;
using forebay::plan::Permutation;
using forebay::plan::RangeLayout;
namespace feistel = forebay::plan::feistel;

constexpr size_t kBatch = 1024;

void SetPerIndex(benchmark::State& state) {
  state.counters["ns/index"] =
      benchmark::Counter(static_cast<double>(state.iterations() * kBatch) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// size = 2^k + difference
uint64_t SizeOf(const benchmark::State& state) {
  return (uint64_t{1} << state.range(0)) + static_cast<uint64_t>(state.range(1));
}

void ForwardRange(benchmark::State& state) {
  Permutation permutation({.size = SizeOf(state), .seed = 7});
  std::vector<uint64_t> rows(kBatch);
  uint64_t first = 0;
  for (auto _ : state) {
    permutation.ForwardRange(first, rows);
    benchmark::DoNotOptimize(rows.data());
    first = (first + kBatch) % (permutation.size() - kBatch);
  }
  SetPerIndex(state);
}

void InverseMany(benchmark::State& state) {
  Permutation permutation({.size = SizeOf(state), .seed = 7});
  std::vector<uint64_t> rows(kBatch);
  permutation.ForwardRange(0, rows);
  for (auto _ : state) {
    permutation.InverseMany(rows);
    benchmark::DoNotOptimize(rows.data());
  }
  SetPerIndex(state);
}

void Single(benchmark::State& state) {
  Permutation permutation({.size = SizeOf(state), .seed = 7});
  uint64_t x = 0;
  for (auto _ : state) x = permutation.Forward(x);
  benchmark::DoNotOptimize(x);
}

void Make(benchmark::State& state) {
  uint64_t epoch = 0;
  for (auto _ : state) {
    Permutation permutation({.size = SizeOf(state), .seed = 7, .epoch = ++epoch});
    benchmark::DoNotOptimize(permutation.Forward(0));
  }
}

// The same network with each instruction set.
void Kernel(benchmark::State& state) {
  auto index = static_cast<size_t>(state.range(2));
  if (index >= feistel::KernelCount())
    return state.SkipWithError("not on this processor");
  const feistel::Kernels& kernels = feistel::KernelAt(index);
  Permutation::Network net = Permutation({.size = SizeOf(state), .seed = 7}).network();
  std::vector<uint64_t> rows(kBatch);
  for (auto _ : state) {
    kernels.forward(net, rows.data(), rows.size());
    benchmark::DoNotOptimize(rows.data());
  }
  state.SetLabel(kernels.name);
  SetPerIndex(state);
}

// As many ranges of about a million rows, cut unevenly as row groups are.
Order::Options WindowOptions(int64_t ranges, int64_t window_ranges) {
  std::vector<uint64_t> counts(static_cast<size_t>(ranges));
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = 700'000 + i * 7919 % 600'000;
  auto layout = RangeLayout::Of(counts);
  return {.mode = forebay::plan::OrderMode::kWindow,
          .rows = layout->rows(),
          .seed = 7,
          .window_ranges = static_cast<uint64_t>(window_ranges),
          .layout = layout};
}

// Ranges, ranges of a window, rows of a batch.
void WindowRowsAt(benchmark::State& state) {
  Order order = Order::Make(WindowOptions(state.range(0), state.range(1))).ValueOrDie();
  std::vector<uint64_t> rows(static_cast<size_t>(state.range(2)));
  uint64_t first = 0;
  for (auto _ : state) {
    order.RowsAt(first, rows);
    benchmark::DoNotOptimize(rows.data());
    first += rows.size();
  }
  state.counters["ns/index"] =
      benchmark::Counter(static_cast<double>(state.iterations() * rows.size()) * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void WindowToPositions(benchmark::State& state) {
  Order order = Order::Make(WindowOptions(state.range(0), state.range(1))).ValueOrDie();
  std::vector<uint64_t> rows(kBatch);
  order.RowsAt(0, rows);
  std::vector<uint64_t> positions = rows;
  for (auto _ : state) {
    positions = rows;
    order.ToPositions(positions);
    benchmark::DoNotOptimize(positions.data());
  }
  SetPerIndex(state);
}

void WindowEpochStart(benchmark::State& state) {
  Order::Options options = WindowOptions(state.range(0), 32);
  for (auto _ : state) {
    ++options.epoch;
    Order order = Order::Make(options).ValueOrDie();
    benchmark::DoNotOptimize(order.RowAt(0));
  }
}

// From nothing to the owners of the first batch's rows: 1e9 rows in units of 65,536,
// shuffled, so that nearly every row of the batch is of another unit. Members, kinds of
// weights.
void FirstBatchPlaced(benchmark::State& state) {
  constexpr uint64_t kUnitRows = 65'536;
  std::vector<forebay::plan::PlacementMember> members;
  for (int64_t i = 0; i < state.range(0); ++i) {
    members.push_back({.id = forebay::plan::MemberHash("node-" + std::to_string(i)),
                       .weight = 1.0 + static_cast<double>(i % state.range(1))});
  }
  uint64_t epoch = 0;
  for (auto _ : state) {
    Order::Options options{.mode = forebay::plan::OrderMode::kGlobal,
                           .rows = 1'000'000'000,
                           .seed = 7,
                           .epoch = ++epoch};
    Order order = Order::Make(options).ValueOrDie();
    std::vector<uint64_t> units(kBatch);
    order.RowsAt(0, units);
    for (uint64_t& unit : units) unit /= kUnitRows;
    std::ranges::sort(units);
    units.erase(std::unique(units.begin(), units.end()), units.end());
    auto placement = forebay::plan::Placement::Make(members, 2).ValueOrDie();
    for (uint64_t unit : units) {
      forebay::Hash128 content{unit * 0x9E3779B97F4A7C15U, unit * 0xD6E8FEB86659FD93U};
      benchmark::DoNotOptimize(placement.Owners(content).data());
    }
  }
}

void AroundPowersOfTwo(benchmark::internal::Benchmark* bench) {
  for (int k : {16, 20, 24, 28, 32, 36, 40, 47}) {
    for (int difference : {-1, 0, 1}) bench->Args({k, difference});
  }
}

BENCHMARK(ForwardRange)->Apply(AroundPowersOfTwo);
BENCHMARK(InverseMany)->Args({16, 1})->Args({30, 0})->Args({40, 1});
BENCHMARK(Single)->Args({30, 0});
BENCHMARK(Make)->Args({30, 0})->Args({7, 0});
BENCHMARK(WindowRowsAt)
    ->Args({100'000, 32, 1024})
    ->Args({100'000, 32, 64})
    ->Args({100'000, 1000, 1024})
    ->Args({20, 8, 1024});
BENCHMARK(WindowToPositions)->Args({100'000, 32});
BENCHMARK(WindowEpochStart)
    ->Args({10'000})
    ->Args({100'000})
    ->Args({1'000'000})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(FirstBatchPlaced)
    ->Args({1'000, 1})
    ->Args({1'000, 5})
    ->Args({1'000, 1'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(Kernel)->Args({30, 0, 0})->Args({30, 0, 1})->Args({30, 0, 2});

}  // namespace

BENCHMARK_MAIN();
