// An Avro schema as a plain tree, with the attributes that Iceberg adds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::table::avro {

enum class Kind : uint8_t {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kFixed,
  kEnum,
  kArray,
  kMap,
  kUnion,
  kRecord,
};

enum class Logical : uint8_t {
  kNone,  // or one that is not listed here: the plain type then
  kDecimal,
  kDate,
  kTimeMillis,
  kTimeMicros,
  kTimestampMillis,
  kTimestampMicros,
  kTimestampNanos,
  kLocalTimestampMillis,
  kLocalTimestampMicros,
  kLocalTimestampNanos,
  kUuid,
  kMap,  // of an array whose items are records of a key and a value
};

struct Field;

struct Schema {
  Kind kind = Kind::kNull;
  Logical logical = Logical::kNone;
  bool adjust_to_utc = false;  // of a timestamp
  int32_t precision = 0;       // of a decimal
  int32_t scale = 0;
  int64_t size = 0;         // of a fixed
  int64_t bytes_min = 0;    // the shortest encoding of a value
  int32_t element_id = -1;  // Iceberg's field ids; -1: not said
  int32_t key_id = -1;
  int32_t value_id = -1;
  std::string name;                  // of a record, enum or fixed, with its namespace
  std::vector<std::string> symbols;  // of an enum
  std::vector<Field> fields;         // of a record
  std::vector<Schema> children;      // array: items; map: values; union: branches

  // For a union of null and one other type: the branch of null (0 or 1), and the other
  // type. -1 otherwise; nullable_type() is the schema itself then.
  int null_branch() const;
  const Schema& nullable_type() const;
};

struct Field {
  std::string name;
  int32_t id = -1;  // "field-id"
  Schema type;
};

// The JSON text of a schema. Named references are expanded, so types that contain
// themselves are kUnsupported; so are trees of more than 64 levels or 65,536 nodes.
// kCorrupt: not a schema.
Result<Schema> ParseSchema(std::string_view json);

std::string_view KindName(Kind kind);

}  // namespace forebay::table::avro
