// Which snapshot and schema a choice means.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "table/iceberg/calendar.h"
#include "table/iceberg/table_metadata.h"

namespace forebay::table::iceberg {
namespace {

// Messages list this many names at most.
constexpr size_t kListedMax = 20;

class NameList {
 public:
  void Add(std::string_view name) {
    if (count_++ < kListedMax)
      text_ += fmt::format("{}{}", text_.empty() ? "" : ", ", name);
  }
  std::string ToString() const {
    if (count_ == 0) return "none";
    if (count_ <= kListedMax) return text_;
    return fmt::format("{}, and {} more", text_, count_ - kListedMax);
  }

 private:
  std::string text_;
  size_t count_ = 0;
};

std::string SnapshotList(const TableMetadata& metadata) {
  NameList list;
  for (auto it = metadata.snapshots.rbegin(); it != metadata.snapshots.rend(); ++it) {
    list.Add(fmt::to_string(it->id));
  }
  return list.ToString();
}

std::string RefList(const TableMetadata& metadata, bool branches) {
  NameList list;
  for (const auto& [name, ref] : metadata.refs) {
    if (ref.is_branch == branches) list.Add(name);
  }
  return list.ToString();
}

std::string TimeText(int64_t timestamp_ms) {
  return FormatTimestamp(timestamp_ms, 1000) + "Z";
}

Result<TableState> Current(const TableMetadata& metadata) {
  TableState state;
  state.schema = metadata.FindSchema(metadata.current_schema_id);
  if (metadata.current_snapshot_id) {
    state.snapshot = metadata.FindSnapshot(*metadata.current_snapshot_id);
  }
  return state;
}

Result<TableState> WithOwnSchema(const TableMetadata& metadata,
                                 const Snapshot& snapshot) {
  int32_t schema_id = snapshot.schema_id.value_or(metadata.current_schema_id);
  const Schema* schema = metadata.FindSchema(schema_id);
  if (schema == nullptr) {
    return Status::Corrupt(fmt::format(
        "the snapshot's schema is not listed in the table metadata: snapshot-id={} "
        "schema-id={}",
        snapshot.id, schema_id));
  }
  return TableState{.snapshot = &snapshot, .schema = schema};
}

Result<TableState> OfSnapshot(const TableMetadata& metadata, int64_t id) {
  const Snapshot* snapshot = metadata.FindSnapshot(id);
  if (snapshot == nullptr) {
    return Status::NotFound(
        fmt::format("the table has no such snapshot: snapshot={}; it has: {}", id,
                    SnapshotList(metadata)));
  }
  return WithOwnSchema(metadata, *snapshot);
}

Result<TableState> OfRef(const TableMetadata& metadata, const std::string& name,
                         bool branch) {
  const char* kind = branch ? "branch" : "tag";
  auto it = metadata.refs.find(name);
  if (it == metadata.refs.end() && branch && name == "main") return Current(metadata);
  if (it == metadata.refs.end()) {
    return Status::NotFound(fmt::format("the table has no such {}: {}={}; it has: {}",
                                        kind, kind, name, RefList(metadata, branch)));
  }
  if (it->second.is_branch != branch) {
    const char* other = branch ? "tag" : "branch";
    return Status::NotFound(fmt::format(
        "the name belongs to a {}, not to a {}: name={}; give {}=\"{}\" instead", other,
        kind, name, other, name));
  }
  const Snapshot* snapshot = metadata.FindSnapshot(it->second.snapshot_id);
  if (snapshot == nullptr) {
    return Status::Corrupt(fmt::format(
        "the {} points to a snapshot that is not listed: {}={} snapshot-id={}", kind,
        kind, name, it->second.snapshot_id));
  }
  if (!branch) return WithOwnSchema(metadata, *snapshot);
  return TableState{.snapshot = snapshot,
                    .schema = metadata.FindSchema(metadata.current_schema_id)};
}

// The history of what was current, not the snapshots' own times, answers this.
Result<TableState> AsOf(const TableMetadata& metadata, int64_t as_of_ms) {
  if (metadata.snapshot_log.empty()) {
    return Status::NotFound(
        "the table has no history, so as_of can't be answered; choose a "
        "snapshot instead, it has: " +
        SnapshotList(metadata));
  }
  std::optional<int64_t> id;
  int64_t first_ms = INT64_MAX;
  for (const auto& [timestamp_ms, snapshot_id] : metadata.snapshot_log) {
    first_ms = std::min(first_ms, timestamp_ms);
    if (timestamp_ms <= as_of_ms) id = snapshot_id;
  }
  if (!id) {
    return Status::NotFound(
        fmt::format("the table has no snapshot as old as that: as_of={} first={}",
                    TimeText(as_of_ms), TimeText(first_ms)));
  }
  return OfSnapshot(metadata, *id);
}

}  // namespace

Result<TableState> ChooseState(const TableMetadata& metadata,
                               const SnapshotChoice& choice) {
  int chosen = (choice.snapshot ? 1 : 0) + (choice.tag.empty() ? 0 : 1) +
               (choice.branch.empty() ? 0 : 1) + (choice.as_of_ms ? 1 : 0);
  if (chosen > 1) {
    return Status::Invalid("give only one of snapshot, tag, branch and as_of");
  }
  if (choice.snapshot) return OfSnapshot(metadata, *choice.snapshot);
  if (!choice.tag.empty()) return OfRef(metadata, choice.tag, false);
  if (!choice.branch.empty()) return OfRef(metadata, choice.branch, true);
  if (choice.as_of_ms) return AsOf(metadata, *choice.as_of_ms);
  return Current(metadata);
}

}  // namespace forebay::table::iceberg
