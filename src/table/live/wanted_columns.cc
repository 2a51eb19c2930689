#include "table/live/wanted_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "table/iceberg_columns.h"

namespace forebay::table::live {
namespace {

// The way from one of `fields` down to the id; empty where it is not there.
std::vector<const model::Field*> FindPath(const std::vector<model::Field>& fields,
                                          int32_t id) {
  for (const model::Field& field : fields) {
    if (field.id == id) return {&field};
    auto below = FindPath(field.children, id);
    if (below.empty()) continue;
    below.insert(below.begin(), &field);
    return below;
  }
  return {};
}

}  // namespace

Result<KnownFields> KnownFields::Make(model::Schema schema,
                                      const iceberg::TableMetadata* metadata) {
  KnownFields known;
  known.schemas_.push_back(std::move(schema));
  if (metadata == nullptr) return known;
  for (size_t i = metadata->schemas.size(); i > 0; --i) {
    FB_ASSIGN_OR_RETURN(auto other, ManifestSchema(metadata->schemas[i - 1], ""));
    known.schemas_.push_back(std::move(other));
  }
  return known;
}

Result<model::Field> KnownFields::FindAlone(int32_t id, ChunkPath* path) const {
  for (const model::Schema& schema : schemas_) {
    auto found = FindPath(schema.fields, id);
    if (found.empty()) continue;
    path->clear();
    std::optional<model::Field> alone;
    for (size_t i = found.size(); i > 0; --i) {
      model::Field field = *found[i - 1];
      if (alone) {
        if (field.format != "+s") {
          return Status::Unsupported(
              fmt::format("deletes by the field with id {} inside '{}' are not read", id,
                          field.name));
        }
        field.children = {*std::move(alone)};
      }
      path->insert(path->begin(), field.ChunkName());
      alone = std::move(field);
    }
    return *std::move(alone);
  }
  return Status::Corrupt(fmt::format(
      "a delete file goes by the field with id {}, which no schema of the table has",
      id));
}

void AddColumn(const model::Field& column, std::vector<model::Field>* columns) {
  auto found = std::ranges::find_if(*columns, [&](const model::Field& field) {
    return field.ChunkName() == column.ChunkName();
  });
  if (found == columns->end()) {
    columns->push_back(column);
    return;
  }
  if (found->format != "+s") return;
  for (const model::Field& child : column.children) AddColumn(child, &found->children);
}

}  // namespace forebay::table::live
