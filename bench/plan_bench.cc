// Nanoseconds per index of the permutation, in batches, at sizes around powers of two.
// The promise is at most 5 ns (docs/orders.md).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "plan/feistel.h"
#include "plan/permutation.h"

namespace {

using forebay::plan::Permutation;
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

void AroundPowersOfTwo(benchmark::internal::Benchmark* bench) {
  for (int k : {16, 20, 24, 28, 32, 36, 40, 47}) {
    for (int difference : {-1, 0, 1}) bench->Args({k, difference});
  }
}

BENCHMARK(ForwardRange)->Apply(AroundPowersOfTwo);
BENCHMARK(InverseMany)->Args({16, 1})->Args({30, 0})->Args({40, 1});
BENCHMARK(Single)->Args({30, 0});
BENCHMARK(Make)->Args({30, 0})->Args({7, 0});
BENCHMARK(Kernel)->Args({30, 0, 0})->Args({30, 0, 1})->Args({30, 0, 2});

}  // namespace

BENCHMARK_MAIN();
