#include "table/partition_keys.h"

#include <algorithm>

#include "table/hive.h"

namespace forebay::table {
namespace {

constexpr std::string_view kRoot = "forebay.root";
// One entry per column, in order.
constexpr std::string_view kColumn = "forebay.partition";

}  // namespace

void PutPartitionKeys(const Listing& listing, model::Schema* schema) {
  if (listing.partitions.empty()) return;
  schema->metadata.emplace_back(kRoot, listing.root);
  for (const PartitionColumn& column : listing.partitions) {
    schema->metadata.emplace_back(kColumn, column.name);
  }
}

PartitionKeys::PartitionKeys(const model::Schema& schema) {
  for (const auto& [key, value] : schema.metadata) {
    if (key == kRoot) root_ = value;
    if (key == kColumn) names_.push_back(value);
  }
}

bool PartitionKeys::Has(std::string_view column) const {
  return std::ranges::find(names_, column) != names_.end();
}

std::optional<std::string> PartitionKeys::Value(std::string_view column,
                                                std::string_view uri) const {
  // The deepest folder wins, as when the columns were found.
  std::optional<std::string> found;
  for (auto& [name, value] : PartitionValues(root_, uri)) {
    if (name == column) found = std::move(value);
  }
  return found;
}

}  // namespace forebay::table
