// How the columns of an Iceberg table are found in its data files: by field id, from what
// the manifest's schema says and nothing else. Immutable, thread-safe.
#pragma once

#include <arrow/type.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "model/manifest.h"
#include "table/by_id/column_fill.h"
#include "table/by_id/file_context.h"

namespace forebay::table::by_id {

// Metadata keys of the manifest's schema and fields.
constexpr std::string_view kNameMappingKey = "iceberg.name-mapping";
constexpr std::string_view kDefaultKey = "iceberg.initial-default";  // JSON
constexpr std::string_view kTypeKey = "iceberg.type";  // of a field with a default

class TableColumns {
 public:
  // nullptr for a table whose columns have no ids.
  static std::shared_ptr<const TableColumns> Make(const model::Schema& schema);

  // The file's schema with every field named as chunks name it ("id7"). A file without
  // any ids is read by the table's name mapping; where there is none, as Spark does:
  // Parquet by place, ORC and Avro by the names of the table's columns.
  Result<std::shared_ptr<arrow::Schema>> Label(const arrow::Schema& file,
                                               model::FileFormat format) const;

  // What the wanted columns (ChunkSchema) take from elsewhere than the file.
  Result<ColumnFill> FillOf(const FileContext& context,
                            const arrow::Schema& wanted) const;

 private:
  struct Default {
    std::string json;
    std::string type;  // as Iceberg writes it
  };
  TableColumns() = default;
  void AddDefaults(const std::vector<model::Field>& fields);
  Result<std::shared_ptr<arrow::Scalar>> DefaultOf(const arrow::Field& field) const;
  Status AddFill(const arrow::FieldVector& fields, const FileContext& context,
                 ColumnFill* fill) const;

  model::Schema schema_;
  std::string name_mapping_;                           // JSON, or empty
  std::unordered_map<std::string, Default> defaults_;  // by chunk name
};

}  // namespace forebay::table::by_id
