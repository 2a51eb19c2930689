// Tables for tests: files of every format written into a source in memory, and the way
// from a URI to all its rows.
#pragma once

#include <arrow/adapters/orc/adapter.h>
#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <memory>
#include <string>
#include <vector>

#include "model/chunk.h"
#include "source/memory_source.h"
#include "table/arrow_schema.h"
#include "table/listing.h"
#include "table/plan_table.h"
#include "table/unit_reader.h"

namespace forebay::table {

using TablePtr = std::shared_ptr<arrow::Table>;
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using ManifestPtr = std::shared_ptr<const model::Manifest>;

inline std::string ToText(const std::shared_ptr<arrow::Buffer>& buffer) {
  return buffer->ToString();
}

inline std::string WriteParquet(const arrow::Table& table, int64_t group_rows = 1 << 20,
                                bool store_schema = true) {
  auto sink = *arrow::io::BufferOutputStream::Create();
  auto properties = parquet::WriterProperties::Builder()
                        .compression(parquet::Compression::SNAPPY)
                        ->max_row_group_length(group_rows)
                        ->enable_page_checksum()
                        ->build();
  parquet::ArrowWriterProperties::Builder arrow_properties;
  if (store_schema) arrow_properties.store_schema();
  auto status =
      parquet::arrow::WriteTable(table, arrow::default_memory_pool(), sink, group_rows,
                                 properties, arrow_properties.build());
  EXPECT_TRUE(status.ok()) << status.ToString();
  return ToText(*sink->Finish());
}

struct IpcShape {
  bool is_stream = false;
  int64_t batch_rows = 1 << 20;
  arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED;
};

inline std::string WriteIpc(const arrow::Table& table, const IpcShape& shape = {}) {
  auto sink = *arrow::io::BufferOutputStream::Create();
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.unify_dictionaries = true;
  if (shape.compression != arrow::Compression::UNCOMPRESSED) {
    options.codec = *arrow::util::Codec::Create(shape.compression);
  }
  auto writer = shape.is_stream
                    ? *arrow::ipc::MakeStreamWriter(sink, table.schema(), options)
                    : *arrow::ipc::MakeFileWriter(sink, table.schema(), options);
  auto status = writer->WriteTable(table, shape.batch_rows);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(writer->Close().ok());
  return ToText(*sink->Finish());
}

inline std::string WriteOrc(const arrow::Table& table, int64_t stripe_bytes = 64 << 20) {
  auto sink = *arrow::io::BufferOutputStream::Create();
  arrow::adapters::orc::WriteOptions options;
  options.stripe_size = stripe_bytes;
  auto writer = *arrow::adapters::orc::ORCFileWriter::Open(sink.get(), options);
  auto status = writer->Write(table);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(writer->Close().ok());
  return ToText(*sink->Finish());
}

template <typename Builder, typename Value>
std::shared_ptr<arrow::Array> ArrayOf(const std::vector<Value>& values,
                                      std::unique_ptr<Builder> builder) {
  for (const Value& value : values) EXPECT_TRUE(builder->Append(value).ok());
  return *builder->Finish();
}

inline std::shared_ptr<arrow::Array> Int64s(int64_t first, int64_t count) {
  arrow::Int64Builder builder;
  for (int64_t i = 0; i < count; ++i) EXPECT_TRUE(builder.Append(first + i).ok());
  return *builder.Finish();
}

inline std::shared_ptr<arrow::Array> Strings(int64_t first, int64_t count,
                                             size_t width = 8) {
  arrow::StringBuilder builder;
  for (int64_t i = 0; i < count; ++i) {
    std::string text = std::to_string(first + i);
    text.resize(std::max(width, text.size()), static_cast<char>('a' + i % 26));
    EXPECT_TRUE(builder.Append(text).ok());
  }
  return *builder.Finish();
}

// Columns "id" (int64, counting from `first`), "name" (string), "x" (double).
inline TablePtr People(int64_t first, int64_t count, size_t name_bytes = 8) {
  arrow::DoubleBuilder x;
  for (int64_t i = 0; i < count; ++i) {
    EXPECT_TRUE((i % 5 == 0 ? x.AppendNull() : x.Append(0.5 * double(first + i))).ok());
  }
  auto schema = arrow::schema({arrow::field("id", arrow::int64()),
                               arrow::field("name", arrow::utf8()),
                               arrow::field("x", arrow::float64())});
  return arrow::Table::Make(
      schema, {Int64s(first, count), Strings(first, count, name_bytes), *x.Finish()});
}

// A table in a source in memory.
struct Sample {
  std::shared_ptr<source::MemorySource> source = std::make_shared<source::MemorySource>();
  std::string uri = "mem://t/data";
  PlanOptions plan;
  DecodeOptions decode;

