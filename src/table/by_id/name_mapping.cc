#include "table/by_id/name_mapping.h"

#include <nlohmann/json.hpp>

namespace forebay::table::by_id {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 64;

Status Malformed() {
  return Status::Invalid(
      "the table's property schema.name-mapping.default is not a name mapping: a list of "
      "objects with 'names', 'field-id' and 'fields'");
}

Status ParseFields(const json& list, int depth, NameMapping* out) {
  if (!list.is_array() || depth > kDepthMax) return Malformed();
  for (const json& entry : list) {
    if (!entry.is_object()) return Malformed();
    NameMapping field;
    auto id = entry.find("field-id");
    if (id != entry.end() && !id->is_null()) {
      if (!id->is_number_integer()) return Malformed();
      field.id = id->get<int32_t>();
    }
    auto nested = entry.find("fields");
    if (nested != entry.end() && !nested->is_null()) {
      FB_RETURN_NOT_OK(ParseFields(*nested, depth + 1, &field));
    }
    auto names = entry.find("names");
    if (names == entry.end() || !names->is_array()) return Malformed();
    for (const json& name : *names) {
      if (!name.is_string()) return Malformed();
      if (!out->fields.emplace(name.get<std::string>(), field).second) {
        return Status::Invalid("the table's name mapping gives the name '" +
                               name.get<std::string>() + "' to two fields");
      }
    }
  }
  return Status::OK();
}

// Lists and maps have their own names for what is inside them, whatever the schema says.
void AddNames(const std::vector<model::Field>& fields, NameMapping* out) {
  for (const model::Field& field : fields) {
    NameMapping mapping;
    mapping.id = field.id;
    if (field.format == "+l" && field.children.size() == 1) {
      model::Field element = field.children[0];
      element.name = "element";
      AddNames({element}, &mapping);
    } else if (field.format == "+m" && field.children.size() == 1) {
      auto entries = field.children[0].children;
      if (entries.size() == 2) {
        entries[0].name = "key";
        entries[1].name = "value";
      }
      AddNames(entries, &mapping);
    } else {
      AddNames(field.children, &mapping);
    }
    out->fields.emplace(field.name, std::move(mapping));
  }
}

}  // namespace

const NameMapping* NameMapping::Find(const std::string& name) const {
  auto found = fields.find(name);
  return found == fields.end() ? nullptr : &found->second;
}

Result<NameMapping> NameMapping::Parse(std::string_view text) {
  json list = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (list.is_discarded()) return Malformed();
  NameMapping root;
  FB_RETURN_NOT_OK(ParseFields(list, 0, &root));
  return root;
}

NameMapping NameMapping::OfNames(const model::Schema& schema) {
  NameMapping root;
  AddNames(schema.fields, &root);
  return root;
}

}  // namespace forebay::table::by_id
