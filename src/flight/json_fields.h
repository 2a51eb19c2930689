// Takes the members of a JSON object one by one, strictly: a member of the wrong type, or
// one that nobody asked for, is an error that names it. Remembers the first thing that is
// wrong, so that callers check once, with Finish.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/status.h"

namespace forebay::flight {

class JsonFields {
 public:
  // `what` is how errors call the object: "the command".
  JsonFields(const nlohmann::json& object, std::string what);

  bool Has(const char* name) const;
  // Each leaves `out` as it is when the member is not there.
  void Number(const char* name, uint64_t* out);
  void Text(const char* name, std::string* out);
  void Bool(const char* name, bool* out);
  void Hash(const char* name, std::optional<Hash128>* out);
  void Texts(const char* name, std::optional<std::vector<std::string>>* out);
  void TextMap(const char* name, std::map<std::string, std::string>* out);
  // The member as it is; null when it is not there.
  const nlohmann::json* Take(const char* name);

  void Fail(std::string sentence);
  Status Finish();

 private:
  void Mistyped(const char* name, const char* wanted);

  const nlohmann::json& object_;
  const std::string what_;
  std::set<std::string> taken_;
  Status status_;
};

// The object in `text`, of at most `bytes_max`; kInvalid for anything else.
Result<nlohmann::json> ParseJsonObject(std::string_view text, const std::string& what,
                                       size_t bytes_max);

}  // namespace forebay::flight
