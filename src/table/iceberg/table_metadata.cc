#include "table/iceberg/table_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "table/avro/codec.h"
#include "table/iceberg/json_object.h"
#include "table/iceberg/schema_json.h"

namespace forebay::table::iceberg {
namespace {

constexpr int32_t kFormatVersionMax = 3;
constexpr size_t kMetadataBytesMax = size_t{512} << 20;

// Values of other types, which some writers leave in these maps, become their JSON text.
Result<std::map<std::string, std::string>> TextMap(const JsonObject& parent,
                                                   const char* key) {
  std::map<std::string, std::string> map;
  const Json* json = parent.Find(key);
  if (json == nullptr) return map;
  if (!json->is_object()) return parent.Wrong(key, "an object");
  for (const auto& [name, value] : json->items()) {
    map[name] = value.is_string()
                    ? value.get<std::string>()
                    : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return map;
}

Status ReadSchemas(const JsonObject& root, TableMetadata* table) {
  const Json* schemas = root.Find("schemas");
  FB_ASSIGN_OR_RETURN(auto current, root.OptionalInt("current-schema-id"));
  if (schemas != nullptr && (table->format_version > 1 || current)) {
    if (!schemas->is_array()) return root.Wrong("schemas", "a list");
    if (!current) return root.Missing("current-schema-id");
    for (const Json& json : *schemas) {
      FB_ASSIGN_OR_RETURN(Schema schema, SchemaFromJson(json, 0));
      table->schemas.push_back(std::move(schema));
    }
    table->current_schema_id = *current;
  } else {
    if (table->format_version > 1) return root.Missing("schemas");
    const Json* schema = root.Find("schema");
    if (schema == nullptr) return root.Missing("schema");
    FB_ASSIGN_OR_RETURN(Schema only, SchemaFromJson(*schema, 0));
    table->current_schema_id = only.id;
    table->schemas.push_back(std::move(only));
  }
  if (table->FindSchema(table->current_schema_id) == nullptr) {
    return Status::Corrupt(fmt::format("the current schema is not listed: schema-id={}",
                                       table->current_schema_id));
  }
  return Status::OK();
}

Status ReadSpecs(const JsonObject& root, TableMetadata* table) {
  if (root.Find("partition-specs") == nullptr && table->format_version == 1) {
    const Json* fields = root.Find("partition-spec");
    if (fields == nullptr) return root.Missing("partition-spec");
    PartitionSpec spec;
    FB_ASSIGN_OR_RETURN(spec.fields, SpecFieldsFromJson(*fields));
    table->specs.push_back(std::move(spec));
    return Status::OK();
  }
  FB_ASSIGN_OR_RETURN(const Json* specs, root.Array("partition-specs"));
  for (const Json& json : *specs) {
    FB_ASSIGN_OR_RETURN(PartitionSpec spec, SpecFromJson(json));
    table->specs.push_back(std::move(spec));
  }
  FB_ASSIGN_OR_RETURN(auto default_id, root.OptionalInt("default-spec-id"));
  if (!default_id && table->format_version > 1) return root.Missing("default-spec-id");
  if (default_id && table->FindSpec(*default_id) == nullptr) {
    return Status::Corrupt(
        fmt::format("the default partition spec is not listed: spec-id={}", *default_id));
  }
  return Status::OK();
}

// Tables that were once of version 1 keep snapshots that list their manifests.
Status ReadManifestLocations(const JsonObject& object, Snapshot* snapshot) {
  if (object.Find("manifests") == nullptr || object.Find("manifest-list") != nullptr) {
    FB_ASSIGN_OR_RETURN(snapshot->manifest_list, object.Text("manifest-list"));
    if (snapshot->manifest_list.empty()) return object.Missing("manifest-list");
    return Status::OK();
  }
  FB_ASSIGN_OR_RETURN(const Json* manifests, object.Array("manifests"));
  for (const Json& path : *manifests) {
    if (!path.is_string()) return object.Wrong("manifests", "a list of paths");
    snapshot->manifests.push_back(path.get<std::string>());
  }
  return Status::OK();
}

Result<Snapshot> SnapshotFromJson(const Json& json, int32_t format_version) {
  FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(json, "a snapshot"));
  Snapshot snapshot;
  FB_ASSIGN_OR_RETURN(snapshot.id, object.Id("snapshot-id"));
  FB_ASSIGN_OR_RETURN(snapshot.parent_id, object.OptionalId("parent-snapshot-id"));
  // Those snapshots have no number either.
  FB_ASSIGN_OR_RETURN(auto sequence, object.OptionalLong("sequence-number"));
  snapshot.sequence_number = format_version > 1 ? sequence.value_or(0) : 0;
  FB_ASSIGN_OR_RETURN(snapshot.timestamp_ms, object.Long("timestamp-ms"));
  FB_RETURN_NOT_OK(ReadManifestLocations(object, &snapshot));
  FB_ASSIGN_OR_RETURN(snapshot.schema_id, object.OptionalInt("schema-id"));
  FB_ASSIGN_OR_RETURN(snapshot.first_row_id, object.OptionalLong("first-row-id"));
  FB_ASSIGN_OR_RETURN(snapshot.summary, TextMap(object, "summary"));
  if (object.Find("key-id") != nullptr) {
    return Status::Unsupported(
        fmt::format("encrypted tables are not supported: snapshot-id={}", snapshot.id));
  }
  return snapshot;
}

Status ReadSnapshots(const JsonObject& root, TableMetadata* table) {
  if (root.Find("snapshots") != nullptr) {
    FB_ASSIGN_OR_RETURN(const Json* snapshots, root.Array("snapshots"));
    std::set<int64_t> ids;
    for (const Json& json : *snapshots) {
      FB_ASSIGN_OR_RETURN(Snapshot snapshot,
                          SnapshotFromJson(json, table->format_version));
      if (!ids.insert(snapshot.id).second) {
        return Status::Corrupt(
            fmt::format("two snapshots have the same id: {}", snapshot.id));
      }
      table->snapshots.push_back(std::move(snapshot));
    }
  }
  FB_ASSIGN_OR_RETURN(table->current_snapshot_id, root.OptionalId("current-snapshot-id"));
  if (table->current_snapshot_id == -1) table->current_snapshot_id.reset();
  if (table->current_snapshot_id &&
      table->FindSnapshot(*table->current_snapshot_id) == nullptr) {
    return Status::Corrupt(
        fmt::format("the current snapshot is not listed: snapshot-id={}",
                    *table->current_snapshot_id));
  }
  return Status::OK();
}

Status ReadSnapshotLog(const JsonObject& root, TableMetadata* table) {
  if (root.Find("snapshot-log") == nullptr) return Status::OK();
  FB_ASSIGN_OR_RETURN(const Json* log, root.Array("snapshot-log"));
  for (const Json& json : *log) {
    FB_ASSIGN_OR_RETURN(JsonObject entry, JsonObject::Of(json, "a snapshot log entry"));
    FB_ASSIGN_OR_RETURN(int64_t timestamp, entry.Long("timestamp-ms"));
    FB_ASSIGN_OR_RETURN(int64_t snapshot, entry.Id("snapshot-id"));
    table->snapshot_log.emplace_back(timestamp, snapshot);
  }
  return Status::OK();
}

Status ReadRefs(const JsonObject& root, TableMetadata* table) {
  if (const Json* refs = root.Find("refs")) {
    if (!refs->is_object()) return root.Wrong("refs", "an object");
    for (const auto& [name, json] : refs->items()) {
      FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(json, "a reference"));
      SnapshotRef ref;
      FB_ASSIGN_OR_RETURN(ref.snapshot_id, object.Id("snapshot-id"));
      FB_ASSIGN_OR_RETURN(std::string type, object.Text("type"));
      std::ranges::transform(type, type.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      });
      if (type != "branch" && type != "tag") {
        return object.Wrong("type", "\"branch\" or \"tag\"");
      }
      ref.is_branch = type == "branch";
      table->refs[name] = ref;
    }
  }
  if (table->current_snapshot_id && !table->refs.contains("main")) {
    table->refs["main"] = {.snapshot_id = *table->current_snapshot_id, .is_branch = true};
  }
  return Status::OK();
}

