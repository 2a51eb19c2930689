// How a manifest says which of its columns come from folder names: two entries in the
// schema's metadata. Values are read again from the objects' URIs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/schema.h"
#include "table/listing.h"

namespace forebay::table {

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
