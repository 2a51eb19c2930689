// Calls etcd v3 through its JSON gateway: several endpoints with failover, sign-in with a
// password, tokens renewed when they have run out. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "http/client.h"

namespace forebay::meta {

struct EtcdOptions {
  std::vector<std::string> endpoints{};  // http://host:port, https://host:port
  std::string user{};                    // empty: no sign-in
  std::string password{};
  std::string ca_file{};            // empty: the system's certificates
  std::string prefix = "forebay/";  // before every key
  milliseconds attempt_timeout{2'000};
};

class EtcdClient {
 public:
  struct Answer {
    nlohmann::json body;
    // True when an earlier attempt may have been carried out though it was not answered.
    bool repeated = false;
  };
  explicit EtcdClient(EtcdOptions options);

  // POST /v3/<path>; every endpoint gets one attempt. kUnavailable when none answers;
  // etcd's own refusals keep their meaning (kNotFound, kPermission, kInvalid).
  Result<Answer> Call(const std::string& path, const nlohmann::json& request);

  // A call whose answer is a stream of JSON objects, one a line. Ends when `on_line` says
  // false, or with the deadline (kDeadline). One endpoint only.
  Status Stream(const std::string& path, const nlohmann::json& request,
                const std::function<bool(const nlohmann::json&)>& on_line,
                Deadline deadline);

 private:
  Result<nlohmann::json> CallOne(const std::string& endpoint, const std::string& path,
                                 const nlohmann::json& request);
  Result<nlohmann::json> Send(const std::string& endpoint, const std::string& path,
                              const nlohmann::json& request);
  Status SignIn(const std::string& endpoint);
  http::Request Request(const std::string& endpoint, const std::string& path,
                        const nlohmann::json& request);

  EtcdOptions options_;
  http::Client client_;
  std::atomic<size_t> current_{0};  // the endpoint that answered last
  std::mutex token_mutex_;
  std::string token_;
};

}  // namespace forebay::meta
