// Gather against its denominators, in one run: a memcpy of the same bytes, a naive loop,
// and our own sequential copy. Tables live in memfds of 16 MiB ranges, as in a store, and
// are larger than the last-level cache.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "base/huge_pages.h"
#include "plan/permutation.h"
#include "reader/gather.h"

namespace {

using forebay::model::Field;
using forebay::model::RangeRecord;
using forebay::reader::BufferPool;
using forebay::reader::ChunkColumn;
using forebay::reader::Column;
using forebay::reader::ColumnGatherer;
using forebay::reader::RowAddress;
using forebay::reader::RowLocator;

constexpr uint64_t kRangeBytes = uint64_t{16} << 20;

Field MakeField(const char* format) {
  Field field;
  field.name = "c";
  field.format = format;
  return field;
}

// Memory as a reader sees a memory tier: a shared mapping of a memfd, in huge pages
// unless FOREBAY_BENCH_SMALL_PAGES is set.
uint8_t* MapMemfd(uint64_t size) {
  int fd = memfd_create("bench", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) std::abort();
  if (std::getenv("FOREBAY_BENCH_SMALL_PAGES") == nullptr) {
    forebay::PrepareHugePages(fd, size);
  }
  void* data = forebay::MapForHugePages({.fd = fd,
                                         .size = size,
                                         .protection = PROT_READ | PROT_WRITE,
                                         .flags = MAP_SHARED});
  if (data == MAP_FAILED) std::abort();
  close(fd);
  std::memset(data, 1, size);
  return static_cast<uint8_t*>(data);
}

// Columns of `width` bytes in ranges of like row counts. Never freed: one per benchmark
// argument set, and the process ends soon.
struct Table {
  Table(std::vector<uint64_t> widths, uint64_t bytes) {
    uint64_t row_bytes = std::accumulate(widths.begin(), widths.end(), uint64_t{0});
    uint64_t range_rows = kRangeBytes / row_bytes;
    uint64_t range_count = bytes / kRangeBytes;
    for (uint64_t w : widths) {
      fields.push_back(MakeField(("w:" + std::to_string(w)).c_str()));
    }
    columns.resize(widths.size());
    for (auto& column : columns) column.resize(range_count);
    for (uint64_t r = 0; r < range_count; ++r) {
      uint8_t* at = MapMemfd(kRangeBytes + 64 * widths.size());
      for (size_t c = 0; c < widths.size(); ++c) {
        ChunkColumn& column = columns[c][r];
        column.type = *forebay::reader::LayoutOf(fields[c]);
        column.length = range_rows;
        column.values = at;
        column.values_size = range_rows * widths[c];
        at += (column.values_size + 63) / 64 * 64;
      }
      RangeRecord range{};
      range.first_row = rows;
      range.row_count = range.stored_rows = static_cast<uint32_t>(range_rows);
      ranges.push_back(range);
      rows += range_rows;
    }
    for (auto& column : columns) {
      sources.emplace_back();
      for (ChunkColumn& range : column) sources.back().push_back(&range);
    }
  }

  std::vector<Field> fields;
  std::vector<std::vector<ChunkColumn>> columns;
  std::vector<std::vector<const ChunkColumn*>> sources;
  std::vector<RangeRecord> ranges;
  uint64_t rows = 0;
};

const Table& NarrowTable() {
  static const Table table({8, 8, 4, 4}, uint64_t{768} << 20);
  return table;
}

const Table& WideTable(uint64_t width) {
  static std::vector<std::pair<uint64_t, std::unique_ptr<Table>>> tables;
  for (auto& [w, table] : tables) {
    if (w == width) return *table;
  }
  tables.emplace_back(width,
                      std::make_unique<Table>(std::vector<uint64_t>{width}, 512 << 20));
  return *tables.back().second;
}

std::vector<ColumnGatherer> Gatherers(const Table& table) {
  auto pool = BufferPool::Make();
  std::vector<ColumnGatherer> gatherers;
  for (const Field& field : table.fields) {
    gatherers.push_back(*ColumnGatherer::Make(field, pool));
  }
  return gatherers;
}

void SetRates(benchmark::State& state, uint64_t batch, uint64_t row_bytes) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * batch));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * batch * row_bytes));
}

// The whole path of a shuffled batch: order, addresses, four columns.
void ShuffleNarrow(benchmark::State& state) {
  const Table& table = NarrowTable();
  auto gatherers = Gatherers(table);
  auto batch = static_cast<uint64_t>(state.range(0));
  forebay::plan::Permutation order({.size = table.rows, .seed = 1});
  RowLocator locator(table.ranges);
  std::vector<uint64_t> rows(batch);
  std::vector<RowAddress> addresses(batch);
  uint64_t first = 0;
  for (auto _ : state) {
    order.ForwardRange(first, rows);
    locator.Locate(rows, addresses);
    for (size_t c = 0; c < gatherers.size(); ++c) {
      Column column = *gatherers[c].Gather(table.sources[c], addresses);
      benchmark::DoNotOptimize(column.values());
    }
    first = (first + batch) % (table.rows - batch);
  }
  SetRates(state, batch, 24);
}

