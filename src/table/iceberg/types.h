// Iceberg's types and schemas as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::table::iceberg {

enum class TypeId : uint8_t {
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kDecimal,
  kDate,
  kTime,
  kTimestamp,
  kTimestampTz,
  kTimestampNs,
  kTimestampTzNs,
  kString,
  kUuid,
  kFixed,
  kBinary,
  kStruct,
  kList,
  kMap,
  kVariant,
  kGeometry,
  kGeography,
  kUnknown,  // known by name; not read yet
};

struct Field;

struct Type {
  TypeId id = TypeId::kUnknown;
  int32_t precision = 0;  // of a decimal
  int32_t scale = 0;
  int32_t length = 0;  // of a fixed
  // Struct: its fields; list: element; map: key, value. (Clang can't initialize a member
  // of an incomplete type, GCC warns at every aggregate that does not say it.)
#ifdef __clang__
  std::vector<Field> fields;
#else
  std::vector<Field> fields{};
#endif

  bool primitive() const { return id < TypeId::kStruct; }
  bool supported() const { return id < TypeId::kVariant; }  // itself, not its fields
  std::string ToString() const;                             // "decimal(9,2)", "list<int>"
  friend bool operator==(const Type&, const Type&);
};

struct Field {
  int32_t id = -1;
  std::string name{};  // "element", "key", "value" inside lists and maps
  bool required = false;
  Type type{};
  std::optional<std::string> initial_default{};  // the JSON text of the single value

  friend bool operator==(const Field&, const Field&) = default;
};

struct Schema {
  int32_t id = 0;
  std::vector<Field> fields{};

  // At any depth.
  const Field* FindById(int32_t field_id) const;
  // Of the top level, exact.
  const Field* FindByName(std::string_view name) const;
};

// "long", "fixed[16]", "decimal(9, 2)", … kUnsupported for a type no version knows.
Result<Type> ParsePrimitive(std::string_view text);

}  // namespace forebay::table::iceberg