  void Put(const std::string& name, const std::string& bytes) {
    source->Put(uri + "/" + name, bytes);
  }
  Result<ManifestPtr> Plan() const {
    FB_ASSIGN_OR_RETURN(Listing listing, ListTable(*source, uri, Deadline::Never()));
    FB_ASSIGN_OR_RETURN(std::string bytes, PlanTable(source, listing, plan));
    auto owner = std::make_shared<std::string>(std::move(bytes));
    return model::Manifest::View(*owner, owner);
  }
  Result<std::vector<BatchPtr>> ReadUnit(const ManifestPtr& manifest, uint32_t unit,
                                         const model::Projection& columns) const {
    FB_ASSIGN_OR_RETURN(auto reader, OpenUnit(source, manifest, unit, columns, decode));
    std::vector<BatchPtr> batches;
    while (true) {
      FB_ASSIGN_OR_RETURN(BatchPtr batch, reader->Next());
      if (batch == nullptr) return batches;
      uint32_t range = manifest->units()[unit].first_range + batches.size();
      EXPECT_EQ(batch->num_rows(), manifest->ranges()[range].row_count);
      auto valid = batch->ValidateFull();
      EXPECT_TRUE(valid.ok()) << valid.ToString() << batch->schema()->ToString();
      batches.push_back(std::move(batch));
    }
  }
  // All rows; `names` empty means all columns.
  Result<TablePtr> Read(const std::vector<std::string>& names = {}) const {
    FB_ASSIGN_OR_RETURN(ManifestPtr manifest, Plan());
    FB_ASSIGN_OR_RETURN(auto columns, model::Project(manifest->schema(), names));
    std::vector<BatchPtr> all;
    for (uint32_t unit = 0; unit < manifest->units().size(); ++unit) {
      FB_ASSIGN_OR_RETURN(auto batches, ReadUnit(manifest, unit, columns));
      EXPECT_EQ(batches.size(), manifest->units()[unit].range_count);
      all.insert(all.end(), batches.begin(), batches.end());
    }
    FB_ASSIGN_OR_RETURN(auto schema, ChunkSchema(manifest->schema(), columns));
    auto table = *arrow::Table::FromRecordBatches(schema, all);
    EXPECT_EQ(static_cast<uint64_t>(table->num_rows()), manifest->row_count());
    return *table->CombineChunks();
  }
};

// Same names, types and values; nullability and metadata aside.
inline void ExpectSameRows(const TablePtr& got, const TablePtr& wanted) {
  ASSERT_EQ(got->num_columns(), wanted->num_columns());
  ASSERT_EQ(got->num_rows(), wanted->num_rows());
  for (int i = 0; i < got->num_columns(); ++i) {
    EXPECT_EQ(got->field(i)->name(), wanted->field(i)->name());
    EXPECT_TRUE(got->column(i)->Equals(*wanted->column(i)))
        << got->field(i)->ToString() << "\ngot " << got->column(i)->ToString()
        << "\nwanted " << wanted->field(i)->ToString() << wanted->column(i)->ToString();
  }
}

}  // namespace forebay::table
