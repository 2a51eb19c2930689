// Verbs that ask a cluster's head.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "cluster/head_client.h"

namespace CLI {
class App;
}

namespace forebay::cli {

// Adds `--head HOST:PORT,…`; the default is FOREBAY_HEAD, else localhost:7070.
void AddHeadOption(CLI::App& app, std::string* heads);

// A head that is asked once, in JSON.
class HeadCall {
 public:
  // Empty: the default.
  static Result<HeadCall> To(const std::string& heads);

  Result<nlohmann::json> Get(const std::string& path);
  Result<nlohmann::json> Post(const std::string& path, const nlohmann::json& body);
  Result<nlohmann::json> Delete(const std::string& path);

 private:
  explicit HeadCall(std::unique_ptr<cluster::HeadClient> client)
      : client_(std::move(client)) {}
  std::unique_ptr<cluster::HeadClient> client_;
};

// Members of an answer, whatever a head of another release left out: empty, 0.
std::string TextIn(const nlohmann::json& object, const char* name);
uint64_t NumberIn(const nlohmann::json& object, const char* name);
double RealIn(const nlohmann::json& object, const char* name);
const nlohmann::json& ListIn(const nlohmann::json& object, const char* name);

}  // namespace forebay::cli
