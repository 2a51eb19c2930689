// The columns a caller asked for, in the order it asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/chunk.h"
#include "model/manifest.h"
#include "reader/column.h"
#include "reader/remote_table.h"

namespace forebay::reader {

struct ColumnChoice {
  model::Projection columns;     // ascending, as the reader wants them
  std::vector<uint32_t> places;  // of the columns in `columns`, in the order asked for

  // nullopt: all columns but hidden ones.
  static Result<ColumnChoice> Make(const model::Schema& schema,
                                   const std::optional<std::vector<std::string>>& names);

  // nullopt: those that the table shows.
  static Result<ColumnChoice> Of(const RemoteTable& table,
                                 const std::optional<std::vector<std::string>>& names);

  // In the order asked for; they are the schema's own.
  std::vector<const model::Field*> Fields(const model::Schema& schema) const;
  // Columns in the order of `columns` → in the order asked for.
  std::vector<Column> Arrange(std::vector<Column> columns) const;
};

}  // namespace forebay::reader
