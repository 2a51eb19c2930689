#include "table/by_id/labels.h"

#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace forebay::table::by_id {
namespace {

using arrow::Type;
using FieldPtr = std::shared_ptr<arrow::Field>;
using TypePtr = std::shared_ptr<arrow::DataType>;

int32_t OwnId(const arrow::Field& field) {
  if (field.metadata() == nullptr) return -1;
  for (const char* key : {"PARQUET:field_id", "iceberg.id"}) {
    int at = field.metadata()->FindKey(key);
    if (at < 0) continue;
    const std::string& text = field.metadata()->value(at);
    int32_t id = -1;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error == std::errc() && end == text.data() + text.size() && id >= 0) return id;
  }
  return -1;
}

bool HasIds(const arrow::Field& field) {
  if (OwnId(field) >= 0) return true;
  return std::ranges::any_of(field.type()->fields(),
                             [](const FieldPtr& f) { return HasIds(*f); });
}

// Where a field's id comes from: itself, or what the mapping says of its name.
class Labeler {
 public:
  Labeler() = default;
  explicit Labeler(const NameMapping* mapping) : mapping_(mapping), by_name_(true) {}

  Result<FieldPtr> Label(const arrow::Field& field, const std::string& name) const {
    const NameMapping* found = mapping_ == nullptr ? nullptr : mapping_->Find(name);
    int32_t id = by_name_ ? (found == nullptr ? -1 : found->id) : OwnId(field);
    Labeler inner = by_name_ ? Labeler(found) : Labeler();
    FB_ASSIGN_OR_RETURN(TypePtr type, inner.LabelType(field.type()));
    return arrow::field(id < 0 ? "no id: " + field.name() : fmt::format("id{}", id),
                        std::move(type), field.nullable());
  }

  Result<arrow::FieldVector> LabelAll(const arrow::FieldVector& fields) const {
    arrow::FieldVector out;
    std::unordered_set<std::string> ids;
    for (const FieldPtr& field : fields) {
      FB_ASSIGN_OR_RETURN(FieldPtr label, Label(*field, field->name()));
      if (label->name().starts_with("id") && !ids.insert(label->name()).second) {
        return Status::Corrupt(
            fmt::format("two of its columns have field id {}, one is '{}'",
                        label->name().substr(2), field->name()));
      }
      out.push_back(std::move(label));
    }
    return out;
  }

 private:
  Result<TypePtr> LabelType(const TypePtr& type) const;
  Result<TypePtr> LabelMap(const arrow::MapType& type) const {
    FB_ASSIGN_OR_RETURN(FieldPtr key, Label(*type.key_field(), "key"));
    FB_ASSIGN_OR_RETURN(FieldPtr item, Label(*type.item_field(), "value"));
    return TypePtr(std::make_shared<arrow::MapType>(key->WithNullable(false), item,
                                                    type.keys_sorted()));
  }

  const NameMapping* mapping_ = nullptr;
  bool by_name_ = false;
};

Result<TypePtr> Labeler::LabelType(const TypePtr& type) const {
  if (type->num_fields() == 0) return type;
  if (type->id() == Type::STRUCT) {
    FB_ASSIGN_OR_RETURN(auto fields, LabelAll(type->fields()));
    return TypePtr(arrow::struct_(fields));
  }
  if (type->id() == Type::MAP) {
    return LabelMap(static_cast<const arrow::MapType&>(*type));
  }
  if (type->num_fields() != 1) return type;
  FB_ASSIGN_OR_RETURN(FieldPtr element, Label(*type->field(0), "element"));
  switch (type->id()) {
    case Type::LIST: return TypePtr(arrow::list(element));
    case Type::LARGE_LIST: return TypePtr(arrow::large_list(element));
    case Type::LIST_VIEW: return TypePtr(arrow::list_view(element));
    case Type::LARGE_LIST_VIEW: return TypePtr(arrow::large_list_view(element));
    case Type::FIXED_SIZE_LIST: {
      auto size = static_cast<const arrow::FixedSizeListType&>(*type).list_size();
      return TypePtr(arrow::fixed_size_list(element, size));
    }
    default: return type;
  }
}

}  // namespace

bool HasIds(const arrow::Schema& file) {
  return std::ranges::any_of(file.fields(), [](const FieldPtr& f) { return HasIds(*f); });
}

Result<std::shared_ptr<arrow::Schema>> LabelByIds(const arrow::Schema& file) {
  FB_ASSIGN_OR_RETURN(auto fields, Labeler().LabelAll(file.fields()));
  return arrow::schema(std::move(fields));
}

Result<std::shared_ptr<arrow::Schema>> LabelByNames(const arrow::Schema& file,
                                                    const NameMapping& mapping) {
  FB_ASSIGN_OR_RETURN(auto fields, Labeler(&mapping).LabelAll(file.fields()));
  return arrow::schema(std::move(fields));
}

Result<std::shared_ptr<arrow::Schema>> LabelByPlace(const arrow::Schema& file) {
  FB_ASSIGN_OR_RETURN(auto fields, Labeler(nullptr).LabelAll(file.fields()));
  for (size_t i = 0; i < fields.size(); ++i) {
    fields[i] = fields[i]->WithName(fmt::format("id{}", i + 1));
  }
  return arrow::schema(std::move(fields));
}

arrow::Result<std::shared_ptr<arrow::ArrayData>> Relabel(
    const std::shared_ptr<arrow::ArrayData>& data, const TypePtr& type) {
  if (data->type->id() != type->id()) {
    return arrow::Status::SerializationError("a column is ", data->type->ToString(),
                                             " where the footer says ", type->ToString());
  }
  if (type->num_fields() == 0 ||
      data->child_data.size() != static_cast<size_t>(type->num_fields())) {
    return data;
  }
  auto out = data->Copy();
  out->type = type;
  for (int i = 0; i < type->num_fields(); ++i) {
    ARROW_ASSIGN_OR_RAISE(out->child_data[i],
                          Relabel(data->child_data[i], type->field(i)->type()));
  }
  return out;
}

}  // namespace forebay::table::by_id
