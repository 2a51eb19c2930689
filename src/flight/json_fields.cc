#include "flight/json_fields.h"

#include <fmt/format.h>

namespace forebay::flight {

using nlohmann::json;

JsonFields::JsonFields(const json& object, std::string what)
    : object_(object), what_(std::move(what)) {
  if (!object.is_object()) Fail(fmt::format("{} is not a JSON object", what_));
}

bool JsonFields::Has(const char* name) const {
  return object_.is_object() && object_.contains(name);
}

const json* JsonFields::Take(const char* name) {
  if (!status_.ok() || !Has(name)) return nullptr;
  taken_.insert(name);
  return &object_[name];
}

void JsonFields::Number(const char* name, uint64_t* out) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_number_unsigned()) return Mistyped(name, "a whole number of 0 or more");
  *out = value->get<uint64_t>();
}

void JsonFields::Text(const char* name, std::string* out) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
    return Mistyped(name, "a text that is not empty");
  }
  *out = value->get<std::string>();
}

void JsonFields::Bool(const char* name, bool* out) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_boolean()) return Mistyped(name, "true or false");
  *out = value->get<bool>();
}

void JsonFields::Hash(const char* name, std::optional<Hash128>* out) {
  std::string text;
  Text(name, &text);
  if (text.empty()) return;
  *out = Hash128::FromHex(text);
  if (!*out) Mistyped(name, "32 hexadecimal digits");
}

void JsonFields::Texts(const char* name, std::optional<std::vector<std::string>>* out) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_array()) return Mistyped(name, "a list of texts");
  out->emplace();
  for (const json& item : *value) {
    if (!item.is_string()) return Mistyped(name, "a list of texts");
    (*out)->push_back(item.get<std::string>());
  }
}

void JsonFields::TextMap(const char* name, std::map<std::string, std::string>* out) {
  const json* value = Take(name);
  if (value == nullptr) return;
  if (!value->is_object()) return Mistyped(name, "an object of texts");
  for (const auto& [key, item] : value->items()) {
    if (!item.is_string()) return Mistyped(name, "an object of texts");
    (*out)[key] = item.get<std::string>();
  }
}

void JsonFields::Fail(std::string sentence) {
  if (status_.ok()) status_ = Status::Invalid(std::move(sentence));
}

void JsonFields::Mistyped(const char* name, const char* wanted) {
  Fail(fmt::format("\"{}\" of {} is not {}", name, what_, wanted));
}

Status JsonFields::Finish() {
  if (!status_.ok()) return status_;
  for (const auto& [name, value] : object_.items()) {
    if (taken_.contains(name)) continue;
    Fail(
        fmt::format("{} has a member \"{}\" that it cannot have: "
                    "docs/formats/flight-ticket.md lists those there are",
                    what_, name));
    break;
  }
  return status_;
}

Result<json> ParseJsonObject(std::string_view text, const std::string& what,
                             size_t bytes_max) {
  if (text.size() > bytes_max) {
    return Status::Invalid(fmt::format("{} has {} bytes and may have {} at most", what,
                                       text.size(), bytes_max));
  }
  // Deep nesting would be taken apart on the stack; no member needs more than this.
  constexpr int kDepthMax = 8;
  bool too_deep = false;
  auto check = [&](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kDepthMax;
    return !too_deep;
  };
  json parsed = json::parse(text, check, /*allow_exceptions=*/false);
  if (too_deep || parsed.is_discarded() || !parsed.is_object()) {
    return Status::Invalid(fmt::format("{} is not a JSON object", what));
  }
  return parsed;
}

}  // namespace forebay::flight
