#include "meta/etcd_client.h"

#include <fmt/format.h>

#include <utility>

#include "base/size.h"

namespace forebay::meta {
namespace {

using nlohmann::json;

constexpr size_t kAnswerBytesMax = 256 * kMiB;
constexpr size_t kLineBytesMax = 64 * kMiB;
constexpr milliseconds kConnectTimeout{1'000};

json Parse(std::string_view text) {
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

int64_t GrpcCodeIn(const json& body) {
  if (!body.is_object()) return 0;
  auto found = body.find("code");
  return found != body.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

// The gateway's errors carry a gRPC code. Without one, the HTTP status must do.
StatusCode CodeOf(int http_status, const json& body) {
  switch (GrpcCodeIn(body)) {
    case 3:
    case 9:
    case 11: return StatusCode::kInvalid;
    case 5: return StatusCode::kNotFound;
    case 7:
    case 16: return StatusCode::kPermission;
    case 4:
    case 8:
    case 14: return StatusCode::kUnavailable;
    case 12: return StatusCode::kUnsupported;
    default: break;
  }
  if (http_status == 401 || http_status == 403) return StatusCode::kPermission;
  if (http_status == 404) return StatusCode::kUnsupported;  // no gateway there
  return http_status == 400 ? StatusCode::kInvalid : StatusCode::kUnavailable;
}

std::string TextOf(const json& body) {
  for (const char* name : {"message", "error"}) {
    if (body.is_object() && body.contains(name) && body[name].is_string()) {
      return body[name].get<std::string>();
    }
  }
  return "no reason given";
}

bool TokenRanOut(const Status& status) {
  return status.message().find("invalid auth token") != std::string::npos;
}

// Another endpoint may do what this one could not.
bool IsForAnother(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadline;
}

}  // namespace

EtcdClient::EtcdClient(EtcdOptions options)
    : options_(std::move(options)),
      client_({.connect_timeout = kConnectTimeout, .ca_file = options_.ca_file}) {}

http::Request EtcdClient::Request(const std::string& endpoint, const std::string& path,
                                  const json& request) {
  http::Request made{
      .method = "POST",
      .url = endpoint + "/v3/" + path,
      .headers = {{"Content-Type", "application/json"}},
      .body = request.dump(-1, ' ', false, json::error_handler_t::replace)};
  std::lock_guard lock(token_mutex_);
  if (!token_.empty()) made.headers.push_back({"Authorization", token_});
  return made;
}

Result<json> EtcdClient::Send(const std::string& endpoint, const std::string& path,
                              const json& request) {
  std::string body;
  auto sink = [&](const http::Response&, std::span<const std::byte> piece) {
    if (body.size() + piece.size() > kAnswerBytesMax) {
      return Status::Full("etcd's answer is too large");
    }
    body.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status::OK();
  };
  FB_ASSIGN_OR_RETURN(http::Response response,
                      client_.Send(Request(endpoint, path, request), sink,
                                   Deadline::After(options_.attempt_timeout)));
  json answer = Parse(body);
  if (response.status != 200) {
    return Status(CodeOf(response.status, answer),
                  fmt::format("etcd at {} refused: {}", endpoint, TextOf(answer)));
  }
  if (!answer.is_object()) {
    return Status::Corrupt(fmt::format("{} does not answer as etcd does", endpoint));
  }
  return answer;
}

Status EtcdClient::SignIn(const std::string& endpoint) {
  {
    std::lock_guard lock(token_mutex_);
    token_.clear();
  }
  FB_ASSIGN_OR_RETURN(json answer,
                      Send(endpoint, "auth/authenticate",
                           {{"name", options_.user}, {"password", options_.password}}));
  auto token = answer.find("token");
  if (token == answer.end() || !token->is_string()) {
    return Status::Corrupt(fmt::format("etcd at {} signs in without a token", endpoint));
  }
  std::lock_guard lock(token_mutex_);
  token_ = token->get<std::string>();
  return Status::OK();
}

Result<json> EtcdClient::CallOne(const std::string& endpoint, const std::string& path,
                                 const json& request) {
  if (options_.user.empty()) return Send(endpoint, path, request);
  bool signed_in = false;
  {
    std::lock_guard lock(token_mutex_);
    signed_in = !token_.empty();
  }
  if (!signed_in) FB_RETURN_NOT_OK(SignIn(endpoint));
  auto answer = Send(endpoint, path, request);
  if (answer.ok() || !signed_in || !TokenRanOut(answer.status())) return answer;
  FB_RETURN_NOT_OK(SignIn(endpoint));
  return Send(endpoint, path, request);
}

Result<EtcdClient::Answer> EtcdClient::Call(const std::string& path,
                                            const json& request) {
  size_t first = current_;
  size_t count = options_.endpoints.size();
  Status last = Status::Unavailable("no endpoint of etcd is known");
  for (size_t i = 0; i < count; ++i) {
    size_t index = (first + i) % count;
    auto answer = CallOne(options_.endpoints[index], path, request);
    if (answer.ok()) {
      current_ = index;
      return Answer{*std::move(answer), i > 0};
    }
    last = answer.status();
    if (!IsForAnother(last)) return last;
    current_ = (index + 1) % count;
  }
  return Status::Unavailable(last.message());
}

Status EtcdClient::Stream(const std::string& path, const json& request,
                          const std::function<bool(const json&)>& on_line,
                          Deadline deadline) {
  std::string endpoint = options_.endpoints[current_ % options_.endpoints.size()];
  std::string rest;
  bool enough = false;
  auto sink = [&](const http::Response& head, std::span<const std::byte> piece) {
    if (head.status != 200) return Status::Unavailable("etcd refuses to be watched");
    rest.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    if (rest.size() > kLineBytesMax) return Status::Full("etcd's answer is too large");
    for (size_t end = rest.find('\n'); end != rest.npos && !enough;
         end = rest.find('\n')) {
      enough = !on_line(Parse(std::string_view(rest).substr(0, end)));
      rest.erase(0, end + 1);
    }
    return enough ? Status::Cancelled("enough") : Status::OK();
  };
  http::Request made = Request(endpoint, path, request);
  // A quiet stream is a good one.
  made.stall_timeout = std::chrono::hours(24);
  auto response = client_.Send(made, sink, deadline);
  if (enough) return Status::OK();
  if (!response.ok()) return response.status();
  return Status::Unavailable("etcd ended the stream");
}

}  // namespace forebay::meta
