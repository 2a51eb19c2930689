// What Kubeflow Trainer tells a container of its data cache: arguments and environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace forebay::kubeflow {

enum class Role { kHead, kWorker };

struct Settings {
  Role role = Role::kHead;
  std::string host{};  // of Flight
  int port = 0;

  std::string metadata{};  // METADATA_LOC; the head's
  std::string dataset{};   // SCHEMA_NAME.TABLE_NAME
  bool local = false;      // RUNTIME_ENV=LOCAL: all on this machine
  std::string leader{};    // LWS_LEADER_ADDRESS
  uint64_t workers = 0;    // LWS_GROUP_SIZE less the head
  std::string worker_id{};
  std::string pod_ip{};                  // POD_IP; may be empty
  milliseconds connect_timeout{20'000};  // CONNECT_TIMEOUT_SECS
  int health_port = 8080;                // HEALTH_PORT
  int control_port = 7070;               // FOREBAY_HEAD_PORT: between workers and head
  std::string memory{};  // FOREBAY_MEMORY, of a worker's store; empty: by the limit
};

// nullopt where the variable is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment ProcessEnvironment();

// `words` are the program's name and arguments: "head 0.0.0.0 50051", or the same after
// another name. kInvalid says what is missing or wrong.
Result<Settings> ReadSettings(const std::vector<std::string>& words,
                              const Environment& environment);

}  // namespace forebay::kubeflow
