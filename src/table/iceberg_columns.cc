#include "table/iceberg_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/by_id/metadata_columns.h"
#include "table/by_id/table_columns.h"

namespace forebay::table {
namespace {

using iceberg::TypeId;

// Metadata is untrusted; the manifest's own limit is 64.
constexpr int kNestingMax = 60;

std::string Format(const iceberg::Type& type) {
  switch (type.id) {
    case TypeId::kBoolean: return "b";
    case TypeId::kInt: return "i";
    case TypeId::kLong: return "l";
    case TypeId::kFloat: return "f";
    case TypeId::kDouble: return "g";
    case TypeId::kDecimal: return fmt::format("d:{},{}", type.precision, type.scale);
    case TypeId::kDate: return "tdD";
    case TypeId::kTime: return "ttu";
    case TypeId::kTimestamp: return "tsu:";
    case TypeId::kTimestampTz: return "tsu:UTC";
    case TypeId::kTimestampNs: return "tsn:";
    case TypeId::kTimestampTzNs: return "tsn:UTC";
    case TypeId::kString: return "u";
    case TypeId::kUuid: return "w:16";
    case TypeId::kFixed: return fmt::format("w:{}", type.length);
    case TypeId::kBinary: return "z";
    case TypeId::kStruct: return "+s";
    case TypeId::kList: return "+l";
    case TypeId::kMap: return "+m";
    case TypeId::kUnknown: return "n";
    case TypeId::kVariant: return "?variant";
    case TypeId::kGeometry: return "?geometry";
    case TypeId::kGeography: return "?geography";
  }
  return "?unknown";
}

void AddMetadata(const iceberg::Field& from, model::Field* to) {
  to->metadata.emplace_back("PARQUET:field_id", std::to_string(from.id));
  if (from.type.id == TypeId::kUuid) {
    to->metadata.emplace_back("ARROW:extension:name", "arrow.uuid");
    to->metadata.emplace_back("ARROW:extension:metadata", "");
  }
  if (from.initial_default) {
    to->metadata.emplace_back(by_id::kDefaultKey, *from.initial_default);
    if (from.type.primitive()) {
      to->metadata.emplace_back(by_id::kTypeKey, from.type.ToString());
    }
  }
}

Result<model::Field> FromField(const iceberg::Field& field, int depth) {
  if (depth > kNestingMax) {
    return Status::Unsupported(
        fmt::format("column '{}' is nested more than {} deep", field.name, kNestingMax));
  }
  model::Field out{.name = field.name,
                   .format = Format(field.type),
                   .nullable = true,
                   .metadata = {},
                   .children = {},
                   .id = field.id};
  AddMetadata(field, &out);
  if (!field.type.supported()) return out;
  std::vector<model::Field> children;
  for (const iceberg::Field& child : field.type.fields) {
    FB_ASSIGN_OR_RETURN(model::Field made, FromField(child, depth + 1));
    children.push_back(std::move(made));
  }
  if (field.type.id != TypeId::kMap) {
    out.children = std::move(children);
    return out;
  }
  if (!children.empty()) children[0].nullable = false;
  out.children.push_back({.name = "entries",
                          .format = "+s",
                          .nullable = false,
                          .metadata = {},
                          .children = std::move(children)});
  return out;
}

}  // namespace

Result<model::Schema> ManifestSchema(const iceberg::Schema& schema,
                                     std::string_view name_mapping) {
  model::Schema out;
  for (const iceberg::Field& field : schema.fields) {
    FB_ASSIGN_OR_RETURN(model::Field column, FromField(field, 0));
    out.fields.push_back(std::move(column));
  }
  for (const auto& field : by_id::kMetadataFields) {
    if (out.Find(field.name)) continue;
    out.fields.push_back({.name = std::string(field.name),
                          .format = std::string(field.format),
                          .nullable = true,
                          .metadata = {},
                          .children = {},
                          .id = static_cast<int32_t>(field.column),
                          .hidden = true});
  }
  if (!name_mapping.empty()) {
    out.metadata.emplace_back(by_id::kNameMappingKey, name_mapping);
  }
  return out;
}

}  // namespace forebay::table
