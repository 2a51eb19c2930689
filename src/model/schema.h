// Columns and their types, without Arrow behind them. A type is an Arrow C data interface
// format string ("l", "u", "+l", "tsu:UTC", "w:16", …) plus children.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace forebay::model {

struct Field {
  std::string name;
  std::string format;
  bool nullable = true;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<Field> children;
  // Of an Iceberg field: what it is known by in chunks, whatever its name. -1: none.
  int32_t id = -1;
  bool hidden = false;  // read only when asked for by name: _row_id, _file, …

  friend bool operator==(const Field&, const Field&) = default;
  // Name (or id), format and children: what a chunk's bytes depend on.
  void EncodeType(Encoder& out) const;
  // What the field is called in a chunk: "id7", or its name where it has no id.
  std::string ChunkName() const;
};

struct Schema {
  std::vector<Field> fields;
  std::vector<std::pair<std::string, std::string>> metadata;

  friend bool operator==(const Schema&, const Schema&) = default;
  std::optional<uint32_t> Find(std::string_view name) const;
  std::string Encode() const;
  static Result<Schema> Decode(std::string_view bytes);
};

// Resolves column names to ascending indices. An empty list means all but hidden ones. An
// unknown or doubled name is an error that lists what there is.
Result<std::vector<uint32_t>> Project(const Schema& schema,
                                      const std::vector<std::string>& columns);

// The type as people write it: "int64", "list<float>", "timestamp[us, UTC]".
std::string TypeName(const Field& field);

}  // namespace forebay::model
