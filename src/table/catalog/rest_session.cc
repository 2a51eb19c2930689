#include "table/catalog/rest_session.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/size.h"
#include "base/uri.h"
#include "http/percent.h"
#include "source/http_options.h"
#include "source/http_status.h"

namespace forebay::table::catalog {
namespace {

// Metadata of tables with very many snapshots is tens of megabytes.
constexpr size_t kBodyBytesMax = 512 * kMiB;
// Of an answer that says no; a longer one is a page for browsers.
constexpr size_t kErrorBytesMax = 256 * kKiB;
constexpr int kDepthMax = 200;
constexpr size_t kDetailMax = 400;
// A catalog that fails this often in a row (about 3 s) is down; a person waits.
constexpr int kAttemptsMax = 5;
// Below, a secret would be found in every other word.
constexpr size_t kSecretMin = 4;

using nlohmann::json;

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

std::string TextOf(const json& object, const char* name) {
  auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// {"error": {"message": …}} of catalogs; {"error": …, "error_description": …} of OAuth2.
std::string ErrorMessage(const json& body) {
  if (!body.is_object()) return {};
  auto error = body.find("error");
  if (error == body.end()) return TextOf(body, "message");
  if (error->is_object()) return TextOf(*error, "message");
  std::string description = TextOf(body, "error_description");
  return description.empty() ? TextOf(body, "error") : description;
}

std::string Printable(std::string text) {
  if (text.size() > kDetailMax) text = text.substr(0, kDetailMax) + "…";
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

}  // namespace

std::optional<json> ParseUntrusted(std::string_view text) {
  bool too_deep = false;
  auto check = [&too_deep](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > kDepthMax;
    return !too_deep;
  };
  json parsed = json::parse(text.begin(), text.end(), check, /*allow_exceptions=*/false);
  if (too_deep || parsed.is_discarded()) return std::nullopt;
  return parsed;
}

RestSession::RestSession(std::string endpoint, http::ClientOptions client,
                         source::RetryPolicy retry)
    : endpoint_(std::move(endpoint)), client_(std::move(client)), retry_(retry) {}

Result<std::unique_ptr<RestSession>> RestSession::Make(const std::string& endpoint,
                                                       const source::Options& options) {
  FB_ASSIGN_OR_RETURN(source::HttpOptions http, source::ParseHttpOptions(options));
  if (!options.contains("http.attempts-max")) http.retry.attempts_max = kAttemptsMax;
  if (!options.contains("http.ca-file")) {
    std::string bundle = source::GetOption(options, "ssl.cabundle");
    if (!bundle.empty()) http.client.ca_file = bundle;
  }
  std::unique_ptr<RestSession> session(
      new RestSession(endpoint, http.client, http.retry));
  FB_RETURN_NOT_OK(session->SetHeader("Accept", "application/json"));
  FB_RETURN_NOT_OK(
      session->SetHeader("X-Iceberg-Access-Delegation", "vended-credentials"));
  constexpr std::string_view kHeader = "header.";
  for (const auto& [name, value] : options) {
    if (!name.starts_with(kHeader)) continue;
    FB_RETURN_NOT_OK(session->SetHeader(name.substr(kHeader.size()), value));
    session->KeepSecret(value);
  }
  return session;
}

Status RestSession::SetHeader(const std::string& name, const std::string& value) {
  auto breaks = [](unsigned char c) { return c < ' ' || c == 0x7f; };
  auto breaks_name = [&](unsigned char c) { return breaks(c) || c == ' ' || c == ':'; };
  if (name.empty() || std::ranges::any_of(name, breaks_name) ||
      std::ranges::any_of(value, breaks)) {
    return Status::Invalid(
        "the header '" + Printable(name) +
        "' for the catalog holds characters that headers may not hold");
  }
  std::erase_if(headers_,
                [&](const http::Header& header) { return SameName(header.name, name); });
  headers_.push_back({name, value});
  return Status::OK();
}

void RestSession::KeepSecret(const std::string& secret) {
  if (secret.size() >= kSecretMin) secrets_.push_back(secret);
}

std::string RestSession::Redacted(std::string text) const {
  for (const std::string& secret : secrets_) {
    for (size_t at = text.find(secret); at != text.npos; at = text.find(secret, at + 3)) {
      text.replace(at, secret.size(), "...");
    }
  }
  return text;
}

std::string RestSession::Name() const { return "the catalog " + RedactUri(endpoint_); }

Result<RestAnswer> RestSession::Get(const std::string& path, Deadline deadline) {
  http::Request request;
  request.url = endpoint_ + "/v1/" + path;
  request.headers = headers_;
  return Send(request, deadline);
}

Result<RestAnswer> RestSession::PostForm(const std::string& url,
                                         const std::map<std::string, std::string>& form,
                                         Deadline deadline) {
  http::Request request;
  request.method = "POST";
  request.url = url;
  request.headers = headers_;
  std::erase_if(request.headers, [](const http::Header& header) {
    return SameName(header.name, "Content-Type");
  });
  request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
  for (const auto& [name, value] : form) {
    if (!request.body.empty()) request.body += '&';
    request.body += http::PercentEncode(name) + "=" + http::PercentEncode(value);
  }
  return Send(request, deadline);
}

Result<RestAnswer> RestSession::Send(const http::Request& request, Deadline deadline) {
  RestAnswer answer;
  auto sink = [&answer](const http::Response& head, std::span<const std::byte> piece) {
    bool failed = head.status < 200 || head.status >= 300;
    size_t room = (failed ? kErrorBytesMax : kBodyBytesMax) - answer.text.size();
    if (!failed && piece.size() > room) {
      return Status::Full("the answer is longer than " + FormatSize(kBodyBytesMax));
    }
    answer.text.append(reinterpret_cast<const char*>(piece.data()),
                       std::min(piece.size(), room));
    return Status::OK();
  };
  auto attempt = [&](int) -> source::Attempt {
    answer = {};
    auto response = client_.Send(request, sink, deadline);
    if (!response.ok()) return {response.status()};
    answer.status = response->status;
    answer.location = std::string(response->Find("Location"));
    if (source::CodeFromHttp(answer.status) != StatusCode::kUnavailable ||
        !answer.location.empty()) {
      return {Status::OK()};
    }
    return {source::HttpStatus(answer.status, RedactUri(request.url), Detail(answer)),
            false, source::RetryAfter(*response)};
  };
  Status status = source::Retry(retry_, stats_, deadline, attempt);
  if (!status.ok()) {
    return Status(status.code(),
                  Redacted(Name() + " does not answer: " + status.message()));
  }
  return answer;
}

std::string RestSession::Detail(const RestAnswer& answer) const {
  auto body = ParseUntrusted(answer.text);
  return body ? Redacted(Printable(ErrorMessage(*body))) : std::string();
}

Result<json> RestSession::Body(const RestAnswer& answer, std::string_view what) const {
  if (!answer.location.empty() && !answer.ok()) {
    return Status::Invalid(std::string(what) + ": it sends its clients to " +
                           RedactUri(Printable(answer.location)) +
                           "; name that address as the catalog's");
  }
  if (!answer.ok()) {
    Status status = source::HttpStatus(answer.status, what, Detail(answer));
    if (status.code() != StatusCode::kPermission) return status;
    return Status::Permission(status.message() +
                              " (token= or credential=, and what they may read)");
  }
  auto body = ParseUntrusted(answer.text);
  if (!body || !body->is_object()) {
    return Status::Corrupt(
        std::string(what) +
        ": its answer is not JSON as the REST catalog's protocol has it; "
        "is the address that of a REST catalog?");
  }
  return *std::move(body);
}

}  // namespace forebay::table::catalog
