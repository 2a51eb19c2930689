#include "table/plan_table.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include <unordered_map>

#include "base/arrow_status.h"
#include "base/bytes.h"
#include "table/arrow_schema.h"
#include "table/files/decode_error.h"
#include "table/files/table_file.h"
#include "table/hive.h"
#include "table/memory_jobs.h"
#include "table/schema_merge.h"

namespace forebay::table {
namespace {

struct FileLayout {
  std::shared_ptr<arrow::Schema> schema;
  std::vector<GroupLayout> groups;
};

Result<FileLayout> Inspect(const ObjectAccess& access, model::FileFormat format,
                           FooterCache* footers) {
  if (access.deadline.passed()) {
    return Status::Deadline(
        fmt::format("time was up before {} was read", access.object.uri));
  }
  FB_ASSIGN_OR_RETURN(auto file, OpenTableFile(format, access, footers));
  auto groups = Decoded(Guard([&] { return file->Groups(); }));
  if (!groups.ok()) return groups.status().WithContext(access.object.uri + ", footer");
  return FileLayout{file->schema(), *std::move(groups)};
}

Status InspectAll(const std::shared_ptr<source::Source>& source, const Listing& listing,
                  const PlanOptions& options, std::vector<FileLayout>* layouts) {
  auto* memory = options.memory_pool ? options.memory_pool : arrow::default_memory_pool();
  layouts->resize(listing.objects.size());
  auto inspect = [&](size_t i) -> Status {
    ObjectAccess access{.source = source,
                        .object = listing.objects[i],
                        .memory_pool = memory,
                        .pool = nullptr,
                        .deadline = options.deadline};
    FB_ASSIGN_OR_RETURN((*layouts)[i], Inspect(access, listing.format, options.footers));
    return Status::OK();
  };
  auto bytes = [&](size_t i) {
    return OpenMemoryBytes(listing.format, listing.objects[i].identity.size);
  };
  return RunMemoryJobs({.count = listing.objects.size(),
                        .bytes = bytes,
                        .run = inspect,
                        .pool = options.pool,
                        .budget = options.budget,
                        .deadline = options.deadline});
}

Result<std::shared_ptr<arrow::Schema>> MergeSchemas(const Listing& listing,
                                                    std::vector<FileLayout>& layouts) {
  SchemaMerge merge;
  for (size_t i = 0; i < layouts.size(); ++i) {
    // Ten thousand equal schemas are kept once.
    bool same = i > 0 && layouts[i].schema->Equals(*layouts[i - 1].schema, false);
    if (same) layouts[i].schema = layouts[i - 1].schema;
    FB_RETURN_NOT_OK(merge.Add(*layouts[i].schema, listing.objects[i].uri));
  }
  return merge.Finish();
}

// A column that the files have too keeps their type and place, with the folder's value.
void AppendPartitions(const Listing& listing, model::Schema* schema) {
  for (const PartitionColumn& column : listing.partitions) {
    if (schema->Find(column.name)) continue;
    model::Field field;
    field.name = column.name;
    field.format = column.format;
    schema->fields.push_back(std::move(field));
  }
  PutPartitionKeys(listing, schema);
}

// Column sizes by the table's columns instead of the file's.
std::vector<GroupLayout> ByTableColumn(const FileLayout& layout,
                                       const model::Schema& schema) {
  std::unordered_map<std::string_view, size_t> index;
  for (size_t i = 0; i < schema.fields.size(); ++i) index[schema.fields[i].name] = i;
  std::vector<size_t> place;
  for (const auto& field : layout.schema->fields()) {
    place.push_back(index.at(field->name()));
  }
  std::vector<GroupLayout> out;
  for (const GroupLayout& group : layout.groups) {
    GroupLayout mapped{.row_count = group.row_count, .column_bytes = {}};
    mapped.column_bytes.resize(schema.fields.size());
    for (size_t i = 0; i < place.size(); ++i) {
      mapped.column_bytes[place[i]] = group.column_bytes[i];
    }
    out.push_back(std::move(mapped));
  }
  return out;
}

// The values in folder names: the rows of a file depend on them.
std::string PartitionText(const Listing& listing, size_t file) {
  Encoder out;
  for (const PartitionColumn& column : listing.partitions) {
    out.PutString(column.name);
    out.Put<uint8_t>(column.values[file].has_value() ? 1 : 0);
    out.PutString(column.values[file].value_or(""));
  }
  return out.Take();
}

}  // namespace

Result<TablePlan> InspectTable(std::shared_ptr<source::Source> source,
                               const Listing& listing, const PlanOptions& options) {
  std::vector<FileLayout> layouts;
  FB_RETURN_NOT_OK(InspectAll(source, listing, options, &layouts));
  FB_ASSIGN_OR_RETURN(auto merged, MergeSchemas(listing, layouts));
  TablePlan plan;
  FB_ASSIGN_OR_RETURN(plan.schema, FromArrowSchema(*merged));
  AppendPartitions(listing, &plan.schema);
  plan.version = listing.version;
  plan.origin = listing.origin;
  for (size_t i = 0; i < layouts.size(); ++i) {
    PlannedFile file;
    file.object = listing.objects[i];
    file.format = listing.format;
    file.depends_on = PartitionText(listing, i);
    file.groups = ByTableColumn(layouts[i], plan.schema);
    plan.files.push_back(std::move(file));
  }
  return plan;
}

Result<std::string> PlanTable(std::shared_ptr<source::Source> source,
                              const Listing& listing, const PlanOptions& options) {
  FB_ASSIGN_OR_RETURN(TablePlan plan, InspectTable(std::move(source), listing, options));
  return BuildManifest(plan, CutsOf(options));
}

}  // namespace forebay::table
