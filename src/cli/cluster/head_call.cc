#include "cli/cluster/head_call.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/clock.h"
#include "cluster/messages.h"
#include "http/percent.h"
#include "http/plain_call.h"

namespace forebay::cli {
namespace {

using nlohmann::json;

constexpr const char* kDefaultHead = "localhost:7070";
// Planning a large table, before it has a name or is loaded, takes minutes.
constexpr milliseconds kPlanTimeout = std::chrono::minutes(11);
constexpr milliseconds kTimeout = std::chrono::seconds(30);
// Of a head, while there is another one to ask.
constexpr milliseconds kSilence = std::chrono::seconds(5);

// Of a head that nobody named.
constexpr milliseconds kProbeTimeout = std::chrono::seconds(1);
constexpr int kRedirectsMax = 3;

Result<json> AsJson(const std::string& answer) {
  json value = json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return Status::Corrupt("the head's answer is not JSON");
  return value;
}

// "http://other:7070/v1/nodes" is to be asked instead.
bool Follow(std::string_view location, http::PlainRequest* request) {
  constexpr std::string_view kScheme = "http://";
  if (!location.starts_with(kScheme)) return false;
  location.remove_prefix(kScheme.size());
  size_t slash = std::min(location.find('/'), location.size());
  request->address = location.substr(0, slash);
  request->target = location.substr(slash);
  return true;
}

// Another head may answer where this one did not.
bool IsForAnother(const Status& status) {
  return IsRetryable(status) || status.code() == StatusCode::kDeadline;
}

Result<std::string> Ask(http::PlainRequest request, Deadline deadline) {
  for (int i = 0;; ++i) {
    FB_ASSIGN_OR_RETURN(http::PlainAnswer answer, http::CallPlain(request, deadline));
    bool sent_on = answer.head.status == 307 && i < kRedirectsMax &&
                   Follow(answer.head.Find("location"), &request);
    if (sent_on) continue;
    FB_RETURN_NOT_OK(cluster::StatusOfAnswer(answer.head.status, answer.body));
    return std::move(answer.body);
  }
}

}  // namespace

void AddHeadOption(CLI::App& app, std::string* heads) {
  app.add_option("--head", *heads,
                 "the cluster's head, or several: host:7070,other:7070 (default: "
                 "FOREBAY_HEAD, else localhost:7070)")
      ->option_text("HOST:PORT");
}

std::string GivenHeads(const std::string& heads) {
  const char* variable = std::getenv("FOREBAY_HEAD");
  return heads.empty() && variable != nullptr ? variable : heads;
}

Result<HeadCall> HeadCall::To(const std::string& heads) {
  std::string given = GivenHeads(heads);
  std::string text = given.empty() ? kDefaultHead : given;
  std::vector<std::string> addresses = cluster::SplitHeads(text);
  if (addresses.empty()) return Status::Invalid("--head wants HOST:PORT");
  return HeadCall(std::move(addresses));
}

Result<json> HeadCall::Call(const Request& request) {
  bool maybe_done = false;  // by a head whose answer was lost
  Status last;
  for (const std::string& head : heads_) {
    bool is_last = head == heads_.back();
    // A head that is alive at all says so soon, however long it plans then. One that is
    // not cannot have done what it was never told.
    if ((request.plans || request.removes) && !is_last) {
      last = Ask({.address = head, .target = "/healthz"}, Deadline::After(kSilence))
                 .status();
      if (!last.ok() && IsForAnother(last)) continue;
    }
    Deadline deadline = Deadline::After(request.plans ? kPlanTimeout
                                        : is_last     ? kTimeout
                                                      : kSilence);
    auto answer = Ask({.method = request.method,
                       .address = head,
                       .target = request.path,
                       .body = request.body},
                      deadline);
    if (answer.ok()) return AsJson(*answer);
    last = answer.status();
    if (maybe_done && request.removes && last.code() == StatusCode::kNotFound) {
      return json::object();
    }
    if (!IsForAnother(last)) return last;
    maybe_done = true;
  }
  return last;
}

bool HeadCall::Answers() {
  Deadline deadline = Deadline::After(kProbeTimeout);
  return std::ranges::any_of(heads_, [&](const std::string& head) {
    return Ask({.address = head, .target = "/healthz"}, deadline).ok();
  });
}

Result<json> HeadCall::Get(const std::string& path) { return Call({.path = path}); }

Result<json> HeadCall::Post(const std::string& path, const json& body) {
  try {
    return Call({.method = "POST", .path = path, .body = body.dump(), .plans = true});
  } catch (const json::exception&) {
    return Status::Invalid(
        "a head takes names and paths in UTF-8, and one of these is not: rename it");
  }
}

Result<json> HeadCall::Delete(const std::string& path) {
  return Call({.method = "DELETE", .path = path, .removes = true});
}

Result<json> HeadCall::DrainNode(const std::string& id) {
  return Call({.method = "POST",
               .path = "/v1/nodes/" + http::PercentEncode(id) + "/drain",
               .body = "{}",
               .removes = true});
}

std::string TextIn(const json& object, const char* name) {
  if (!object.is_object()) return {};
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

uint64_t NumberIn(const json& object, const char* name) {
  if (!object.is_object()) return 0;
  auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return 0;
  return found->is_number_unsigned() || found->get<int64_t>() >= 0
             ? found->get<uint64_t>()
             : 0;
}

double RealIn(const json& object, const char* name) {
  if (!object.is_object()) return 0;
  auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

const json& ListIn(const json& object, const char* name) {
  static const json kNone = json::array();
  if (!object.is_object()) return kNone;
  auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : kNone;
}

}  // namespace forebay::cli
