#include "table/dataset/iceberg_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "base/bytes.h"
#include "base/uri.h"
#include "table/dataset/file_layouts.h"
#include "table/dataset/find_metadata.h"
#include "table/dataset/set_live_rows.h"
#include "table/filter/bind.h"
#include "table/filter/file_filter.h"
#include "table/iceberg_columns.h"

namespace forebay::table {
namespace {

constexpr int64_t kMetadataBytesMax = 512 * kMiB;
constexpr std::string_view kStateKey = "iceberg.state";

Result<model::FileFormat> FormatOf(const iceberg::DataFile& file) {
  switch (file.format) {
    case iceberg::ContentFormat::kParquet: return model::FileFormat::kParquet;
    case iceberg::ContentFormat::kOrc: return model::FileFormat::kOrc;
    case iceberg::ContentFormat::kAvro: return model::FileFormat::kAvro;
    case iceberg::ContentFormat::kPuffin: break;
  }
  return Status::Corrupt(
      fmt::format("{} is listed as a data file and is not one", file.path));
}

// Older files first, so that rows keep their numbers as a table grows; files of a commit
// by name, so that rewritten manifests change nothing.
void SortFiles(iceberg::Scan* scan) {
  std::vector<uint32_t> order(scan->data.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    const auto& x = scan->data[a];
    const auto& y = scan->data[b];
    return std::tie(x.sequence_number, x.path) < std::tie(y.sequence_number, y.path);
  });
  std::vector<iceberg::DataFile> data;
  std::vector<uint32_t> manifest_of;
  for (uint32_t i : order) {
    data.push_back(std::move(scan->data[i]));
    manifest_of.push_back(scan->manifest_of[i]);
  }
  scan->data = std::move(data);
  scan->manifest_of = std::move(manifest_of);
}

class IcebergDataset : public Dataset {
 public:
  IcebergDataset(std::shared_ptr<source::Source> source, iceberg::TableMetadata metadata,
                 iceberg::Locations locations)
      : source_(std::move(source)),
        metadata_(std::move(metadata)),
        locations_(std::move(locations)) {}

  Status Init(const TableOptions& options);

  const Hash128& version() const override { return version_; }
  std::shared_ptr<source::Source> source() const override { return source_; }
  Result<std::string> Plan(const PlanOptions& options,
                           const LayoutShelf& shelf) const override;

 private:
  Status SetVersion(const iceberg::LocationOptions& locations);
  Result<iceberg::Scan> MakeScan(const PlanOptions& options) const;
  Result<std::vector<live::FileRef>> Locate(const iceberg::Scan& scan,
                                            const PlanOptions& options) const;
  Status CheckTotals(const iceberg::Scan& scan) const;
  Status SetLiveRows(const iceberg::Scan& scan, const PlanOptions& options,
                     TablePlan* plan) const;
  std::string name_mapping() const {
    auto found = metadata_.properties.find(std::string(kNameMappingProperty));
    return found == metadata_.properties.end() ? std::string() : found->second;
  }

