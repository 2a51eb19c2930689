// Which fields of an Avro record are wanted, and in which order they come. Writers differ
// in order, names and optional fields: fields are found by Iceberg's field id where the
// writer gave ids, else by name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "table/avro/schema.h"

namespace forebay::table::iceberg {

enum class Shape : uint8_t { kBoolean, kInteger, kText, kBytes, kRecord, kList, kIdMap };

struct WantedField {
  int32_t id = 0;
  std::string_view name;
  int slot = 0;
  Shape shape = Shape::kInteger;
  bool required = false;
};

inline constexpr int kSkipSlot = -1;

// One field of the record, in the order of its bytes.
struct Step {
  int slot = kSkipSlot;
  int null_branch = -1;                 // see avro::Schema
  const avro::Schema* type = nullptr;   // without the union with null
  const avro::Schema* field = nullptr;  // as written, for skipping
};

// `record` must outlive the steps. kCorrupt: a required field is missing, or a field has
// another shape than wanted.
Result<std::vector<Step>> Project(const avro::Schema& record,
                                  std::span<const WantedField> wanted);

// For Shape::kIdMap: an array of records of a key and a value.
struct MapSteps {
  std::vector<Step> steps;  // slots kKey and kValue
  int64_t item_bytes_min = 0;
  int item_null_branch = -1;
  static constexpr int kKey = 0;
  static constexpr int kValue = 1;
};
Result<MapSteps> ProjectMap(const avro::Schema& array, Shape value_shape);

}  // namespace forebay::table::iceberg
