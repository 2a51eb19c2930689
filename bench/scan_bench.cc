// Planning of an Iceberg table: metadata, manifest list and manifests to live files.
// Prints one JSON object.
//
//   scan_bench METADATA_FILE
#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "base/thread_pool.h"
#include "source/source.h"
#include "table/dataset/find_metadata.h"
#include "table/iceberg/locations.h"
#include "table/iceberg/scan.h"

namespace {

template <typename T>
T Must(forebay::Result<T> result) {
  if (result.ok()) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace forebay;
  if (argc != 2) return 2;
  auto start = std::chrono::steady_clock::now();
  auto source = Must(source::OpenSource(argv[1], {}));
  auto read = [&](const std::string& uri) {
    return table::ReadWhole(*source, uri, int64_t{1} << 30, Deadline::Never());
  };
  auto metadata = Must(table::iceberg::ParseTableMetadata(Must(read(argv[1]))));
  auto state = Must(table::iceberg::ChooseState(metadata, {}));
  auto locations = Must(table::iceberg::Locations::Make(argv[1], {}));
  ThreadPool pool(2);
  table::iceberg::ScanOptions options{
      .filter = nullptr, .pool = &pool, .read = [&](const std::string& path) {
        return read(Must(locations.Resolve(path)));
      }};
  auto scan = Must(table::iceberg::PlanScan(metadata, *state.snapshot, options));
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("{{\"files\": {}, \"seconds\": {:.4f}}}\n", scan.data.size(), took.count());
  return 0;
}
