#include "reader/source_environment.h"

#include <array>
#include <cstdlib>
#include <utility>

#include "base/uri.h"

namespace forebay::reader {
namespace {

// Later rows are used where earlier ones gave nothing.
constexpr std::array<std::pair<const char*, const char*>, 7> kAws = {{
    {"AWS_ENDPOINT_URL_S3", "s3.endpoint"},
    {"AWS_ENDPOINT_URL", "s3.endpoint"},
    {"AWS_REGION", "s3.region"},
    {"AWS_DEFAULT_REGION", "s3.region"},
    {"AWS_ACCESS_KEY_ID", "s3.access-key-id"},
    {"AWS_SECRET_ACCESS_KEY", "s3.secret-access-key"},
    {"AWS_SESSION_TOKEN", "s3.session-token"},
}};

void AddFrom(const char* variable, const char* option,
             std::map<std::string, std::string>* options) {
  const char* value = std::getenv(variable);
  if (value != nullptr && *value != '\0') options->emplace(option, value);
}

}  // namespace

void AddSourceEnvironment(const std::string& uri,
                          std::map<std::string, std::string>* options) {
  auto parsed = Uri::Parse(uri);
  if (!parsed.ok()) return;
  if (parsed->scheme != "s3" && parsed->scheme != "s3a" && parsed->scheme != "oss") {
    return;
  }
  // Keys come as a set: half of one from here and half from there would fit nothing.
  bool keys_given = options->contains("s3.access-key-id");
  for (const auto& [variable, option] : kAws) {
    bool is_key = std::string_view(option).find("-") != std::string_view::npos;
    if (is_key && keys_given) continue;
    AddFrom(variable, option, options);
  }
}

Result<std::string> AbsoluteUri(const std::string& uri) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  if (parsed.scheme == "file") return parsed.ToString();
  return uri;
}

}  // namespace forebay::reader