// What a reader has no use for, but a metadata file without is none.
Status CheckRequired(const JsonObject& root, int32_t format_version) {
  FB_RETURN_NOT_OK(root.Long("last-updated-ms").status());
  FB_RETURN_NOT_OK(root.Int("last-column-id").status());
  if (format_version == 1) return Status::OK();
  FB_RETURN_NOT_OK(root.Text("table-uuid").status());
  FB_RETURN_NOT_OK(root.Long("last-sequence-number").status());
  FB_RETURN_NOT_OK(root.Int("last-partition-id").status());
  FB_RETURN_NOT_OK(root.Array("sort-orders").status());
  return root.Int("default-sort-order-id").status();
}

Status CheckNotEncrypted(const JsonObject& root, const TableMetadata& table) {
  const Json* keys = root.Find("encryption-keys");
  if ((keys != nullptr && !keys->empty()) ||
      table.properties.contains("encryption.key-id")) {
    return Status::Unsupported("encrypted tables are not supported");
  }
  return Status::OK();
}

Result<TableMetadata> FromJson(const JsonObject& root) {
  TableMetadata table;
  FB_ASSIGN_OR_RETURN(table.format_version, root.Int("format-version"));
  if (table.format_version > kFormatVersionMax) {
    return Status::Unsupported(
        fmt::format("the table's format version is newer than Forebay reads: "
                    "format-version={} newest={}; update Forebay",
                    table.format_version, kFormatVersionMax));
  }
  if (table.format_version < 1) return root.Wrong("format-version", "1 to 3");
  FB_RETURN_NOT_OK(CheckRequired(root, table.format_version));
  FB_ASSIGN_OR_RETURN(table.location, root.Text("location"));
  if (root.Find("table-uuid") != nullptr) {
    FB_ASSIGN_OR_RETURN(table.uuid, root.Text("table-uuid"));
  }
  FB_ASSIGN_OR_RETURN(table.properties, TextMap(root, "properties"));
  FB_RETURN_NOT_OK(CheckNotEncrypted(root, table));
  FB_RETURN_NOT_OK(ReadSchemas(root, &table));
  FB_RETURN_NOT_OK(ReadSpecs(root, &table));
  FB_RETURN_NOT_OK(ReadSnapshots(root, &table));
  FB_RETURN_NOT_OK(ReadSnapshotLog(root, &table));
  FB_RETURN_NOT_OK(ReadRefs(root, &table));
  return table;
}

