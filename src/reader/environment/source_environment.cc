#include "reader/environment/source_environment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "base/uri.h"
#include "model/source_options.h"
#include "reader/environment/catalog_configuration.h"

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

// Keys come as a set: half of one from here and half from there would fit nothing.
void AddAwsVariables(std::map<std::string, std::string>* options) {
  bool keys_given =
      options->contains("s3.access-key-id") || options->contains("client.access-key-id");
  for (const auto& [variable, option] : kAws) {
    bool is_key = std::string_view(option).find("-") != std::string_view::npos;
    if (is_key && keys_given) continue;
    AddFrom(variable, option, options);
  }
}

bool IsIn(const std::string& scheme, std::initializer_list<std::string_view> schemes) {
  return std::ranges::find(schemes, scheme) != schemes.end();
}

}  // namespace

Status AddSourceEnvironment(const std::string& uri,
                            std::map<std::string, std::string>* options) {
  FB_RETURN_NOT_OK(model::CheckOptions(*options));
  if (IsCatalogUri(uri)) {
    FB_RETURN_NOT_OK(AddCatalogConfiguration(uri, options));
    AddAwsVariables(options);  // the table may be in S3
    return Status::OK();
  }
  auto parsed = Uri::Parse(uri);
  if (!parsed.ok()) return Status::OK();  // said where it is opened
  bool catalog_named = options->contains("catalog");
  if (catalog_named) FB_RETURN_NOT_OK(AddCatalogConfiguration(uri, options));
  bool s3 = IsIn(parsed->scheme, {"s3", "oss"});
  if (s3) AddAwsVariables(options);
  if (catalog_named || !(s3 || IsIn(parsed->scheme, {"gs", "abfs", "abfss"}))) {
    return Status::OK();
  }
  return AddCatalogConfiguration(uri, options);
}

Result<std::string> AbsoluteUri(const std::string& uri) {
  if (IsCatalogUri(uri)) return uri;
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  return parsed.ToString();
}

}  // namespace forebay::reader
