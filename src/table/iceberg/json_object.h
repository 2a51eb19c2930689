// Typed access to JSON that nobody can be trusted to have written: wrong types are
// statuses that name the field. Only .cc files of this folder include it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay::table::iceberg {

using Json = nlohmann::json;

// One JSON object and what to call it in messages.
class JsonObject {
 public:
  static Result<JsonObject> Of(const Json& json, std::string_view what) {
    if (json.is_object()) return JsonObject(json, what);
    return Status::Corrupt(fmt::format("{} is not a JSON object", what));
  }

  // nullptr: absent or null.
  const Json* Find(const char* key) const {
    auto it = json_->find(key);
    return it == json_->end() || it->is_null() ? nullptr : &*it;
  }
  Result<const Json*> Array(const char* key) const {
    const Json* value = Find(key);
    if (value == nullptr) return Missing(key);
    if (!value->is_array()) return Wrong(key, "a list");
    return value;
  }
  Result<std::string> Text(const char* key) const {
    const Json* value = Find(key);
    if (value == nullptr) return Missing(key);
    if (!value->is_string()) return Wrong(key, "a text");
    return value->get<std::string>();
  }
  Result<int64_t> Long(const char* key) const {
    FB_ASSIGN_OR_RETURN(auto value, OptionalLong(key));
    if (!value) return Missing(key);
    return *value;
  }
  Result<std::optional<int64_t>> OptionalLong(const char* key) const {
    const Json* value = Find(key);
    if (value == nullptr) return std::optional<int64_t>();
    bool fits = value->is_number_integer() &&
                (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
    if (!fits) return Wrong(key, "an integer");
    return std::optional(value->get<int64_t>());
  }
  // A snapshot's id; writers with unsigned ids exist, and only equality matters.
  Result<std::optional<int64_t>> OptionalId(const char* key) const {
    const Json* value = Find(key);
    if (value == nullptr) return std::optional<int64_t>();
    if (!value->is_number_integer()) return Wrong(key, "an integer");
    return std::optional(value->is_number_unsigned()
                             ? static_cast<int64_t>(value->get<uint64_t>())
                             : value->get<int64_t>());
  }
  Result<int64_t> Id(const char* key) const {
    FB_ASSIGN_OR_RETURN(auto value, OptionalId(key));
    if (!value) return Missing(key);
    return *value;
  }
  Result<int32_t> Int(const char* key) const {
    FB_ASSIGN_OR_RETURN(int64_t value, Long(key));
    if (value != static_cast<int32_t>(value)) return Wrong(key, "a 32-bit integer");
    return static_cast<int32_t>(value);
  }
  Result<std::optional<int32_t>> OptionalInt(const char* key) const {
    if (Find(key) == nullptr) return std::optional<int32_t>();
    FB_ASSIGN_OR_RETURN(int32_t value, Int(key));
    return std::optional(value);
  }
  Result<bool> Boolean(const char* key) const {
    const Json* value = Find(key);
    if (value == nullptr) return Missing(key);
    if (!value->is_boolean()) return Wrong(key, "true or false");
    return value->get<bool>();
  }

  Status Missing(const char* key) const {
    return Status::Corrupt(fmt::format("{} has no \"{}\"", what_, key));
  }
  Status Wrong(const char* key, std::string_view expected) const {
    return Status::Corrupt(fmt::format("{}: \"{}\" is not {}", what_, key, expected));
  }
  std::string_view what() const { return what_; }

 private:
  JsonObject(const Json& json, std::string_view what) : json_(&json), what_(what) {}

  const Json* json_;
  std::string_view what_;  // of a literal
};

}  // namespace forebay::table::iceberg
