// A table's metadata file, format versions 1 to 3.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "table/iceberg/transform.h"
#include "table/iceberg/types.h"

namespace forebay::table::iceberg {

struct PartitionField {
  int32_t source_id = 0;
  int32_t field_id = 0;
  std::string name{};
  Transform transform{};
};

struct PartitionSpec {
  int32_t id = 0;
  std::vector<PartitionField> fields{};
};

struct Snapshot {
  int64_t id = 0;
  std::optional<int64_t> parent_id{};
  int64_t sequence_number = 0;  // 0 in version 1
  int64_t timestamp_ms = 0;
  std::string manifest_list{};  // empty: `manifests` lists them (version 1)
  std::vector<std::string> manifests{};
  std::optional<int32_t> schema_id{};
  std::optional<int64_t> first_row_id{};         // version 3
  std::map<std::string, std::string> summary{};  // "total-records", …
};

struct SnapshotRef {
  int64_t snapshot_id = 0;
  bool is_branch = false;  // else a tag
};

struct TableMetadata {
  int32_t format_version = 0;
  std::string uuid{};
  std::string location{};
  int32_t current_schema_id = 0;
  std::vector<Schema> schemas{};
  std::vector<PartitionSpec> specs{};
  std::optional<int64_t> current_snapshot_id{};
  std::vector<Snapshot> snapshots{};
  std::vector<std::pair<int64_t, int64_t>> snapshot_log{};  // (timestamp in ms, snapshot)
  std::map<std::string, SnapshotRef> refs{};
  std::map<std::string, std::string> properties{};

  const Schema* FindSchema(int32_t id) const;
  const PartitionSpec* FindSpec(int32_t id) const;
  const Snapshot* FindSnapshot(int64_t id) const;
  // Of a partition field's source column: in the current schema, else in the newest that
  // has it (the column may be dropped since). nullptr: in none.
  const Type* SourceType(int32_t source_id) const;
};

// The text of a metadata file; gzip is recognised by its first bytes, whatever the name.
// kInvalid: not a metadata file. kCorrupt: one that does not add up. kUnsupported: a
// newer format version, an encrypted table.
Result<TableMetadata> ParseTableMetadata(std::string_view bytes);

// Which state of the table to read; at most one is set.
struct SnapshotChoice {
  std::optional<int64_t> snapshot{};
  std::string tag{};
  std::string branch{};
  std::optional<int64_t> as_of_ms{};
};

struct TableState {
  const Snapshot* snapshot = nullptr;  // nullptr: a table without snapshots, no rows
  const Schema* schema = nullptr;      // a snapshot's or tag's own; a branch: the current
};

// Unknown names and times before the first snapshot are kNotFound and list what exists.
Result<TableState> ChooseState(const TableMetadata& metadata,
                               const SnapshotChoice& choice);

}  // namespace forebay::table::iceberg
