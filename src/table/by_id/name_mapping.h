// A table's name mapping: field ids for files that have none (the property
// schema.name-mapping.default).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "model/schema.h"

namespace forebay::table::by_id {

struct NameMapping {
  int32_t id = -1;  // -1: fields of this name are not read
  std::unordered_map<std::string, NameMapping> fields;

  // nullptr where the mapping says nothing of the name.
  const NameMapping* Find(const std::string& name) const;

  // kInvalid for what is not a mapping.
  static Result<NameMapping> Parse(std::string_view json);
  // Every field under the name it has in the table.
  static NameMapping OfNames(const model::Schema& schema);
};

}  // namespace forebay::table::by_id
