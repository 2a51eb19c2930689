// Schemas, partition specs and their fields as JSON has them.
#pragma once

#include <vector>

#include "base/status.h"
#include "table/iceberg/json_object.h"
#include "table/iceberg/table_metadata.h"
#include "table/iceberg/types.h"

namespace forebay::table::iceberg {

// `default_id`: where the JSON has no schema-id (version 1).
Result<Schema> SchemaFromJson(const Json& json, int32_t default_id);

// A full spec object.
Result<PartitionSpec> SpecFromJson(const Json& json);
// Only the list of fields, as version 1 and manifests have it. Field ids that are not
// said are counted from 1000.
Result<std::vector<PartitionField>> SpecFieldsFromJson(const Json& json);

}  // namespace forebay::table::iceberg
