// Which rows of a data file are rows of the version: those that no delete names and the
// filter keeps.
#pragma once

#include <arrow/memory_pool.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "model/live_rows.h"
#include "model/manifest.h"
#include "source/source.h"
#include "table/files/table_file.h"
#include "table/iceberg/scan.h"
#include "table/iceberg/table_metadata.h"
#include "table/live/live_marks.h"

namespace forebay::table {
namespace filter {
class BoundFilter;
class IcebergFileFilter;
}  // namespace filter
}  // namespace forebay::table

namespace forebay::table::live {

class Deletes;
class FileResolver;

struct LiveOptions {
  std::shared_ptr<source::Source> source;
  model::Schema schema;  // the manifest's
  const filter::BoundFilter* filter = nullptr;
  ThreadPool* pool = nullptr;                // nullptr: the calling thread alone
  arrow::MemoryPool* memory_pool = nullptr;  // nullptr: Arrow's default
  MemoryBudget* budget = nullptr;            // of memory_pool; nullptr: nobody counts
  FooterCache* footers = nullptr;
  Deadline deadline = Deadline::Never();
  // Iceberg only: the URI of a path that metadata names.
  std::function<Result<std::string>(std::string_view path)> resolve{};
};

// A data file as the manifest will have it.
struct FileRef {
  model::Object object;
  model::FileFormat format = model::FileFormat::kParquet;
  std::string context{};
};

// Thread-safe once made. What the options point to must outlive it.
class LiveRowsResolver {
 public:
  // A plain table: the filter alone. Every file is touched.
  static Result<std::unique_ptr<LiveRowsResolver>> Make(LiveOptions options);
  // Reads the deletes that apply to the scan's data files, every delete file once.
  // `metadata` and `scan` must outlive the resolver.
  static Result<std::unique_ptr<LiveRowsResolver>> Make(
      LiveOptions options, const iceberg::TableMetadata& metadata,
      const iceberg::Scan& scan);
  ~LiveRowsResolver();

  // False: all rows of the file live, as metadata alone shows. An index into scan.data.
  bool Touches(size_t data_file) const;
  // What Of takes at its peak, estimated. `groups` by the columns of the schema.
  uint64_t MemoryBytes(size_t data_file, const FileRef& file,
                       const std::vector<GroupLayout>& groups) const;
  // Plain tables: any index. The rows that the file has; where an Iceberg manifest counts
  // others that is kCorrupt and names the file. kFull when the bits of all files so far
  // take more than the budget has.
  Result<model::LiveRows> Of(size_t data_file, const FileRef& file) const;

 private:
  friend class FileResolver;
  explicit LiveRowsResolver(LiveOptions options);
  bool FilterTouches(size_t data_file) const;

  LiveOptions options_;
  mutable LiveMarks marks_;
  const iceberg::Scan* scan_ = nullptr;
  std::unique_ptr<Deletes> deletes_;
  std::unique_ptr<filter::IcebergFileFilter> files_;
};

}  // namespace forebay::table::live
