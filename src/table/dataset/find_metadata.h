// Which file holds the metadata of an Iceberg table that is given by its folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "source/source.h"

namespace forebay::table {

// ".metadata.json", also with gzip, before or after it.
bool IsMetadataName(std::string_view uri);

// The table's current metadata file: the one that metadata/version-hint.text names, or a
// later one of that series; else the newest. Nothing where the folder is no Iceberg
// table.
Result<std::optional<std::string>> FindMetadata(source::Source& source,
                                                const std::string& folder,
                                                Deadline deadline);

// A whole small object, at most `max_bytes` of it: more is kCorrupt.
Result<std::string> ReadWhole(source::Source& source, const std::string& uri,
                              int64_t max_bytes, Deadline deadline);

}  // namespace forebay::table
