// One schema for the files of a table: columns by name, missing ones nullable, types
// widened where nothing is lost.
#pragma once

#include <arrow/type.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace forebay::table {

// Both types are plain (PlainType). Nothing where no type holds both; time units widen to
// the finer one, and a value that does not fit it fails when it is read.
std::optional<std::shared_ptr<arrow::DataType>> CommonType(
    const std::shared_ptr<arrow::DataType>& a, const std::shared_ptr<arrow::DataType>& b);

// All of a's fields, then those only b has; shared ones by name with their common type.
std::optional<arrow::FieldVector> CommonFields(const arrow::FieldVector& a,
                                               const arrow::FieldVector& b);

class SchemaMerge {
 public:
  // kInvalid names both files and the column when two types have nothing in common.
  Status Add(const arrow::Schema& schema, const std::string& uri);
  // Columns in order of first sight, in plain types; metadata of the first file. Types
  // that are not read stay as they are.
  std::shared_ptr<arrow::Schema> Finish() const;

 private:
  struct Column {
    std::shared_ptr<arrow::Field> field;
    std::string uri;  // where it got its type from
    size_t files = 0;
  };

  Status AddField(const arrow::Field& field, const std::string& uri);

  std::vector<Column> columns_;
  std::unordered_map<std::string, size_t> index_;
  std::shared_ptr<const arrow::KeyValueMetadata> metadata_;
  size_t files_ = 0;
};

}  // namespace forebay::table
