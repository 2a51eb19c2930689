#include "table/live/live_rows_of.h"

#include <fmt/format.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/size.h"
#include "table/by_id/labels.h"
#include "table/files/decode_error.h"
#include "table/filter/bound_filter.h"
#include "table/filter/file_filter.h"
#include "table/filter/row_groups.h"
#include "table/live/deletes.h"

namespace forebay::table::live {
namespace {

// Where there is no budget.
constexpr uint64_t kMarksBytesMax = kGiB;

void KillRange(uint64_t first, uint64_t count, model::LiveRows* live) {
  uint64_t end = first + count;
  for (uint64_t row = first; row < end;) {
    if (row % 64 == 0 && end - row >= 64) {
      live->words[row / 64] = 0;
      row += 64;
    } else {
      live->Kill(row++);
    }
  }
}

// What to do with a row group.
struct GroupTask {
  bool filter = false;
  bool keys = false;

  bool nothing() const { return !filter && !keys; }
  friend bool operator==(const GroupTask&, const GroupTask&) = default;
};

}  // namespace

// One file at a time.
class FileResolver {
 public:
  FileResolver(const LiveRowsResolver& resolver, const FileRef& file)
      : resolver_(resolver), file_(file) {}

  Result<model::LiveRows> Resolve(size_t data_file);

 private:
  const LiveOptions& options() const { return resolver_.options_; }
  Result<WantedColumns> Wanted() const;
  std::vector<filter::Match> JudgeGroups(const FileScan& scan) const;
  std::vector<int> Leaves(const FileScan& scan,
                          const parquet::FileMetaData& metadata) const;
  Status LookAt(const FileScan& scan, model::LiveRows* live) const;
  Status Visit(const GroupTask& task, const arrow::RecordBatch& batch, uint64_t first_row,
               model::LiveRows* live) const;

