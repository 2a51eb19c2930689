#include "table/schema_merge.h"

#include <arrow/extension_type.h>
#include <fmt/format.h>

#include "table/arrow_schema.h"
#include "table/common_type.h"

namespace forebay::table {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

TypePtr PlainOrSame(const TypePtr& type) {
  auto plain = PlainType(type);
  return plain.ok() ? *plain : type;
}

}  // namespace

Status SchemaMerge::Add(const arrow::Schema& schema, const std::string& uri) {
  if (files_ == 0) metadata_ = schema.metadata();
  for (const auto& field : schema.fields()) FB_RETURN_NOT_OK(AddField(*field, uri));
  ++files_;
  return Status::OK();
}

Status SchemaMerge::AddField(const arrow::Field& field, const std::string& uri) {
  auto [it, is_new] = index_.try_emplace(field.name(), columns_.size());
  if (is_new) {
    columns_.push_back(
        {arrow::field(field.name(), field.type(), field.nullable(), field.metadata()),
         uri, 1});
    return Status::OK();
  }
  Column& column = columns_[it->second];
  ++column.files;
  bool nullable = column.field->nullable() || field.nullable();
  if (column.field->type()->Equals(*field.type())) {
    column.field = column.field->WithNullable(nullable);
    return Status::OK();
  }
  TypePtr before = PlainOrSame(column.field->type());
  auto common = CommonType(before, PlainOrSame(field.type()));
  if (!common) {
    return Status::Invalid(fmt::format(
        "column '{}' is {} in {} and {} in {}, and no type holds both: write the files "
        "with one type, or open them apart",
        field.name(), column.field->type()->ToString(), column.uri,
        field.type()->ToString(), uri));
  }
  if (!(*common)->Equals(*before)) column.uri = uri;
  column.field = column.field->WithType(*common)->WithNullable(nullable);
  return Status::OK();
}

std::shared_ptr<arrow::Schema> SchemaMerge::Finish() const {
  arrow::FieldVector fields;
  for (const Column& column : columns_) {
    bool everywhere = column.files == files_;
    fields.push_back(column.field->WithNullable(column.field->nullable() || !everywhere));
  }
  return arrow::schema(std::move(fields), metadata_);
}

}  // namespace forebay::table