// Address arithmetic and loads with nothing around them.
void ShuffleNarrowNaive(benchmark::State& state) {
  const Table& table = NarrowTable();
  constexpr uint64_t kBatch = 1024;
  forebay::plan::Permutation order({.size = table.rows, .seed = 1});
  RowLocator locator(table.ranges);
  std::vector<uint64_t> rows(kBatch);
  std::vector<uint64_t> wide(kBatch);
  std::vector<uint32_t> narrow(kBatch);
  uint64_t first = 0;
  for (auto _ : state) {
    order.ForwardRange(first, rows);
    for (size_t c = 0; c < 4; ++c) {
      for (uint64_t i = 0; i < kBatch; ++i) {
        RowAddress at = locator.LocateLive(rows[i]);
        const ChunkColumn& source = *table.sources[c][at.source];
        uint64_t w = source.type.width;
        if (w == 8) std::memcpy(&wide[i], source.values + at.row * 8, 8);
        if (w == 4) std::memcpy(&narrow[i], source.values + at.row * 4, 4);
      }
      benchmark::DoNotOptimize(wide.data());
      benchmark::DoNotOptimize(narrow.data());
    }
    first = (first + kBatch) % (table.rows - kBatch);
  }
  SetRates(state, kBatch, 24);
}

void Locate(benchmark::State& state) {
  const Table& table = NarrowTable();
  forebay::plan::Permutation order({.size = table.rows, .seed = 1});
  RowLocator locator(table.ranges);
  std::vector<uint64_t> rows(1024);
  std::vector<RowAddress> addresses(1024);
  order.ForwardRange(0, rows);
  for (auto _ : state) {
    locator.Locate(rows, addresses);
    benchmark::DoNotOptimize(addresses.data());
  }
  SetRates(state, 1024, 8);
}

// Rows of one width: shuffled, then the same copy in sequence, then plain memcpy.
void Wide(benchmark::State& state, bool shuffled) {
  auto width = static_cast<uint64_t>(state.range(0));
  const Table& table = WideTable(width);
  auto gatherers = Gatherers(table);
  uint64_t batch = std::min<uint64_t>(1024, (uint64_t{4} << 20) / width);
  forebay::plan::Permutation order({.size = table.rows, .seed = 1});
  RowLocator locator(table.ranges);
  std::vector<uint64_t> rows(batch);
  std::vector<RowAddress> addresses(batch);
  uint64_t first = 0;
  for (auto _ : state) {
    if (shuffled) {
      order.ForwardRange(first, rows);
    } else {
      std::iota(rows.begin(), rows.end(), first);
    }
    locator.Locate(rows, addresses);
    Column column = *gatherers[0].Gather(table.sources[0], addresses);
    benchmark::DoNotOptimize(column.values());
    first = (first + batch) % (table.rows - batch);
  }
  SetRates(state, batch, width);
}
void ShuffleWide(benchmark::State& state) { Wide(state, true); }
void SequentialWide(benchmark::State& state) { Wide(state, false); }

void Memcpy(benchmark::State& state) {
  auto width = static_cast<uint64_t>(state.range(0));
  const Table& table = WideTable(width);
  uint64_t bytes = std::min<uint64_t>(1024 * width, uint64_t{4} << 20);
  auto buffer = BufferPool::Make()->Take(bytes);
  uint64_t range = 0, at = 0;
  for (auto _ : state) {
    std::memcpy(buffer.data(), table.columns[0][range].values + at, bytes);
    benchmark::DoNotOptimize(buffer.data());
    at += bytes;
    if (at + bytes > kRangeBytes) {
      at = 0;
      range = (range + 1) % table.ranges.size();
    }
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

// Strings of 0 to 31 bytes.
void ShuffleStrings(benchmark::State& state) {
  constexpr uint64_t kRows = 4 << 20;
  static auto* offsets = reinterpret_cast<int32_t*>(MapMemfd((kRows + 1) * 4));
  static uint8_t* bytes = MapMemfd(kRows * 32);
  std::mt19937_64 random(1);
  int32_t at = 0;
  for (uint64_t i = 0; i <= kRows; ++i) {
    offsets[i] = at;
    at += static_cast<int32_t>(random() % 32);
  }
  ChunkColumn column;
  column.type = {forebay::reader::Layout::kBinary32, 0};
  column.length = kRows;
  column.offsets = reinterpret_cast<const uint8_t*>(offsets);
  column.values = bytes;
  column.values_size = kRows * 32;
  Field field = MakeField("u");
  auto gatherer = *ColumnGatherer::Make(field, BufferPool::Make());
  const ChunkColumn* sources[] = {&column};
  forebay::plan::Permutation order({.size = kRows, .seed = 1});
  std::vector<uint64_t> rows(1024);
  std::vector<RowAddress> addresses(1024);
  uint64_t first = 0;
  for (auto _ : state) {
    order.ForwardRange(first, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      addresses[i] = {0, static_cast<uint32_t>(rows[i])};
    }
    Column gathered = *gatherer.Gather(sources, addresses);
    benchmark::DoNotOptimize(gathered.buffers[2].data);
    first = (first + 1024) % (kRows - 1024);
  }
  SetRates(state, 1024, 16);
}

BENCHMARK(Locate);
BENCHMARK(ShuffleNarrow)->Arg(1024)->Arg(16 * 1024)->Arg(128 * 1024);
BENCHMARK(ShuffleNarrowNaive);
BENCHMARK(ShuffleStrings);
BENCHMARK(Memcpy)->Arg(512)->Arg(1024)->Arg(4096)->Arg(65536);
BENCHMARK(SequentialWide)->Arg(64)->Arg(512)->Arg(1024)->Arg(4096)->Arg(65536);
BENCHMARK(ShuffleWide)->Arg(64)->Arg(512)->Arg(1024)->Arg(4096)->Arg(65536);

}  // namespace

BENCHMARK_MAIN();
