// From a parsed filter and a schema to a bound filter.
#pragma once

#include "base/status.h"
#include "model/schema.h"
#include "table/filter/bound_filter.h"
#include "table/filter/parse.h"
#include "table/iceberg/types.h"

namespace forebay::table::filter {

// Literals become values of their column's type; comparisons that no value can decide
// otherwise are folded. kInvalid points at the place: an unknown column (close names are
// listed first), a literal that does not fit. kUnsupported: a column of a type that
// can't be filtered. In batches the columns are called "id7".
Result<BoundFilter> Bind(const Filter& filter, const iceberg::Schema& schema);

// For tables without field ids: ids are column indices, and columns in batches are called
// by ChunkName(), their name.
Result<BoundFilter> Bind(const Filter& filter, const model::Schema& schema);

// The columns of a plain table as an Iceberg schema. A field's id is its index; fields
// inside others have ids from fields.size() on. uint64 becomes decimal(20,0); what no
// filter can look at becomes kUnknown.
iceberg::Schema FromPlainSchema(const model::Schema& schema);

}  // namespace forebay::table::filter
