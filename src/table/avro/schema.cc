#include "table/avro/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace forebay::table::avro {
namespace {

using Json = nlohmann::json;

constexpr int kDepthMax = 64;
constexpr int64_t kNodeCountMax = 65'536;
// Values without bytes cost time that the size of the input does not bound.
constexpr int kEmptyFieldCountMax = 256;

std::optional<Kind> PrimitiveKind(std::string_view name) {
  constexpr Kind kPrimitives[] = {Kind::kNull,  Kind::kBoolean, Kind::kInt,
                                  Kind::kLong,  Kind::kFloat,   Kind::kDouble,
                                  Kind::kBytes, Kind::kString};
  for (Kind kind : kPrimitives) {
    if (KindName(kind) == name) return kind;
  }
  return std::nullopt;
}

Logical LogicalOf(std::string_view name) {
  static constexpr std::pair<std::string_view, Logical> kNames[] = {
      {"decimal", Logical::kDecimal},
      {"date", Logical::kDate},
      {"time-millis", Logical::kTimeMillis},
      {"time-micros", Logical::kTimeMicros},
      {"timestamp-millis", Logical::kTimestampMillis},
      {"timestamp-micros", Logical::kTimestampMicros},
      {"timestamp-nanos", Logical::kTimestampNanos},
      {"local-timestamp-millis", Logical::kLocalTimestampMillis},
      {"local-timestamp-micros", Logical::kLocalTimestampMicros},
      {"local-timestamp-nanos", Logical::kLocalTimestampNanos},
      {"uuid", Logical::kUuid},
      {"map", Logical::kMap},
  };
  for (const auto& [text, logical] : kNames) {
    if (text == name) return logical;
  }
  return Logical::kNone;
}

std::string TextOf(const Json& object, const char* key) {
  auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

// -1 where it is absent or no 32-bit integer.
int32_t IdOf(const Json& object, const char* key) {
  auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return -1;
  auto value = it->get<int64_t>();
  return value == static_cast<int32_t>(value) ? static_cast<int32_t>(value) : -1;
}

int64_t BytesMin(const Schema& schema) {
  switch (schema.kind) {
    case Kind::kNull: return 0;
    case Kind::kFloat: return 4;
    case Kind::kDouble: return 8;
    case Kind::kFixed: return schema.size;
    case Kind::kRecord: {
      int64_t sum = 0;
      for (const Field& field : schema.fields) sum += field.type.bytes_min;
      return sum;
    }
    case Kind::kUnion: {
      int64_t least = INT64_MAX;
      for (const Schema& branch : schema.children) {
        least = std::min(least, branch.bytes_min);
      }
      return least + 1;
    }
    default: return 1;
  }
}

class Parser {
 public:
  Result<Schema> Parse(const Json& json, const std::string& space, int depth) {
    if (depth > kDepthMax) {
      return Status::Unsupported("the Avro schema is nested too deeply: limit=64");
    }
    FB_RETURN_NOT_OK(Count(1));
    if (json.is_string()) return Named(json.get<std::string>(), space);
    if (json.is_array()) return Union(json, space, depth);
    if (!json.is_object()) return Bad("a type is neither a name, a list nor an object");
    auto type = json.find("type");
    if (type == json.end()) return Bad("a type has no \"type\"");
    if (!type->is_string()) return Parse(*type, space, depth + 1);
    return Object(json, type->get<std::string>(), space, depth);
  }

 private:
  struct Definition {
    Schema schema;
    int64_t node_count = 0;
  };

  static Status Bad(std::string_view what) {
    return Status::Corrupt(fmt::format("not a valid Avro schema: {}", what));
  }

  Status Count(int64_t nodes) {
    node_count_ += nodes;
    if (node_count_ <= kNodeCountMax) return Status::OK();
    return Status::Unsupported(
        fmt::format("the Avro schema has too many types: limit={}", kNodeCountMax));
  }

  Result<Schema> Named(const std::string& name, const std::string& space) {
    if (auto kind = PrimitiveKind(name)) {
      Schema schema;
      schema.kind = *kind;
      schema.bytes_min = BytesMin(schema);
      return schema;
    }
    for (const std::string& full : {FullName(name, space), name}) {
      if (open_.contains(full)) {
        return Status::Unsupported(fmt::format(
            "the Avro type contains itself, which is not supported: name={}", full));
      }
      auto it = defined_.find(full);
      if (it == defined_.end()) continue;
      FB_RETURN_NOT_OK(Count(it->second.node_count));
      return it->second.schema;
    }
    return Bad(fmt::format("unknown type name \"{}\"", name.substr(0, 100)));
  }

  Result<Schema> Union(const Json& json, const std::string& space, int depth) {
    Schema schema;
    schema.kind = Kind::kUnion;
    if (json.empty()) return Bad("a union has no branches");
    for (const Json& branch : json) {
      if (branch.is_array()) return Bad("a union holds a union");
      FB_ASSIGN_OR_RETURN(Schema child, Parse(branch, space, depth + 1));
      schema.children.push_back(std::move(child));
    }
    schema.bytes_min = BytesMin(schema);
    return schema;
  }

  Result<Schema> Object(const Json& json, const std::string& type,
                        const std::string& space, int depth) {
    Schema schema;
    if (type == "record" || type == "error" || type == "enum" || type == "fixed") {
      return Definable(json, type, space, depth);
    }
    if (type == "array" || type == "map") {
      auto item = json.find(type == "array" ? "items" : "values");
      if (item == json.end()) return Bad(type + " says no type of its items");
      schema.kind = type == "array" ? Kind::kArray : Kind::kMap;
      FB_ASSIGN_OR_RETURN(Schema child, Parse(*item, space, depth + 1));
      schema.children.push_back(std::move(child));
    } else {
      FB_ASSIGN_OR_RETURN(schema, Named(type, space));
    }
    Annotate(json, &schema);
    schema.bytes_min = BytesMin(schema);
    return schema;
  }

  static void Annotate(const Json& json, Schema* schema) {
    Logical logical = LogicalOf(TextOf(json, "logicalType"));
    if (logical != Logical::kNone) schema->logical = logical;
    auto utc = json.find("adjust-to-utc");
    if (utc != json.end() && utc->is_boolean()) schema->adjust_to_utc = utc->get<bool>();
    if (logical == Logical::kDecimal) {
      schema->precision = std::max(IdOf(json, "precision"), 0);
      schema->scale = std::max(IdOf(json, "scale"), 0);
    }
    schema->element_id = IdOf(json, "element-id");
    schema->key_id = IdOf(json, "key-id");
    schema->value_id = IdOf(json, "value-id");
  }

  Result<Schema> Definable(const Json& json, const std::string& type,
                           const std::string& space, int depth) {
    Schema schema;
    std::string name = TextOf(json, "name");
    std::string own_space = json.contains("namespace") ? TextOf(json, "namespace")
                            : name.rfind('.') != name.npos
                                ? name.substr(0, name.rfind('.'))
                                : space;
    schema.name = FullName(name, own_space);
    int64_t before = node_count_;
    if (type == "enum") {
      FB_RETURN_NOT_OK(ReadSymbols(json, &schema));
    } else if (type == "fixed") {
      schema.kind = Kind::kFixed;
      schema.size = IdOf(json, "size");
      if (schema.size < 0) return Bad("a fixed has no size");
    } else {
      bool opened = open_.insert(schema.name).second;
      Status read = ReadFields(json, own_space, depth, &schema);
      if (opened) open_.erase(schema.name);
      FB_RETURN_NOT_OK(read);
    }
    Annotate(json, &schema);
    schema.bytes_min = BytesMin(schema);
    if (!name.empty()) {
      defined_[schema.name] = Definition{schema, node_count_ - before};
    }
    return schema;
  }

  Status ReadSymbols(const Json& json, Schema* schema) {
    schema->kind = Kind::kEnum;
    auto symbols = json.find("symbols");
    if (symbols == json.end() || !symbols->is_array()) return Bad("an enum is empty");
    FB_RETURN_NOT_OK(Count(static_cast<int64_t>(symbols->size())));
    for (const Json& symbol : *symbols) {
      if (!symbol.is_string()) return Bad("an enum's symbol is no text");
      schema->symbols.push_back(symbol.get<std::string>());
    }
    return Status::OK();
  }

  Status ReadFields(const Json& json, const std::string& space, int depth,
                    Schema* schema) {
    schema->kind = Kind::kRecord;
    auto fields = json.find("fields");
    if (fields == json.end() || !fields->is_array()) return Bad("a record has no fields");
    for (const Json& item : *fields) {
      if (!item.is_object() || !item.contains("type")) return Bad("a field has no type");
      Field field;
      field.name = TextOf(item, "name");
      field.id = IdOf(item, "field-id");
      auto type = Parse(item["type"], space, depth + 1);
      if (!type.ok()) return type.status();
      field.type = *std::move(type);
      if (field.type.bytes_min == 0 && ++empty_field_count_ > kEmptyFieldCountMax) {
        return Status::Unsupported("the Avro schema has too many fields without values");
      }
      schema->fields.push_back(std::move(field));
    }
    return Status::OK();
  }

  static std::string FullName(const std::string& name, const std::string& space) {
    if (space.empty() || name.find('.') != name.npos) return name;
    return space + "." + name;
  }

  std::map<std::string, Definition> defined_;
  std::set<std::string> open_;  // records whose fields are being read
  int64_t node_count_ = 0;
  int empty_field_count_ = 0;
};

}  // namespace

std::string_view KindName(Kind kind) {
  constexpr std::string_view kNames[] = {"null",   "boolean", "int",    "long",  "float",
                                         "double", "bytes",   "string", "fixed", "enum",
                                         "array",  "map",     "union",  "record"};
  return kNames[static_cast<size_t>(kind)];
}

int Schema::null_branch() const {
  if (kind != Kind::kUnion || children.size() != 2) return -1;
  for (int branch = 0; branch < 2; ++branch) {
    if (children[branch].kind == Kind::kNull &&
        children[1 - branch].kind != Kind::kNull) {
      return branch;
    }
  }
  return -1;
}

const Schema& Schema::nullable_type() const {
  int branch = null_branch();
  return branch < 0 ? *this : children[1 - branch];
}

Result<Schema> ParseSchema(std::string_view json) {
  Json parsed = Json::parse(json, nullptr, false);
  if (parsed.is_discarded()) {
    return Status::Corrupt("not a valid Avro schema: it is not JSON");
  }
  return Parser().Parse(parsed, "", 0);
}

}  // namespace forebay::table::avro
