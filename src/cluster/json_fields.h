// Reads the members of a JSON object that came from elsewhere. Remembers the first thing
// that is wrong, so that callers check once at the end. Unknown members are left alone:
// heads and nodes of different releases talk to each other.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace forebay::cluster {

class JsonFields {
 public:
  // `what` names the message in errors.
  static JsonFields Parse(std::string_view text, std::string what);
  JsonFields(nlohmann::json object, std::string what);

  std::string Text(const char* name);
  std::string TextOr(const char* name, std::string fallback);
  uint64_t Number(const char* name);
  uint64_t NumberOr(const char* name, uint64_t fallback);
  double Real(const char* name);
  // Null where there is none.
  nlohmann::json Any(const char* name) const;
  nlohmann::json Array(const char* name);

  const Status& status() const { return status_; }

 private:
  const nlohmann::json* Find(const char* name) const;
  void Miss(const char* name, const char* kind);

  nlohmann::json object_;
  std::string what_;
  Status status_;
};

}  // namespace forebay::cluster
