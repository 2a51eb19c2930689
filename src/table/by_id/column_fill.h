// What stands in for columns that a file does not have, or that have one value in it.
#pragma once

#include <arrow/scalar.h>

#include <memory>
#include <string>
#include <unordered_map>

namespace forebay::table::by_id {

// By what the field is called in a chunk ("id7"), at any depth.
struct ColumnFill {
  using Scalars = std::unordered_map<std::string, std::shared_ptr<arrow::Scalar>>;
  Scalars constants;  // whatever the file holds
  Scalars defaults;   // where the file holds nothing

  static std::shared_ptr<arrow::Scalar> Find(const Scalars& scalars,
                                             const std::string& name) {
    auto found = scalars.find(name);
    return found == scalars.end() ? nullptr : found->second;
  }
};

}  // namespace forebay::table::by_id
