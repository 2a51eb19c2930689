// What nodes and heads say to each other, as JSON over HTTP
// (docs/formats/control-plane.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cluster/roster.h"

namespace forebay::cluster {

// The paths on the head.
inline constexpr char kRegisterPath[] = "/v1/nodes/register";
inline constexpr char kHeartbeatPath[] = "/v1/nodes/heartbeat";
inline constexpr char kLeavePath[] = "/v1/nodes/leave";
inline constexpr char kRosterPath[] = "/v1/roster";

// A node joins, or comes back.
struct Registration {
  std::string id{};        // see Member
  std::string instance{};  // of the process: tells a restart from a repetition
  std::string host{};
  std::string flight{};
  std::string http{};
  double weight = 1;
  uint64_t store_bytes = 0;  // as Member's
};

struct Registered {
  uint64_t fence = 0;
  std::shared_ptr<const Roster> roster{};
};

struct Heartbeat {
  std::string id{};
  uint64_t fence = 0;
  uint64_t roster_epoch = 0;  // of the newest roster the node has
  std::string report{};       // a JSON object of the node's own; empty: none
};

struct HeartbeatAnswer {
  std::shared_ptr<const Roster> roster{};  // null: the node has the newest
  std::string orders{};                    // JSON, see work.h; empty: none
};

std::string ToJson(const Registration& message);
std::string ToJson(const Registered& message);
std::string ToJson(const Heartbeat& message);
std::string ToJson(const HeartbeatAnswer& message);
Result<Registration> ParseRegistration(std::string_view json);
Result<Registered> ParseRegistered(std::string_view json);
Result<Heartbeat> ParseHeartbeat(std::string_view json);
Result<HeartbeatAnswer> ParseHeartbeatAnswer(std::string_view json);

// "a:7070,b:7070" as a list.
std::vector<std::string> SplitHeads(std::string_view text);

// Failures travel as {"error": {"code": "NotFound", "message": "…"}}.
int HttpStatusOf(StatusCode code);
std::string ErrorJson(const Status& status);
// What an answer other than 2xx means. Without a readable body, the number decides.
Status StatusOfAnswer(int http_status, std::string_view body);

}  // namespace forebay::cluster
