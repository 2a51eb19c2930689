// An Iceberg schema as a manifest's: Arrow types, field ids at every depth, and what data
// files without some of the columns are read with.
#pragma once

#include <string_view>

#include "base/status.h"
#include "model/schema.h"
#include "table/by_id/file_context.h"
#include "table/iceberg/types.h"

namespace forebay::table {

// The property of a table that maps the names of files without ids (by_id::NameMapping).
constexpr std::string_view kNameMappingProperty = "schema.name-mapping.default";

// The schema's columns, then the metadata columns (hidden): _row_id,
// _last_updated_sequence_number, _file, _pos, _spec_id, less those whose name a column
// has. Types that are not read get "?variant" formats and fail only when they are read.
// `name_mapping`: the property's JSON, empty where the table has none.
Result<model::Schema> ManifestSchema(const iceberg::Schema& schema,
                                     std::string_view name_mapping);

}  // namespace forebay::table
