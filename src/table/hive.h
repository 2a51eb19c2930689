// Partition columns from folder names: "…/year=2024/country=Latin%20America/…".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/object.h"
#include "model/schema.h"
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

// How a manifest says which of its columns come from folder names: two entries in the
// schema's metadata. Values are read again from the objects' URIs.
void PutPartitionKeys(const Listing& listing, model::Schema* schema);

// Partition columns by name, with an object's value.
class PartitionKeys {
 public:
  explicit PartitionKeys(const model::Schema& schema);

  bool Has(std::string_view column) const;
  std::optional<std::string> Value(std::string_view column, std::string_view uri) const;

 private:
  std::string root_;
  std::vector<std::string> names_;
};

}  // namespace forebay::table
