#include "source/http_options.h"

#include <cstdlib>

#include "http/message.h"

namespace forebay::source {
namespace {

Status ReadNumber(const Options& options, const std::string& name, int64_t* number) {
  std::string text = GetOption(options, name);
  if (text.empty()) return Status::OK();
  auto value = http::ParseNumber(text);
  if (!value || *value < 1 || *value > 1'000'000) {
    return Status::Invalid("the option " + name +
                           " must be a number from 1 to 1000000, not '" + text + "'");
  }
  *number = *value;
  return Status::OK();
}

}  // namespace

Result<HttpOptions> ParseHttpOptions(const Options& options) {
  HttpOptions parsed;
  int64_t attempts = parsed.retry.attempts_max;
  int64_t backoff_ms = parsed.retry.backoff_first.count();
  int64_t connect_ms = parsed.client.connect_timeout.count();
  int64_t stall_s = parsed.client.stall_timeout.count();
  FB_RETURN_NOT_OK(ReadNumber(options, "http.attempts-max", &attempts));
  FB_RETURN_NOT_OK(ReadNumber(options, "http.backoff-ms", &backoff_ms));
  FB_RETURN_NOT_OK(ReadNumber(options, "http.connect-timeout-ms", &connect_ms));
  FB_RETURN_NOT_OK(ReadNumber(options, "http.stall-timeout-s", &stall_s));
  parsed.retry.attempts_max = static_cast<int>(attempts);
  parsed.retry.backoff_first = milliseconds(backoff_ms);
  parsed.client.connect_timeout = milliseconds(connect_ms);
  parsed.client.stall_timeout = std::chrono::seconds(stall_s);
  parsed.client.ca_file = GetOption(options, "http.ca-file");
  if (parsed.client.ca_file.empty()) {
    parsed.client.ca_file = FirstEnv({"CURL_CA_BUNDLE", "SSL_CERT_FILE"});
  }
  return parsed;
}

std::string GetOption(const Options& options, const std::string& name) {
  auto found = options.find(name);
  return found == options.end() ? std::string() : found->second;
}

Result<std::optional<bool>> GetFlag(const Options& options, const std::string& name) {
  std::string text = GetOption(options, name);
  if (text.empty()) return std::optional<bool>();
  if (text == "true" || text == "True" || text == "1") return std::optional<bool>(true);
  if (text == "false" || text == "False" || text == "0")
    return std::optional<bool>(false);
  return Status::Invalid("the option " + name + " must be true or false, not '" + text +
                         "'");
}

std::string FirstEnv(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

}  // namespace forebay::source