  const LiveRowsResolver& resolver_;
  const FileRef& file_;
  const filter::BoundFilter* filter_ = nullptr;  // where it has to be looked at
  std::vector<const EqualityDeletes*> keys_;
  int64_t sequence_number_ = 0;
  WantedColumns wanted_;
};

Result<model::LiveRows> FileResolver::Resolve(size_t data_file) {
  const iceberg::Scan* scan = resolver_.scan_;
  model::LiveRows live;
  if (resolver_.FilterTouches(data_file)) filter_ = options().filter;
  if (scan != nullptr) {
    live = resolver_.deletes_->LiveByPosition(data_file);
    keys_ = resolver_.deletes_->EqualityFor(data_file);
    sequence_number_ = scan->data[data_file].sequence_number;
    if (filter_ == nullptr && keys_.empty()) return live;
  }
  FB_ASSIGN_OR_RETURN(wanted_, Wanted());
  ScanFile from{.access = {.source = options().source,
                           .object = file_.object,
                           .memory_pool = options().memory_pool,
                           .pool = options().pool,
                           .deadline = options().deadline},
                .footers = options().footers,
                .format = file_.format,
                .context = file_.context};
  FB_ASSIGN_OR_RETURN(FileScan opened, FileScan::Open(std::move(from), &wanted_));
  if (scan == nullptr) live.row_count = opened.row_count();
  if (live.row_count != opened.row_count()) {
    return Status::Corrupt(fmt::format("{} holds {} rows, but the table counts {} in it",
                                       file_.object.uri, opened.row_count(),
                                       live.row_count));
  }
  if (live.row_count == 0) return live;
  FB_RETURN_NOT_OK(resolver_.marks_.Add(file_.object.uri, live.row_count));
  if (live.words.empty()) live.Materialize();
  Status looked = LookAt(opened, &live);
  if (live.Count() == live.row_count) live.words.clear();
  if (!looked.ok() || live.words.empty()) resolver_.marks_.Remove(live.row_count);
  if (!looked.ok()) return looked;
  return live;
}

// The filter's columns as the table has them, and the deletes' keys.
Result<WantedColumns> FileResolver::Wanted() const {
  const model::Schema& schema = options().schema;
  model::Schema wanted{.fields = {}, .metadata = schema.metadata};
  if (filter_ != nullptr) {
    for (const std::string& name : filter_->NeededChunkNames()) {
      auto found = std::ranges::find_if(
          schema.fields, [&](const model::Field& f) { return f.ChunkName() == name; });
      if (found == schema.fields.end()) {
        return Status::Internal("the filter needs a column that the table lacks");
      }
      wanted.fields.push_back(*found);
    }
  }
  for (const EqualityDeletes* keys : keys_) {
    for (const model::Field& column : keys->columns) AddColumn(column, &wanted.fields);
  }
  return WantedColumns::Make(std::move(wanted));
}

std::vector<int> FileResolver::Leaves(const FileScan& scan,
                                      const parquet::FileMetaData& metadata) const {
  std::vector<int> none(filter_->columns().size(), -1);
  if (wanted_.by_id == nullptr) {
    auto leaves = filter::LeavesByName(*filter_, *metadata.schema());
    for (size_t i = 0; i < leaves.size(); ++i) {
      // A folder's name says more than what the file holds under the same name.
      if (wanted_.partitions->Has(filter_->columns()[i].path[0])) leaves[i] = -1;
    }
    return leaves;
  }
  if (!by_id::HasIds(*scan.file().schema())) return none;
  auto context = by_id::FileContext::Decode(file_.context);
  if (!context.ok()) return none;
  auto leaves = filter::LeavesById(*filter_, *metadata.schema());
  for (size_t i = 0; i < leaves.size(); ++i) {
    for (const auto& [id, value] : context->constants) {
      if (filter_->columns()[i].id == id) leaves[i] = -1;
    }
  }
  return leaves;
}

std::vector<filter::Match> FileResolver::JudgeGroups(const FileScan& scan) const {
  std::vector<filter::Match> out(scan.groups().size(), filter::Match::kSome);
  if (filter_->always_false()) std::ranges::fill(out, filter::Match::kNone);
  if (filter_->always_false() || file_.format != model::FileFormat::kParquet) return out;
  // Statistics only save work: whatever goes wrong with them, the rows are looked at.
  auto judged = Guard([&]() -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto reader, scan.file().Parquet());
    if (reader == nullptr) return arrow::Status::OK();
    auto metadata = reader->metadata();
    filter::RowGroupEvidence evidence{.metadata = metadata.get(),
                                      .leaves = Leaves(scan, *metadata),
                                      .blooms = &reader->GetBloomFilterReader()};
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = filter::MatchRowGroup(*filter_, evidence, static_cast<int>(i));
    }
    return arrow::Status::OK();
  });
  if (!judged.ok()) std::ranges::fill(out, filter::Match::kSome);
  return out;
}

Status FileResolver::LookAt(const FileScan& scan, model::LiveRows* live) const {
  const auto& groups = scan.groups();
  std::vector<GroupTask> tasks(groups.size(),
                               {.filter = filter_ != nullptr, .keys = !keys_.empty()});
  if (filter_ != nullptr) {
    auto matches = JudgeGroups(scan);
    uint64_t first_row = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (matches[i] == filter::Match::kAll) tasks[i].filter = false;
      if (matches[i] == filter::Match::kNone) {
        tasks[i] = {};
        KillRange(first_row, groups[i].row_count, live);
      }
      first_row += groups[i].row_count;
    }
  }
  for (uint32_t i = 0; i < groups.size();) {
    uint32_t end = i + 1;
    while (end < groups.size() && tasks[end] == tasks[i]) ++end;
    if (!tasks[i].nothing()) {
      FB_RETURN_NOT_OK(scan.Read(i, end - i, [&](const auto& batch, uint64_t first_row) {
        return Visit(tasks[i], batch, first_row, live);
      }));
    }
    i = end;
  }
  return Status::OK();
}

Status FileResolver::Visit(const GroupTask& task, const arrow::RecordBatch& batch,
                           uint64_t first_row, model::LiveRows* live) const {
  if (task.filter) FB_RETURN_NOT_OK(filter_->Apply(batch, first_row, live));
  if (!task.keys) return Status::OK();
  for (const EqualityDeletes* deletes : keys_) {
    FB_ASSIGN_OR_RETURN(auto keys, KeyColumns::Make(batch, deletes->key_paths));
    deletes->index.Kill(keys, sequence_number_, first_row, live);
  }
  return Status::OK();
}

