// From the names in a filter to fields of a schema.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "table/filter/parse.h"
#include "table/iceberg/types.h"

namespace forebay::table::filter {

// The field and the structs around it, outermost first. Names are exact. A dotted name is
// a path into structs, and also finds a field whose own name has dots. kInvalid, without
// a place: unknown (lists what there is, close names first), or inside a list or map.
Result<std::vector<const iceberg::Field*>> FindColumn(const ColumnName& name,
                                                      const iceberg::Schema& schema);

}  // namespace forebay::table::filter
