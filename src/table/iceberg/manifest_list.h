// A snapshot's list of manifests: an Avro file.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "table/iceberg/data_file.h"

namespace forebay::table::iceberg {

// The bytes of a manifest list of any format version; what version 1 does not say has
// the values that the specification gives.
Result<std::vector<ManifestFile>> ParseManifestList(std::string_view bytes);

}  // namespace forebay::table::iceberg
