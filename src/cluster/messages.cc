#include "cluster/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/json_fields.h"

namespace forebay::cluster {
namespace {

using nlohmann::json;

// What was made by us or has been checked; a broken text becomes null.
json AsJson(const std::string& text) {
  json value = ParseJson(text);
  return value.is_discarded() ? json() : value;
}

Result<std::shared_ptr<const Roster>> RosterIn(JsonFields& fields) {
  json roster = fields.Any("roster");
  if (roster.is_null()) return std::shared_ptr<const Roster>();
  return ParseRoster(roster.dump());
}

StatusCode CodeNamed(std::string_view name) {
  for (int i = 1; i <= static_cast<int>(StatusCode::kInternal); ++i) {
    auto code = static_cast<StatusCode>(i);
    if (StatusCodeName(code) == name) return code;
  }
  return StatusCode::kInternal;
}

}  // namespace

std::string ToJson(const Registration& message) {
  return DumpJson({{"id", message.id},
                   {"instance", message.instance},
                   {"host", message.host},
                   {"flight", message.flight},
                   {"http", message.http},
                   {"weight", message.weight},
                   {"store_bytes", message.store_bytes}});
}

std::string ToJson(const Registered& message) {
  std::string text = fmt::format(R"({{"fence":{})", message.fence);
  if (message.roster != nullptr) text += R"(,"roster":)" + message.roster->json();
  return text + "}";
}

std::string ToJson(const Heartbeat& message) {
  json value = {{"id", message.id},
                {"fence", message.fence},
                {"roster_epoch", message.roster_epoch}};
  if (!message.report.empty()) value["report"] = AsJson(message.report);
  return DumpJson(value);
}

std::string ToJson(const HeartbeatAnswer& message) {
  // Both are texts already; a roster is large, and goes to every node.
  std::string text = R"({"orders":)" + (message.orders.empty() ? "null" : message.orders);
  if (message.roster != nullptr) text += R"(,"roster":)" + message.roster->json();
  return text + "}";
}

Result<Registration> ParseRegistration(std::string_view json) {
  auto fields = JsonFields::Parse(json, "a registration");
  Registration message{.id = fields.Text("id"),
                       .instance = fields.Text("instance"),
                       .host = fields.Text("host"),
                       .flight = fields.Text("flight"),
                       .http = fields.TextOr("http", ""),
                       .weight = fields.Real("weight"),
                       .store_bytes = fields.NumberOr("store_bytes", 0)};
  fields.RefuseUnknown();
  FB_RETURN_NOT_OK(fields.status());
  return message;
}

Result<Registered> ParseRegistered(std::string_view json) {
  auto fields = JsonFields::Parse(json, "the answer to a registration");
  Registered message{.fence = fields.Number("fence")};
  FB_RETURN_NOT_OK(fields.status());
  FB_ASSIGN_OR_RETURN(message.roster, RosterIn(fields));
  return message;
}

Result<Heartbeat> ParseHeartbeat(std::string_view json) {
  auto fields = JsonFields::Parse(json, "a heartbeat");
  Heartbeat message{.id = fields.Text("id"),
                    .fence = fields.Number("fence"),
                    .roster_epoch = fields.Number("roster_epoch")};
  nlohmann::json report = fields.Any("report");
  if (report.is_object()) message.report = report.dump();
  fields.RefuseUnknown();
  FB_RETURN_NOT_OK(fields.status());
  return message;
}

Result<HeartbeatAnswer> ParseHeartbeatAnswer(std::string_view json) {
  auto fields = JsonFields::Parse(json, "the answer to a heartbeat");
  FB_RETURN_NOT_OK(fields.status());
  HeartbeatAnswer message;
  FB_ASSIGN_OR_RETURN(message.roster, RosterIn(fields));
  nlohmann::json orders = fields.Any("orders");
  if (!orders.is_null()) message.orders = orders.dump();
  return message;
}

std::vector<std::string> SplitHeads(std::string_view text) {
  std::vector<std::string> heads;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) heads.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return heads;
}

int HttpStatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return 200;
    case StatusCode::kInvalid: return 400;
    case StatusCode::kNotFound: return 404;
    case StatusCode::kPermission: return 403;
    case StatusCode::kChanged: return 409;
    case StatusCode::kCorrupt: return 500;
    case StatusCode::kFull: return 507;
    case StatusCode::kUnavailable: return 503;
    case StatusCode::kDeadline: return 504;
    case StatusCode::kUnsupported: return 501;
    case StatusCode::kCancelled: return 499;
    case StatusCode::kInternal: return 500;
  }
  return 500;
}

std::string ErrorJson(const Status& status) {
  return DumpJson(
      {{"error",
        {{"code", StatusCodeName(status.code())}, {"message", status.message()}}}});
}

Status StatusOfAnswer(int http_status, std::string_view body) {
  if (http_status >= 200 && http_status < 300) return Status::OK();
  json value = ParseJson(body);
  if (value.is_object() && value.contains("error")) {
    JsonFields error(value["error"], "an error of the head");
    std::string code = error.Text("code");
    std::string message = error.Text("message");
    if (error.status().ok()) return {CodeNamed(code), std::move(message)};
  }
  std::string message = fmt::format("the head answered with HTTP {}", http_status);
  switch (http_status) {
    case 401:
    case 403: return Status::Permission(std::move(message));
    case 404: return Status::NotFound(std::move(message));
    case 400:
    case 413: return Status::Invalid(std::move(message));
    default: return Status::Unavailable(std::move(message));
  }
}

}  // namespace forebay::cluster