avro::Compression CompressionOf(std::string_view bytes) {
  if (bytes.starts_with("\x1f\x8b")) return avro::Compression::kGzip;
  if (bytes.starts_with("\x28\xb5\x2f\xfd")) return avro::Compression::kZstd;
  return avro::Compression::kNone;
}

template <typename T>
const T* FindWithId(const std::vector<T>& items, decltype(T::id) id) {
  auto it = std::ranges::find(items, id, &T::id);
  return it == items.end() ? nullptr : &*it;
}

}  // namespace

const Schema* TableMetadata::FindSchema(int32_t id) const {
  return FindWithId(schemas, id);
}
const PartitionSpec* TableMetadata::FindSpec(int32_t id) const {
  return FindWithId(specs, id);
}
const Snapshot* TableMetadata::FindSnapshot(int64_t id) const {
  return FindWithId(snapshots, id);
}

const Type* TableMetadata::SourceType(int32_t source_id) const {
  if (const Schema* current = FindSchema(current_schema_id)) {
    if (const Field* field = current->FindById(source_id)) return &field->type;
  }
  for (auto it = schemas.rbegin(); it != schemas.rend(); ++it) {
    if (const Field* field = it->FindById(source_id)) return &field->type;
  }
  return nullptr;
}

Result<TableMetadata> ParseTableMetadata(std::string_view bytes) {
  FB_ASSIGN_OR_RETURN(avro::Codec codec, avro::Codec::Make(CompressionOf(bytes)));
  FB_ASSIGN_OR_RETURN(std::string_view text, codec.Decompress(bytes, kMetadataBytesMax));
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("format-version")) {
    return Status::Invalid(
        "not an Iceberg metadata file: it is no JSON object with a format-version");
  }
  FB_ASSIGN_OR_RETURN(JsonObject root, JsonObject::Of(json, "the table metadata"));
  return FromJson(root);
}

}  // namespace forebay::table::iceberg
