#include "table/by_id/table_columns.h"

#include <arrow/api.h>
#include <fmt/format.h>

#include <algorithm>

#include "table/by_id/labels.h"
#include "table/by_id/name_mapping.h"
#include "table/by_id/value_scalar.h"

namespace forebay::table::by_id {
namespace {

using ScalarPtr = std::shared_ptr<arrow::Scalar>;
using Metadata = std::vector<std::pair<std::string, std::string>>;

std::string ValueOf(const Metadata& metadata, std::string_view key) {
  auto found = std::ranges::find(metadata, key, &Metadata::value_type::first);
  return found == metadata.end() ? "" : found->second;
}

}  // namespace

std::shared_ptr<const TableColumns> TableColumns::Make(const model::Schema& schema) {
  bool has_ids =
      std::ranges::any_of(schema.fields, [](const auto& f) { return f.id >= 0; });
  if (!has_ids) return nullptr;
  auto out = std::shared_ptr<TableColumns>(new TableColumns());
  out->schema_ = schema;
  out->name_mapping_ = ValueOf(schema.metadata, kNameMappingKey);
  out->AddDefaults(schema.fields);
  return out;
}

void TableColumns::AddDefaults(const std::vector<model::Field>& fields) {
  for (const model::Field& field : fields) {
    std::string json = ValueOf(field.metadata, kDefaultKey);
    if (!json.empty() && json != "null") {
      defaults_[field.ChunkName()] = {.json = std::move(json),
                                      .type = ValueOf(field.metadata, kTypeKey)};
    }
    AddDefaults(field.children);
  }
}

Result<std::shared_ptr<arrow::Schema>> TableColumns::Label(
    const arrow::Schema& file, model::FileFormat format) const {
  if (HasIds(file)) return LabelByIds(file);
  if (!name_mapping_.empty()) {
    FB_ASSIGN_OR_RETURN(NameMapping mapping, NameMapping::Parse(name_mapping_));
    return LabelByNames(file, mapping);
  }
  if (format == model::FileFormat::kParquet) return LabelByPlace(file);
  return LabelByNames(file, NameMapping::OfNames(schema_));
}

// A struct's default is null or {}: then its fields have theirs.
Result<ScalarPtr> TableColumns::DefaultOf(const arrow::Field& field) const {
  auto found = defaults_.find(field.name());
  if (found == defaults_.end()) return arrow::MakeNullScalar(field.type());
  if (field.type()->id() == arrow::Type::STRUCT) {
    arrow::ScalarVector values;
    for (const auto& child : field.type()->fields()) {
      FB_ASSIGN_OR_RETURN(ScalarPtr value, DefaultOf(*child));
      values.push_back(std::move(value));
    }
    return ScalarPtr(
        std::make_shared<arrow::StructScalar>(std::move(values), field.type()));
  }
  auto scalar = [&]() -> Result<ScalarPtr> {
    FB_ASSIGN_OR_RETURN(auto type, iceberg::ParsePrimitive(found->second.type));
    FB_ASSIGN_OR_RETURN(auto value, iceberg::ValueFromJson(type, found->second.json));
    return ScalarOf(value, field.type());
  }();
  if (scalar.ok()) return scalar;
  return scalar.status().WithContext(
      fmt::format("the default of the field with id {}", field.name().substr(2)));
}

Status TableColumns::AddFill(const arrow::FieldVector& fields, const FileContext& context,
                             ColumnFill* fill) const {
  for (const auto& field : fields) {
    for (const auto& [id, value] : context.constants) {
      if (field->name() != fmt::format("id{}", id)) continue;
      FB_ASSIGN_OR_RETURN(fill->constants[field->name()], ScalarOf(value, field->type()));
    }
    if (defaults_.contains(field->name())) {
      FB_ASSIGN_OR_RETURN(fill->defaults[field->name()], DefaultOf(*field));
    }
    FB_RETURN_NOT_OK(AddFill(field->type()->fields(), context, fill));
  }
  return Status::OK();
}

Result<ColumnFill> TableColumns::FillOf(const FileContext& context,
                                        const arrow::Schema& wanted) const {
  ColumnFill fill;
  FB_RETURN_NOT_OK(AddFill(wanted.fields(), context, &fill));
  return fill;
}

}  // namespace forebay::table::by_id
