// Reads the members of a JSON object that came from elsewhere. Remembers the first thing
// that is wrong, so that callers check once at the end. Unknown members are left alone
// unless the caller refuses them: answers of a newer head may say more (docs/adr/0022).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::cluster {

// Whatever JSON it is, or discarded where it is none or is nested more deeply than any
// message of ours: what copies and writes JSON goes down as deep as it is nested.
nlohmann::json ParseJson(std::string_view text);
// On one line. Invalid UTF-8, as in a host name, is replaced: the library would throw.
std::string DumpJson(const nlohmann::json& value);

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
  nlohmann::json Any(const char* name);
  nlohmann::json Array(const char* name);

  // Of a request: a member that nothing above has asked for is an error, which names the
  // one that may be meant; also where that one is missing. Call it last.
  void RefuseUnknown();

  const Status& status() const { return status_; }

 private:
  const nlohmann::json* Find(const char* name);
  void Miss(const char* name, const char* kind);

  nlohmann::json object_;
  std::string what_;
  Status status_;
  std::vector<std::string_view> known_;  // asked for so far; literals
};

}  // namespace forebay::cluster
