#include "table/arrow_schema.h"

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/c/helpers.h>
#include <arrow/extension_type.h>
#include <fmt/format.h>

#include <cstring>

#include "base/arrow_status.h"

namespace forebay::table {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

Result<std::shared_ptr<arrow::Field>> PlainChild(const arrow::Field& field) {
  FB_ASSIGN_OR_RETURN(TypePtr type, PlainType(field.type()));
  return arrow::field(field.name(), std::move(type), field.nullable());
}

Result<TypePtr> PlainMap(const arrow::MapType& type) {
  FB_ASSIGN_OR_RETURN(auto key, PlainChild(*type.key_field()));
  FB_ASSIGN_OR_RETURN(auto item, PlainChild(*type.item_field()));
  return TypePtr(std::make_shared<arrow::MapType>(key->WithNullable(false), item));
}

Result<TypePtr> PlainStruct(const arrow::StructType& type) {
  arrow::FieldVector fields;
  for (const auto& field : type.fields()) {
    FB_ASSIGN_OR_RETURN(auto plain, PlainChild(*field));
    fields.push_back(std::move(plain));
  }
  return TypePtr(arrow::struct_(fields));
}

// Structure, names and types; nothing a chunk's key leaves out.
TypePtr AllNullable(const TypePtr& type);

std::shared_ptr<arrow::Field> AllNullable(const arrow::Field& field) {
  return arrow::field(field.name(), AllNullable(field.type()));
}

TypePtr AllNullable(const TypePtr& type) {
  switch (type->id()) {
    case arrow::Type::LIST: return arrow::list(AllNullable(*type->field(0)));
    case arrow::Type::LARGE_LIST: return arrow::large_list(AllNullable(*type->field(0)));
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListType&>(*type);
      return arrow::fixed_size_list(AllNullable(*list.value_field()), list.list_size());
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapType&>(*type);
      return std::make_shared<arrow::MapType>(
          AllNullable(*map.key_field())->WithNullable(false),
          AllNullable(*map.item_field()));
    }
    case arrow::Type::STRUCT: {
      arrow::FieldVector fields;
      for (const auto& field : type->fields()) fields.push_back(AllNullable(*field));
      return arrow::struct_(fields);
    }
    default: return type;
  }
}

std::vector<std::pair<std::string, std::string>> Pairs(
    const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) {
  if (metadata == nullptr) return {};
  return metadata->sorted_pairs();
}

// An extension type loaded by Arrow moves its name out of the metadata; this puts it
// back.
std::shared_ptr<arrow::Field> WithExtensionNames(const arrow::Field& field) {
  auto out = field.RemoveMetadata();
  auto metadata =
      field.metadata() ? field.metadata()->Copy() : arrow::key_value_metadata({});
  if (field.type()->id() == arrow::Type::EXTENSION) {
    const auto& type = static_cast<const arrow::ExtensionType&>(*field.type());
    (void)metadata->Set("ARROW:extension:name", type.extension_name());
    (void)metadata->Set("ARROW:extension:metadata", type.Serialize());
  }
  (void)metadata->Delete("PARQUET:field_id");
  return out->WithMetadata(metadata);
}

model::Field FromCStruct(const ArrowSchema& schema) {
  model::Field field;
  field.name = schema.name == nullptr ? "" : schema.name;
  field.format = schema.format;
  field.nullable = (schema.flags & ARROW_FLAG_NULLABLE) != 0;
  for (int64_t i = 0; i < schema.n_children; ++i) {
    field.children.push_back(FromCStruct(*schema.children[i]));
  }
  return field;
}

// Owns the C structs of a field and its children; Arrow only borrows them.
struct CField {
  explicit CField(const model::Field& field) {
    std::memset(&schema, 0, sizeof(schema));
    schema.format = field.format.c_str();
    schema.name = field.name.c_str();
    schema.flags = field.nullable ? ARROW_FLAG_NULLABLE : 0;
    for (const model::Field& child : field.children) {
      children.push_back(std::make_unique<CField>(child));
      pointers.push_back(&children.back()->schema);
    }
    schema.n_children = static_cast<int64_t>(pointers.size());
    schema.children = pointers.empty() ? nullptr : pointers.data();
    schema.release = [](ArrowSchema* s) { s->release = nullptr; };
  }
  ArrowSchema schema;
  std::vector<std::unique_ptr<CField>> children;
  std::vector<ArrowSchema*> pointers;
};

Status CheckFormats(const model::Field& field, const std::string& column) {
  if (field.format.starts_with('?')) {
    return Status::Unsupported(
        fmt::format("column '{}' has type {}, which Forebay does not read: leave it out "
                    "of the columns you ask for",
                    column, field.format.substr(1)));
  }
  for (const model::Field& child : field.children) {
    FB_RETURN_NOT_OK(CheckFormats(child, column));
  }
  return Status::OK();
}