  std::shared_ptr<source::Source> source_;
  iceberg::TableMetadata metadata_;
  iceberg::Locations locations_;
  iceberg::TableState state_;
  std::optional<filter::BoundFilter> filter_;
  bool ignore_summary_ = false;
  model::Schema schema_;
  Hash128 version_;
};

Status IcebergDataset::Init(const TableOptions& options) {
  FB_ASSIGN_OR_RETURN(state_, ChooseState(metadata_, options.choice));
  ignore_summary_ = options.ignore_summary;
  if (!options.filter.empty()) {
    FB_ASSIGN_OR_RETURN(auto parsed, filter::Filter::Parse(options.filter));
    FB_ASSIGN_OR_RETURN(filter_, filter::Bind(parsed, *state_.schema));
  }
  FB_ASSIGN_OR_RETURN(schema_, ManifestSchema(*state_.schema, name_mapping()));
  schema_.metadata.emplace_back(kStateKey, state_.snapshot == nullptr
                                               ? "empty"
                                               : fmt::format("{}", state_.snapshot->id));
  return SetVersion(options.locations);
}

// Snapshots are immutable, so their names stand for what they hold.
Status IcebergDataset::SetVersion(const iceberg::LocationOptions& locations) {
  Encoder out;
  out.PutString("iceberg version 1");
  out.PutString(source_->origin());
  out.PutString(metadata_.uuid);
  out.PutString(schema_.Encode());
  out.PutString(filter_ ? filter_->ToString() : "");
  // A version of its own, so that a plain open goes on to fail.
  if (ignore_summary_) out.PutString("summary ignored");
  // The same snapshot with its files elsewhere is another version.
  for (const auto& [from, to] : locations.remap) {
    out.PutString(from);
    out.PutString(to);
  }
  if (state_.snapshot != nullptr) {
    out.Put(state_.snapshot->id);
    std::vector<std::string> names = state_.snapshot->manifests;
    if (names.empty()) names.push_back(state_.snapshot->manifest_list);
    for (const std::string& name : names) {
      FB_ASSIGN_OR_RETURN(std::string uri, locations_.Resolve(name));
      out.PutString(uri);
    }
  }
  version_ = HashBytes(out.bytes());
  return Status::OK();
}

Result<iceberg::Scan> IcebergDataset::MakeScan(const PlanOptions& options) const {
  if (state_.snapshot == nullptr) return iceberg::Scan();
  std::optional<filter::IcebergFileFilter> files;
  if (filter_) files.emplace(*filter_, metadata_.specs);
  iceberg::ScanOptions scan_options{
      .filter = files ? &*files : nullptr,
      .pool = options.pool,
      .read = [&](const std::string& path) -> Result<std::string> {
        FB_ASSIGN_OR_RETURN(std::string uri, locations_.Resolve(path));
        return ReadWhole(*source_, uri, kMetadataBytesMax, options.deadline);
      }};
  FB_ASSIGN_OR_RETURN(iceberg::Scan scan,
                      PlanScan(metadata_, *state_.snapshot, scan_options));
  if (!filter_ && !ignore_summary_) FB_RETURN_NOT_OK(CheckTotals(scan));
  SortFiles(&scan);
  return scan;
}

// The table's own counts, where its last writer gave them.
Status IcebergDataset::CheckTotals(const iceberg::Scan& scan) const {
  int64_t rows = 0;
  for (const iceberg::DataFile& file : scan.data) {
    if (__builtin_add_overflow(rows, file.record_count, &rows)) {
      return Status::Corrupt(fmt::format("snapshot {} counts more rows than there can be",
                                         state_.snapshot->id));
    }
  }
  auto check = [&](const char* name, int64_t found) -> Status {
    auto claimed = state_.snapshot->summary.find(name);
    if (claimed == state_.snapshot->summary.end()) return Status::OK();
    if (claimed->second == fmt::format("{}", found)) return Status::OK();
    return Status::Corrupt(
        fmt::format("snapshot {} says {} = {}, but its manifests list {}: if you trust "
                    "the manifests, open it with the option forebay.ignore-summary=true",
                    state_.snapshot->id, name, claimed->second, found));
  };
  FB_RETURN_NOT_OK(check("total-data-files", static_cast<int64_t>(scan.data.size())));
  return check("total-records", rows);
}

Result<std::vector<live::FileRef>> IcebergDataset::Locate(
    const iceberg::Scan& scan, const PlanOptions& options) const {
  std::vector<live::FileRef> files(scan.data.size());
  auto locate = [&](size_t i) -> Status {
    const iceberg::DataFile& data = scan.data[i];
    FB_ASSIGN_OR_RETURN(files[i].format, FormatOf(data));
    FB_ASSIGN_OR_RETURN(std::string uri, locations_.Resolve(data.path));
    FB_ASSIGN_OR_RETURN(files[i].object, source_->Stat(uri, options.deadline));
    if (files[i].object.identity.size != data.file_size) {
      return Status::Changed(fmt::format(
          "source changed: {} has {} bytes, but the table wrote {}: somebody overwrote "
          "or cut the file",
          uri, files[i].object.identity.size, data.file_size));
    }
    FB_ASSIGN_OR_RETURN(auto context, by_id::ContextOf(metadata_, *state_.schema, data));
    files[i].context = context.Encode();
    return Status::OK();
  };
  FB_RETURN_NOT_OK(ForEach(options.pool, files.size(), locate));
  return files;
}

// What the rows of a data file depend on besides its bytes.
std::string DependsOn(const std::vector<std::pair<int32_t, iceberg::Value>>& constants,
                      const std::string& name_mapping) {
  by_id::FileContext facts;
  facts.constants = constants;
  Encoder out;
  out.PutString(facts.Encode());
  out.PutString(name_mapping);
  return out.Take();
}

// Sizes by the table's columns instead of the file's; columns that the file lacks are
// chunks of their own, and so are hidden ones.
void SetColumns(const IdLayout& layout, const model::Schema& schema, PlannedFile* file) {
  std::vector<int> place;
  for (const model::Field& field : schema.fields) {
    auto found = std::ranges::find(layout.columns, field.ChunkName());
    bool in_file = found != layout.columns.end();
    place.push_back(in_file ? static_cast<int>(found - layout.columns.begin()) : -1);
    if (!in_file || field.hidden) {
      file->alone.push_back(static_cast<uint32_t>(place.size() - 1));
    }
  }
  for (const GroupLayout& group : layout.groups) {
    GroupLayout mapped{.row_count = group.row_count, .column_bytes = {}};
    for (uint64_t bytes : group.column_bytes) mapped.other_bytes += bytes;
    for (int at : place) {
      mapped.column_bytes.push_back(at < 0 ? 0 : group.column_bytes[at]);
      mapped.other_bytes -= mapped.column_bytes.back();
    }
    file->groups.push_back(std::move(mapped));
  }
}

Status CheckRows(const iceberg::DataFile& data, const PlannedFile& file) {
  uint64_t rows = 0;
  for (const GroupLayout& group : file.groups) rows += group.row_count;
  if (rows == static_cast<uint64_t>(data.record_count)) return Status::OK();
  return Status::Corrupt(fmt::format("{} holds {} rows, but the table counts {} in it",
                                     file.object.uri, rows, data.record_count));
}

Status IcebergDataset::SetLiveRows(const iceberg::Scan& scan, const PlanOptions& options,
                                   TablePlan* plan) const {
  live::LiveOptions live_options{
      .source = source_,
      .schema = schema_,
      .filter = filter_ && !filter_->always_true() ? &*filter_ : nullptr,
      .pool = options.pool,
      .memory_pool = options.memory_pool,
      .budget = options.budget,
      .footers = options.footers,
      .deadline = options.deadline,
      .resolve = [&](std::string_view path) { return locations_.Resolve(path); }};
  FB_ASSIGN_OR_RETURN(auto resolver, live::LiveRowsResolver::Make(std::move(live_options),
                                                                  metadata_, scan));
  return table::SetLiveRows(*resolver, options, plan);
}

Result<std::string> IcebergDataset::Plan(const PlanOptions& options,
                                         const LayoutShelf& shelf) const {
  FB_ASSIGN_OR_RETURN(iceberg::Scan scan, MakeScan(options));
  FB_ASSIGN_OR_RETURN(auto files, Locate(scan, options));
  LayoutRequest request{.source = source_,
                        .scan = &scan,
                        .files = &files,
                        .columns = by_id::TableColumns::Make(schema_),
                        .name_mapping = name_mapping()};
  FB_ASSIGN_OR_RETURN(auto layouts, LayoutsOf(request, options, shelf));
  TablePlan plan{.version = version_,
                 .origin = source_->origin(),
                 .schema = schema_,
                 .files = std::vector<PlannedFile>(files.size())};
  for (size_t i = 0; i < files.size(); ++i) {
    PlannedFile& file = plan.files[i];
    file.object = files[i].object;
    file.format = files[i].format;
    file.context = files[i].context;
    file.commit = scan.data[i].sequence_number;
    FB_ASSIGN_OR_RETURN(auto facts, by_id::FileContext::Decode(files[i].context));
    file.depends_on = DependsOn(facts.constants, request.name_mapping);
    SetColumns(layouts[i], schema_, &file);
    FB_RETURN_NOT_OK(CheckRows(scan.data[i], file));
  }
  FB_RETURN_NOT_OK(SetLiveRows(scan, options, &plan));
  return BuildManifest(plan, CutsOf(options));
}

}  // namespace

Result<std::unique_ptr<Dataset>> PinIceberg(const IcebergPlace& place,
                                            const TableOptions& options,
                                            std::shared_ptr<source::Source> source,
                                            Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto locations,
                      iceberg::Locations::Make(place.metadata_uri, options.locations));
  FB_ASSIGN_OR_RETURN(std::string uri, locations.Resolve(place.metadata_uri));
  std::string json;
  if (place.metadata_json) {
    json = *place.metadata_json;
  } else {
    FB_ASSIGN_OR_RETURN(json, ReadWhole(*source, uri, kMetadataBytesMax, deadline));
  }
  auto metadata = iceberg::ParseTableMetadata(json);
  if (!metadata.ok()) return metadata.status().WithContext(RedactUri(uri));
  auto dataset = std::make_unique<IcebergDataset>(std::move(source), *std::move(metadata),
                                                  std::move(locations));
  FB_RETURN_NOT_OK(dataset->Init(options));
  return std::unique_ptr<Dataset>(std::move(dataset));
}

bool IsIceberg(const model::Manifest& manifest) {
  return std::ranges::any_of(manifest.schema().metadata,
                             [](const auto& entry) { return entry.first == kStateKey; });
}

}  // namespace forebay::table
