#include "cluster/json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/near_miss.h"

namespace forebay::cluster {
namespace {

constexpr int kDepthMax = 64;

// Of brackets and braces outside of texts.
bool IsNestedTooDeeply(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDepthMax) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

nlohmann::json ParseJson(std::string_view text) {
  if (IsNestedTooDeeply(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string DumpJson(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

JsonFields JsonFields::Parse(std::string_view text, std::string what) {
  return {ParseJson(text), std::move(what)};
}

JsonFields::JsonFields(nlohmann::json object, std::string what)
    : object_(std::move(object)), what_(std::move(what)) {
  if (!object_.is_object()) {
    status_ = Status::Invalid(fmt::format("{} is not a JSON object", what_));
  }
}

const nlohmann::json* JsonFields::Find(const char* name) {
  known_.emplace_back(name);
  if (!object_.is_object()) return nullptr;
  auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::Miss(const char* name, const char* kind) {
  if (!status_.ok()) return;
  status_ = Status::Invalid(fmt::format("{} has no {} '{}'", what_, kind, name));
}

std::string JsonFields::Text(const char* name) {
  const auto* value = Find(name);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  Miss(name, "text");
  return {};
}

std::string JsonFields::TextOr(const char* name, std::string fallback) {
  return Find(name) == nullptr ? std::move(fallback) : Text(name);
}

uint64_t JsonFields::Number(const char* name) {
  const auto* value = Find(name);
  if (value != nullptr && value->is_number_unsigned()) return value->get<uint64_t>();
  Miss(name, "whole number");
  return 0;
}

uint64_t JsonFields::NumberOr(const char* name, uint64_t fallback) {
  return Find(name) == nullptr ? fallback : Number(name);
}

double JsonFields::Real(const char* name) {
  const auto* value = Find(name);
  if (value != nullptr && value->is_number()) return value->get<double>();
  Miss(name, "number");
  return 0;
}

nlohmann::json JsonFields::Any(const char* name) {
  const auto* value = Find(name);
  return value == nullptr ? nlohmann::json() : *value;
}

nlohmann::json JsonFields::Array(const char* name) {
  const auto* value = Find(name);
  if (value != nullptr && value->is_array()) return *value;
  Miss(name, "list");
  return nlohmann::json::array();
}

void JsonFields::RefuseUnknown() {
  if (!object_.is_object()) return;
  for (const auto& [name, value] : object_.items()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    status_ = Status::Invalid(
        fmt::format("{} has no member '{}'{}", what_, name, DidYouMean(name, known_)));
    return;
  }
}

}  // namespace forebay::cluster