LiveRowsResolver::LiveRowsResolver(LiveOptions options)
    : options_(std::move(options)),
      marks_(options_.budget != nullptr ? options_.budget->capacity_bytes()
                                        : kMarksBytesMax) {
  if (options_.memory_pool == nullptr) {
    options_.memory_pool = arrow::default_memory_pool();
  }
}

LiveRowsResolver::~LiveRowsResolver() = default;

Result<std::unique_ptr<LiveRowsResolver>> LiveRowsResolver::Make(LiveOptions options) {
  return std::unique_ptr<LiveRowsResolver>(new LiveRowsResolver(std::move(options)));
}

Result<std::unique_ptr<LiveRowsResolver>> LiveRowsResolver::Make(
    LiveOptions options, const iceberg::TableMetadata& metadata,
    const iceberg::Scan& scan) {
  auto out = std::unique_ptr<LiveRowsResolver>(new LiveRowsResolver(std::move(options)));
  const LiveOptions& from = out->options_;
  out->scan_ = &scan;
  // Older schemas matter to equality deletes alone.
  const auto* history = scan.equality_deletes.empty() ? nullptr : &metadata;
  FB_ASSIGN_OR_RETURN(auto fields, KnownFields::Make(from.schema, history));
  DeleteAccess access{.source = from.source,
                      .pool = from.pool,
                      .memory_pool = from.memory_pool,
                      .budget = from.budget,
                      .marks = &out->marks_,
                      .footers = from.footers,
                      .deadline = from.deadline,
                      .resolve = from.resolve};
  FB_ASSIGN_OR_RETURN(out->deletes_,
                      Deletes::Make(std::move(access), fields, metadata, scan));
  if (from.filter != nullptr) {
    out->files_ =
        std::make_unique<filter::IcebergFileFilter>(*from.filter, metadata.specs);
  }
  return out;
}

bool LiveRowsResolver::FilterTouches(size_t data_file) const {
  if (options_.filter == nullptr) return false;
  return files_ == nullptr || !files_->MustMatch(scan_->data[data_file]);
}

bool LiveRowsResolver::Touches(size_t data_file) const {
  if (scan_ == nullptr || FilterTouches(data_file)) return true;
  return deletes_->Touches(data_file);
}

// Columns that were dropped since are in no layout: a few keys of deletes.
uint64_t LiveRowsResolver::MemoryBytes(size_t data_file, const FileRef& file,
                                       const std::vector<GroupLayout>& groups) const {
  std::set<std::string> names;
  if (FilterTouches(data_file)) {
    for (std::string& name : options_.filter->NeededChunkNames()) names.insert(name);
  }
  if (deletes_ != nullptr) {
    for (const EqualityDeletes* keys : deletes_->EqualityFor(data_file)) {
      for (const model::Field& column : keys->columns) names.insert(column.ChunkName());
    }
  }
  if (names.empty()) return 0;
  ScanSize all{.column_count = names.size()};
  uint64_t largest_group = 0;
  for (const GroupLayout& group : groups) {
    uint64_t bytes = 0, wanted = 0;
    for (size_t i = 0; i < group.column_bytes.size(); ++i) {
      bytes += group.column_bytes[i];
      if (names.contains(options_.schema.fields[i].ChunkName())) {
        wanted += group.column_bytes[i];
      }
    }
    largest_group = std::max(largest_group, bytes);
    all.decoded_bytes += wanted;
    all.row_count += group.row_count;
  }
  auto object_bytes =
      static_cast<uint64_t>(std::max<int64_t>(file.object.identity.size, 0));
  all.stored_bytes = std::min(object_bytes, all.decoded_bytes);
  if (file.format == model::FileFormat::kParquet) return ScanMemoryBytes(all);
  // Others decode a group at once, and may have to read all of it for one column.
  return std::max(OpenMemoryBytes(file.format, file.object.identity.size),
                  ScanMemoryBytes(all) + 3 * largest_group);
}

Result<model::LiveRows> LiveRowsResolver::Of(size_t data_file,
                                             const FileRef& file) const {
  return FileResolver(*this, file).Resolve(data_file);
}

}  // namespace forebay::table::live
