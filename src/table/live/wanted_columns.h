// Which columns have to be looked at to tell a file's live rows.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "model/schema.h"
#include "table/iceberg/table_metadata.h"
#include "table/live/key_columns.h"

namespace forebay::table::live {

// Fields by id, at any depth: those of the schema that is read, then those of the table's
// other schemas, newest first, since deletes may go by columns that were dropped.
class KnownFields {
 public:
  // `metadata` may be nullptr: a plain table.
  static Result<KnownFields> Make(model::Schema schema,
                                  const iceberg::TableMetadata* metadata);

  const model::Schema& schema() const { return schemas_[0]; }
  // The field inside the structs around it, and nothing beside it there. kCorrupt for an
  // id that the table never had, kUnsupported for one inside a list or map.
  Result<model::Field> FindAlone(int32_t id, ChunkPath* path) const;

 private:
  std::vector<model::Schema> schemas_;
};

// Adds a column to others; structs that are there already get the fields they lack.
void AddColumn(const model::Field& column, std::vector<model::Field>* columns);

}  // namespace forebay::table::live
