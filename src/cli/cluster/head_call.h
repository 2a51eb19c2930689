// Verbs that ask a cluster's head.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace CLI {
class App;
}

namespace forebay::cli {

// Adds `--head HOST:PORT,…`; the default is FOREBAY_HEAD, else localhost:7070.
void AddHeadOption(CLI::App& app, std::string* heads);

// The heads that were named, by the option or by FOREBAY_HEAD; empty: none.
std::string GivenHeads(const std::string& heads);

// Calls in JSON, over all addresses of the head until one answers.
class HeadCall {
 public:
  // Empty: the default.
  static Result<HeadCall> To(const std::string& heads);

  // Whether there is a head at all; takes a second at most.
  bool Answers();
  Result<nlohmann::json> Get(const std::string& path);
  Result<nlohmann::json> Post(const std::string& path, const nlohmann::json& body);
  // What takes something away. Finding nothing is success where an earlier head may have
  // done it: its answer was lost.
  Result<nlohmann::json> Delete(const std::string& path);
  Result<nlohmann::json> DrainNode(const std::string& id);

 private:
  explicit HeadCall(std::vector<std::string> heads) : heads_(std::move(heads)) {}
  struct Request {
    const char* method = "GET";
    std::string path{};
    std::string body{};
    bool plans = false;    // may take minutes
    bool removes = false;  // see Delete
  };
  Result<nlohmann::json> Call(const Request& request);

  std::vector<std::string> heads_;
};

// Members of an answer, whatever a head of another release left out: empty, 0.
std::string TextIn(const nlohmann::json& object, const char* name);
uint64_t NumberIn(const nlohmann::json& object, const char* name);
double RealIn(const nlohmann::json& object, const char* name);
const nlohmann::json& ListIn(const nlohmann::json& object, const char* name);

}  // namespace forebay::cli
