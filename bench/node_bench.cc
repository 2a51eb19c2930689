// What a reader waits for at its node: opening a warm dataset (beside the listing of the
// source that every open makes) and the hand-over of a chunk. Prints one JSON object.
//
//   node_bench URI STORE
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "reader/remote_table.h"
#include "source/source.h"
#include "table/listing.h"

namespace {

constexpr int kRounds = 7;

double Milliseconds(const auto& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  auto took = std::chrono::steady_clock::now() - start;
  return std::chrono::duration<double, std::milli>(took).count();
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

template <typename T>
T Must(forebay::Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

std::vector<forebay::model::ChunkRef> AllRefs(const forebay::model::Manifest& manifest,
                                              const forebay::model::Projection& columns) {
  std::vector<forebay::model::ChunkRef> refs;
  for (uint32_t range = 0; range < manifest.ranges().size(); ++range) {
    uint32_t unit = manifest.ranges()[range].unit;
    for (uint32_t group : forebay::model::Groups(manifest, unit, columns)) {
      refs.push_back({range, group});
    }
  }
  return refs;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace forebay;
  if (argc != 3) return 2;
  reader::OpenOptions options;
  options.node.store = argv[2];
  auto table = Must(reader::RemoteTable::Open(argv[1], options));
  auto source = Must(source::OpenSource(argv[1], {}));
  std::vector<double> opens;
  std::vector<double> lists;
  for (int i = 0; i < kRounds; ++i) {
    lists.push_back(Milliseconds([&] {
      Must(table::ListTable(*source, argv[1], Deadline::After(options.timeout)));
    }));
    opens.push_back(
        Milliseconds([&] { Must(reader::RemoteTable::Open(argv[1], options)); }));
  }
  auto columns = Must(model::Project(table->manifest()->schema(), {}));
  uint32_t view = table->ViewOf(columns);
  auto refs = AllRefs(*table->manifest(), columns);
  refs.resize(std::min<size_t>(refs.size(), 2000));
  // Private mappings are made anew on each call, so every call is a hand-over.
  Must(table->Acquire(view, refs, Mapping::Mode::kPrivate));
  std::vector<double> handovers;
  std::vector<double> singles;
  for (int i = 0; i < kRounds; ++i) {
    handovers.push_back(
        Milliseconds([&] { Must(table->Acquire(view, refs, Mapping::Mode::kPrivate)); }));
    std::span<const model::ChunkRef> one(refs.data(), 1);
    singles.push_back(
        Milliseconds([&] { Must(table->Acquire(view, one, Mapping::Mode::kPrivate)); }));
  }
  fmt::print(
      "{{\"rows\": {}, \"objects\": {}, \"list_ms\": {:.3f}, \"open_ms\": {:.3f}, "
      "\"chunks\": {}, \"handover_us\": {:.2f}, \"single_handover_us\": {:.2f}}}\n",
      table->manifest()->row_count(), table->manifest()->objects().size(), Median(lists),
      Median(opens), refs.size(),
      Median(handovers) * 1000 / static_cast<double>(refs.size()),
      Median(singles) * 1000);
}
