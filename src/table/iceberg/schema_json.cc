#include "table/iceberg/schema_json.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <utility>

namespace forebay::table::iceberg {
namespace {

constexpr int kDepthMax = 64;
constexpr int32_t kFirstPartitionFieldId = 1000;

class SchemaParser {
 public:
  Result<std::vector<Field>> Fields(const Json& json, int depth) {
    FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(json, "a struct"));
    FB_ASSIGN_OR_RETURN(const Json* items, object.Array("fields"));
    std::vector<Field> fields;
    fields.reserve(items->size());
    std::set<std::string_view> names;
    for (const Json& item : *items) {
      FB_ASSIGN_OR_RETURN(Field field, OneField(item, depth));
      fields.push_back(std::move(field));
      if (!names.insert(fields.back().name).second) {
        return Status::Corrupt(fmt::format("a struct has two fields of the same name: {}",
                                           fields.back().name));
      }
    }
    return fields;
  }

 private:
  Result<Field> OneField(const Json& json, int depth) {
    FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(json, "a schema's field"));
    Field field;
    FB_ASSIGN_OR_RETURN(field.id, Id(object, "id"));
    FB_ASSIGN_OR_RETURN(field.name, object.Text("name"));
    FB_ASSIGN_OR_RETURN(field.required, object.Boolean("required"));
    FB_ASSIGN_OR_RETURN(field.type, TypeOf(object, "type", depth));
    if (const Json* value = object.Find("initial-default")) {
      field.initial_default = value->dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    return field;
  }

  Result<int32_t> Id(const JsonObject& object, const char* key) {
    FB_ASSIGN_OR_RETURN(int32_t id, object.Int(key));
    if (!ids_.insert(id).second) {
      return Status::Corrupt(
          fmt::format("a schema has two fields of the same id: {}", id));
    }
    return id;
  }

  // One level of a list or map: its id, whether it is required, and its type.
  struct Keys {
    const char* id;
    const char* required;  // nullptr: always
    const char* type;
  };
  Result<Field> Inner(const JsonObject& object, const Keys& keys, int depth) {
    Field field;
    field.name = keys.type;
    FB_ASSIGN_OR_RETURN(field.id, Id(object, keys.id));
    field.required = true;
    if (keys.required != nullptr) {
      FB_ASSIGN_OR_RETURN(field.required, object.Boolean(keys.required));
    }
    FB_ASSIGN_OR_RETURN(field.type, TypeOf(object, keys.type, depth));
    return field;
  }

  Result<Type> TypeOf(const JsonObject& parent, const char* key, int depth) {
    const Json* json = parent.Find(key);
    if (json == nullptr) return parent.Missing(key);
    if (depth > kDepthMax) {
      return Status::Unsupported("the schema is nested too deeply: limit=64");
    }
    if (json->is_string()) return ParsePrimitive(json->get<std::string>());
    FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(*json, "a nested type"));
    FB_ASSIGN_OR_RETURN(std::string name, object.Text("type"));
    Type type;
    if (name == "struct") {
      type.id = TypeId::kStruct;
      FB_ASSIGN_OR_RETURN(type.fields, Fields(*json, depth + 1));
    } else if (name == "list") {
      type.id = TypeId::kList;
      Keys keys{"element-id", "element-required", "element"};
      FB_ASSIGN_OR_RETURN(Field element, Inner(object, keys, depth + 1));
      type.fields.push_back(std::move(element));
    } else if (name == "map") {
      type.id = TypeId::kMap;
      Keys keys{"key-id", nullptr, "key"};
      FB_ASSIGN_OR_RETURN(Field map_key, Inner(object, keys, depth + 1));
      type.fields.push_back(std::move(map_key));
      keys = {"value-id", "value-required", "value"};
      FB_ASSIGN_OR_RETURN(Field value, Inner(object, keys, depth + 1));
      type.fields.push_back(std::move(value));
    } else {
      return ParsePrimitive(name);
    }
    return type;
  }

  std::set<int32_t> ids_;
};

Result<PartitionField> PartitionFieldFromJson(const Json& json, int32_t default_id) {
  FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(json, "a partition field"));
  PartitionField field;
  FB_ASSIGN_OR_RETURN(auto field_id, object.OptionalInt("field-id"));
  field.field_id = field_id.value_or(default_id);
  FB_ASSIGN_OR_RETURN(field.name, object.Text("name"));
  FB_ASSIGN_OR_RETURN(std::string transform, object.Text("transform"));
  field.transform = Transform::Parse(transform);
  FB_ASSIGN_OR_RETURN(auto source_id, object.OptionalInt("source-id"));
  if (source_id) {
    field.source_id = *source_id;
    return field;
  }
  // A transform of several columns: nothing prunes by it.
  FB_ASSIGN_OR_RETURN(const Json* sources, object.Array("source-ids"));
  if (sources->size() == 1 && sources->front().is_number_integer()) {
    field.source_id = sources->front().get<int32_t>();
    return field;
  }
  field.source_id = -1;
  field.transform = {.kind = TransformKind::kUnknown};
  return field;
}

}  // namespace

Result<Schema> SchemaFromJson(const Json& json, int32_t default_id) {
  FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(json, "a schema"));
  FB_ASSIGN_OR_RETURN(std::string type, object.Text("type"));
  if (type != "struct") return object.Wrong("type", "\"struct\"");
  Schema schema;
  FB_ASSIGN_OR_RETURN(auto id, object.OptionalInt("schema-id"));
  schema.id = id.value_or(default_id);
  FB_ASSIGN_OR_RETURN(schema.fields, SchemaParser().Fields(json, 0));
  return schema;
}

Result<std::vector<PartitionField>> SpecFieldsFromJson(const Json& json) {
  if (!json.is_array()) return Status::Corrupt("a partition spec is not a list");
  std::vector<PartitionField> fields;
  for (const Json& item : json) {
    int32_t default_id = kFirstPartitionFieldId + static_cast<int32_t>(fields.size());
    FB_ASSIGN_OR_RETURN(PartitionField field, PartitionFieldFromJson(item, default_id));
    fields.push_back(std::move(field));
  }
  return fields;
}

Result<PartitionSpec> SpecFromJson(const Json& json) {
  FB_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Of(json, "a partition spec"));
  PartitionSpec spec;
  FB_ASSIGN_OR_RETURN(spec.id, object.Int("spec-id"));
  FB_ASSIGN_OR_RETURN(const Json* fields, object.Array("fields"));
  FB_ASSIGN_OR_RETURN(spec.fields, SpecFieldsFromJson(*fields));
  return spec;
}

}  // namespace forebay::table::iceberg
