#include "source/s3_options.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/uri.h"
#include "source/http_options.h"

namespace forebay::source {
namespace {

// The s3.* name, else the client.* name that PyIceberg shares between services.
std::string Get(const Options& options, const std::string& name) {
  std::string value = GetOption(options, "s3." + name);
  return value.empty() ? GetOption(options, "client." + name) : value;
}

// With a scheme, without a trailing slash, scheme and host in lower case: part of keys.
Result<std::string> NormalEndpoint(std::string endpoint) {
  if (endpoint.find("://") == endpoint.npos) endpoint = "https://" + endpoint;
  FB_ASSIGN_OR_RETURN(Uri uri, Uri::Parse(endpoint));
  if (uri.scheme != "http" && uri.scheme != "https") {
    return Status::Invalid("s3.endpoint must be an http or https URL, not " +
                           RedactUri(endpoint));
  }
  if (uri.authority.find('@') != uri.authority.npos) {
    return Status::Invalid("s3.endpoint must not carry a user or password: " +
                           RedactUri(endpoint));
  }
  for (char& c : uri.authority) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (uri.path.ends_with('/')) uri.path.pop_back();
  return uri.ToString();
}

bool IsAddress(std::string_view endpoint) {
  std::string_view host = endpoint.substr(endpoint.find("://") + 3);
  if (host.starts_with('[') || host.starts_with("localhost")) return true;
  host = host.substr(0, host.find_first_of(":/"));
  return std::ranges::all_of(host,
                             [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

Status SetEndpoint(const std::string& scheme, const Options& options, S3Options* parsed) {
  std::string endpoint = Get(options, "endpoint");
  if (endpoint.empty()) endpoint = FirstEnv({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (endpoint.empty() && scheme == "oss") {
    return Status::Invalid(
        "oss:// needs the option s3.endpoint, for example "
        "https://oss-cn-hangzhou.aliyuncs.com");
  }
  if (!endpoint.empty()) {
    FB_ASSIGN_OR_RETURN(parsed->endpoint, NormalEndpoint(std::move(endpoint)));
  }
  FB_ASSIGN_OR_RETURN(std::optional<bool> forced,
                      GetFlag(options, "s3.force-virtual-addressing"));
  // OSS refuses path style; most other servers with an endpoint of their own need it.
  bool usual =
      parsed->endpoint.empty() || (scheme == "oss" && !IsAddress(parsed->endpoint));
  parsed->virtual_host = forced.value_or(usual);
  return Status::OK();
}

Status SetKeys(const std::string& key, const std::string& secret, S3Options* parsed) {
  if (key.empty() != secret.empty()) {
    return Status::Invalid(
        "an S3 access key needs its secret key, and the other way round");
  }
  parsed->access_key = key;
  parsed->secret_key = secret;
  parsed->access = S3Access::kKeys;
  return Status::OK();
}

Status SetAccess(const Options& options, S3Options* parsed) {
  FB_ASSIGN_OR_RETURN(std::optional<bool> anonymous, GetFlag(options, "s3.anonymous"));
  std::string key = Get(options, "access-key-id");
  std::string secret = Get(options, "secret-access-key");
  parsed->role_arn = Get(options, "role-arn");
  parsed->role_session_name = Get(options, "role-session-name");
  if (anonymous.value_or(false)) {
    parsed->access = S3Access::kAnonymous;
    return Status::OK();
  }
  if (!key.empty() || !secret.empty()) {
    parsed->session_token = Get(options, "session-token");
    return SetKeys(key, secret, parsed);
  }
  if (!parsed->role_arn.empty()) {
    parsed->access = S3Access::kRole;
    return Status::OK();
  }
  key = FirstEnv({"AWS_ACCESS_KEY_ID"});
  secret = FirstEnv({"AWS_SECRET_ACCESS_KEY"});
  if (key.empty() || secret.empty()) return Status::OK();
  parsed->session_token = FirstEnv({"AWS_SESSION_TOKEN"});
  return SetKeys(key, secret, parsed);
}

}  // namespace

Result<S3Options> S3Options::Parse(const std::string& scheme, const Options& options) {
  S3Options parsed;
  FB_RETURN_NOT_OK(SetEndpoint(scheme, options, &parsed));
  FB_RETURN_NOT_OK(SetAccess(options, &parsed));
  parsed.region = Get(options, "region");
  if (parsed.region.empty()) {
    parsed.region = FirstEnv({"AWS_REGION", "AWS_DEFAULT_REGION"});
  }
  return parsed;
}

}  // namespace forebay::source