// The field under the names that it and its children have in chunks.
model::Field InChunks(const model::Field& field) {
  model::Field out{.name = field.ChunkName(),
                   .format = field.format,
                   .nullable = field.nullable,
                   .metadata = {},
                   .children = {}};
  for (const model::Field& child : field.children) {
    out.children.push_back(InChunks(child));
  }
  return out;
}

}  // namespace

Result<TypePtr> PlainType(const TypePtr& type) {
  switch (type->id()) {
    case arrow::Type::DICTIONARY:
      return PlainType(static_cast<const arrow::DictionaryType&>(*type).value_type());
    case arrow::Type::RUN_END_ENCODED:
      return PlainType(static_cast<const arrow::RunEndEncodedType&>(*type).value_type());
    case arrow::Type::EXTENSION:
      return PlainType(static_cast<const arrow::ExtensionType&>(*type).storage_type());
    case arrow::Type::STRING_VIEW: return arrow::utf8();
    case arrow::Type::BINARY_VIEW: return arrow::binary();
    case arrow::Type::LIST:
    case arrow::Type::LIST_VIEW: {
      FB_ASSIGN_OR_RETURN(auto child, PlainChild(*type->field(0)));
      return TypePtr(arrow::list(child));
    }
    case arrow::Type::LARGE_LIST:
    case arrow::Type::LARGE_LIST_VIEW: {
      FB_ASSIGN_OR_RETURN(auto child, PlainChild(*type->field(0)));
      return TypePtr(arrow::large_list(child));
    }
    case arrow::Type::FIXED_SIZE_LIST: {
      FB_ASSIGN_OR_RETURN(auto child, PlainChild(*type->field(0)));
      auto size = static_cast<const arrow::FixedSizeListType&>(*type).list_size();
      return TypePtr(arrow::fixed_size_list(child, size));
    }
    case arrow::Type::MAP: return PlainMap(static_cast<const arrow::MapType&>(*type));
    case arrow::Type::STRUCT:
      return PlainStruct(static_cast<const arrow::StructType&>(*type));
    case arrow::Type::SPARSE_UNION:
    case arrow::Type::DENSE_UNION: return Status::Unsupported("unions are not read");
    default: return type;
  }
}

Result<model::Field> FromArrowField(const arrow::Field& field) {
  auto named = WithExtensionNames(field);
  model::Field out;
  auto plain = PlainType(field.type());
  if (plain.ok()) {
    ArrowSchema c_schema;
    FB_RETURN_NOT_OK(FromArrow(arrow::ExportType(**plain, &c_schema)));
    out = FromCStruct(c_schema);
    ArrowSchemaRelease(&c_schema);
  } else {
    out.format = "?" + field.type()->ToString();
  }
  out.name = field.name();
  out.nullable = field.nullable();
  out.metadata = Pairs(named->metadata());
  return out;
}

Result<model::Schema> FromArrowSchema(const arrow::Schema& schema) {
  model::Schema out;
  for (const auto& field : schema.fields()) {
    FB_ASSIGN_OR_RETURN(model::Field column, FromArrowField(*field));
    out.fields.push_back(std::move(column));
  }
  for (auto& pair : Pairs(schema.metadata())) {
    if (pair.first != "ARROW:schema") out.metadata.push_back(std::move(pair));
  }
  return out;
}

Result<std::shared_ptr<arrow::Field>> ToArrowField(const model::Field& field) {
  FB_RETURN_NOT_OK(CheckFormats(field, field.name));
  CField c_field(field);
  FB_ASSIGN_OR_RETURN(auto out, FromArrow(arrow::ImportField(&c_field.schema)));
  if (field.metadata.empty()) return out;
  std::vector<std::string> keys, values;
  for (const auto& [key, value] : field.metadata) {
    keys.push_back(key);
    values.push_back(value);
  }
  return out->WithMetadata(arrow::key_value_metadata(keys, values));
}

Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const model::Schema& schema) {
  arrow::FieldVector fields;
  for (const model::Field& field : schema.fields) {
    FB_ASSIGN_OR_RETURN(auto out, ToArrowField(field));
    fields.push_back(std::move(out));
  }
  return arrow::schema(std::move(fields));
}

Result<std::shared_ptr<arrow::Schema>> ChunkSchema(const model::Schema& schema,
                                                   const model::Projection& columns) {
  arrow::FieldVector fields;
  for (uint32_t column : columns) {
    if (column >= schema.fields.size()) {
      return Status::Invalid(fmt::format("there is no column number {}", column));
    }
    const model::Field& from = schema.fields[column];
    FB_RETURN_NOT_OK(CheckFormats(from, from.name));
    FB_ASSIGN_OR_RETURN(auto field, ToArrowField(InChunks(from)));
    fields.push_back(AllNullable(*field));
  }
  return arrow::schema(std::move(fields));
}

}  // namespace forebay::table
