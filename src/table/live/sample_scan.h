// Iceberg scans for tests: data and delete files in a source in memory.
#pragma once

#include <fmt/format.h>

#include <optional>

#include "table/iceberg_columns.h"
#include "table/live/live_rows_of.h"
#include "table/sample_tables.h"

namespace forebay::table::live {

using Longs = std::vector<std::optional<int64_t>>;

inline std::shared_ptr<arrow::Field> IdField(const std::string& name,
                                             std::shared_ptr<arrow::DataType> type,
                                             int32_t id) {
  return arrow::field(
      name, std::move(type), true,
      arrow::key_value_metadata({"PARQUET:field_id"}, {std::to_string(id)}));
}

inline std::shared_ptr<arrow::Array> LongArray(const Longs& values) {
  arrow::Int64Builder builder;
  for (const auto& value : values) {
    EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  }
  return *builder.Finish();
}

inline std::shared_ptr<arrow::Array> TextArray(const std::vector<std::string>& values) {
  arrow::StringBuilder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return *builder.Finish();
}

inline iceberg::Field LongField(int32_t id, const std::string& name) {
  iceberg::Field field;
  field.id = id;
  field.name = name;
  field.type.id = iceberg::TypeId::kLong;
  return field;
}

// A table of longs "k" (field 1) and "v" (field 2); spec 0 has no partitions, spec 1 goes
// by identity of k.
struct SampleScan {
  std::shared_ptr<source::MemorySource> source = std::make_shared<source::MemorySource>();
  iceberg::TableMetadata metadata;
  iceberg::Scan scan;
  std::vector<FileRef> files;
  const filter::BoundFilter* filter = nullptr;
  MemoryBudget* budget = nullptr;
  ThreadPool pool{2};

  SampleScan() {
    metadata.schemas = {{.id = 0, .fields = {LongField(1, "k"), LongField(2, "v")}}};
    metadata.specs.resize(2);
    metadata.specs[1].id = 1;
    metadata.specs[1].fields = {{.source_id = 1,
                                 .field_id = 1000,
                                 .name = "k",
                                 .transform = iceberg::Transform::Parse("bucket[4]")}};
  }

  static void SetPartition(std::optional<int64_t> bucket, iceberg::DataFile* file) {
    file->spec_id = bucket ? 1 : 0;
    if (bucket) file->partition = {iceberg::Value(*bucket)};
  }
  std::string Put(const std::string& name, const std::string& bytes) {
    std::string uri = "mem://t/" + name;
    source->Put(uri, bytes);
    return uri;
  }

  // The index of a data file with these keys; v is the row's number.
  size_t AddData(int64_t sequence_number, const Longs& keys,
                 std::optional<int64_t> bucket = {}, int64_t group_rows = 1 << 20) {
    auto table = arrow::Table::Make(
        arrow::schema({IdField("k", arrow::int64(), 1), IdField("v", arrow::int64(), 2)}),
        {LongArray(keys), Int64s(0, static_cast<int64_t>(keys.size()))});
    return AddFile(sequence_number, *table, bucket, group_rows);
  }
  size_t AddFile(int64_t sequence_number, const arrow::Table& table,
                 std::optional<int64_t> bucket = {}, int64_t group_rows = 1 << 20) {
    iceberg::DataFile file;
    file.path = Put(fmt::format("data-{}.parquet", scan.data.size()),
                    WriteParquet(table, group_rows, false));
    file.record_count = table.num_rows();
    file.sequence_number = sequence_number;
    SetPartition(bucket, &file);
    scan.data.push_back(file);
    auto context = by_id::ContextOf(metadata, metadata.schemas[0], file).ValueOrDie();
    files.push_back({.object = source->Stat(file.path, Deadline::Never()).ValueOrDie(),
                     .format = model::FileFormat::kParquet,
                     .context = context.Encode()});
    return scan.data.size() - 1;
  }

  static TablePtr PositionTable(
      const std::vector<std::pair<std::string, int64_t>>& rows) {
    std::vector<std::string> paths;
    Longs positions;
    for (const auto& [path, position] : rows) {
      paths.push_back(path);
      positions.push_back(position);
    }
    return arrow::Table::Make(
        arrow::schema({IdField("file_path", arrow::utf8(), 2147483546),
                       IdField("pos", arrow::int64(), 2147483545)}),
        {TextArray(paths), LongArray(positions)});
  }
  iceberg::DataFile& AddPositions(int64_t sequence_number,
                                  const std::vector<std::pair<size_t, int64_t>>& rows,
                                  std::optional<int64_t> bucket = {}) {
    std::vector<std::pair<std::string, int64_t>> named;
    for (const auto& [file, position] : rows) {
      named.emplace_back(scan.data[file].path, position);
    }
    iceberg::DataFile file;
    file.content = iceberg::FileContent::kPositionDeletes;
    file.path = Put(fmt::format("pos-{}.parquet", scan.position_deletes.size()),
                    WriteParquet(*PositionTable(named), 1 << 20, false));
    file.record_count = static_cast<int64_t>(rows.size());
    file.sequence_number = sequence_number;
    SetPartition(bucket, &file);
    scan.position_deletes.push_back(file);
    return scan.position_deletes.back();
  }

  iceberg::DataFile& AddKeys(int64_t sequence_number, const Longs& keys,
                             std::optional<int64_t> bucket = {}) {
    auto table = arrow::Table::Make(arrow::schema({IdField("k", arrow::int64(), 1)}),
                                    {LongArray(keys)});
    return AddKeyTable(sequence_number, *table, {1}, bucket);
  }
  iceberg::DataFile& AddKeyTable(int64_t sequence_number, const arrow::Table& table,
                                 std::vector<int32_t> ids,
                                 std::optional<int64_t> bucket = {}) {
    iceberg::DataFile file;
    file.content = iceberg::FileContent::kEqualityDeletes;
    file.path = Put(fmt::format("eq-{}.parquet", scan.equality_deletes.size()),
                    WriteParquet(table, 1 << 20, false));
    file.record_count = table.num_rows();
    file.sequence_number = sequence_number;
    file.equality_ids = std::move(ids);
    SetPartition(bucket, &file);
    scan.equality_deletes.push_back(file);
    return scan.equality_deletes.back();
  }

  Result<std::unique_ptr<LiveRowsResolver>> Resolver() {
    FB_ASSIGN_OR_RETURN(auto schema, ManifestSchema(metadata.schemas[0], ""));
    LiveOptions options{.source = source,
                        .schema = schema,
                        .filter = filter,
                        .pool = &pool,
                        .memory_pool = nullptr,
                        .budget = budget,
                        .footers = nullptr,
                        .deadline = Deadline::Never(),
                        .resolve = [](std::string_view path) -> Result<std::string> {
                          return std::string(path);
                        }};
    return LiveRowsResolver::Make(std::move(options), metadata, scan);
  }
  // "101": the middle one of three rows is gone. An error's code, where there is one.
  std::string Live(size_t data_file) {
    auto resolver = Resolver();
    if (!resolver.ok()) return resolver.status().ToString();
    auto live = (*resolver)->Of(data_file, files[data_file]);
    if (!live.ok()) return live.status().ToString();
    EXPECT_EQ(live->row_count, static_cast<uint64_t>(scan.data[data_file].record_count));
    std::string text;
    for (uint64_t i = 0; i < live->row_count; ++i) text += live->Alive(i) ? '1' : '0';
    if (!(*resolver)->Touches(data_file)) {
      EXPECT_EQ(text.find('0'), text.npos);
    }
    return text;
  }
};

}  // namespace forebay::table::live
