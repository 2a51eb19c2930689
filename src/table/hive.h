// Partition columns from folder names: "…/year=2024/country=Latin%20America/…".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/object.h"
#include "table/listing.h"

namespace forebay::table {

// A value as a folder has it: decoded; empty optional for the name Hive gives to null.
using PartitionValue = std::pair<std::string, std::optional<std::string>>;

// The partition values of an object in the folders between `root` and its own name.
std::vector<PartitionValue> PartitionValues(std::string_view root, std::string_view uri);

// One column per name, in order of first sight. Objects without it have null. int32 when
// every value is one, else int64 when every value is one, else string.
std::vector<PartitionColumn> FindPartitions(std::string_view root,
                                            const std::vector<model::Object>& objects);

}  // namespace forebay::table
