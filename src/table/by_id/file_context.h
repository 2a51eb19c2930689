// What a table knows of a data file besides its bytes; kept in the manifest's objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "table/iceberg/data_file.h"
#include "table/iceberg/table_metadata.h"
#include "table/iceberg/value.h"

namespace forebay::table::by_id {

struct FileContext {
  std::string path;  // as the Iceberg manifest has it
  int32_t spec_id = 0;
  int64_t sequence_number = 0;
  std::optional<int64_t> first_row_id{};
  // Columns that have one value in the whole file, by field id: identity partitions.
  std::vector<std::pair<int32_t, iceberg::Value>> constants{};

  friend bool operator==(const FileContext&, const FileContext&) = default;
  std::string Encode() const;
  static Result<FileContext> Decode(std::string_view bytes);
};

// `schema`: the one that is read. kCorrupt for a file whose spec or partition the table
// does not know.
Result<FileContext> ContextOf(const iceberg::TableMetadata& metadata,
                              const iceberg::Schema& schema,
                              const iceberg::DataFile& file);

}  // namespace forebay::table::by_id
