// How gs:// and abfs:// sources are opened: PyIceberg's gcs.* and adls.* options become
// Arrow's.
#include <arrow/filesystem/azurefs.h>
#include <arrow/filesystem/gcsfs.h>

#include <string_view>

#include "base/arrow_status.h"
#include "source/arrow_source.h"
#include "source/http_options.h"

namespace forebay::source {
namespace {

constexpr std::string_view kGcsKnown[] = {"gcs.anonymous", "gcs.oauth2.token",
                                          "gcs.oauth2.token-expires-at",
                                          "gcs.service.host"};
constexpr std::string_view kAzureKnown[] = {
    "adls.account-key",         "adls.account-name",
    "adls.anonymous",           "adls.client-id",
    "adls.client-secret",       "adls.sas-token",
    "adls.tenant-id",           "adls.blob-storage-authority",
    "adls.blob-storage-scheme", "adls.dfs-storage-authority",
    "adls.dfs-storage-scheme"};

Result<arrow::fs::GcsOptions> GcsCredentials(const Options& options) {
  FB_ASSIGN_OR_RETURN(std::optional<bool> anonymous, GetFlag(options, "gcs.anonymous"));
  if (anonymous.value_or(false)) return arrow::fs::GcsOptions::Anonymous();
  std::string token = GetOption(options, "gcs.oauth2.token");
  if (token.empty()) return arrow::fs::GcsOptions::Defaults();
  auto expires = http::ParseNumber(GetOption(options, "gcs.oauth2.token-expires-at"));
  if (!expires) {
    return Status::Invalid(
        "gcs.oauth2.token needs gcs.oauth2.token-expires-at, in milliseconds since 1970");
  }
  return arrow::fs::GcsOptions::FromAccessToken(
      token, arrow::fs::TimePoint(milliseconds(*expires)));
}

Status SetAzureCredentials(const Options& options, arrow::fs::AzureOptions* azure) {
  FB_ASSIGN_OR_RETURN(std::optional<bool> anonymous, GetFlag(options, "adls.anonymous"));
  std::string key = GetOption(options, "adls.account-key");
  std::string sas = GetOption(options, "adls.sas-token");
  std::string secret = GetOption(options, "adls.client-secret");
  if (anonymous.value_or(false)) return FromArrow(azure->ConfigureAnonymousCredential());
  if (!key.empty()) return FromArrow(azure->ConfigureAccountKeyCredential(key));
  if (!sas.empty()) return FromArrow(azure->ConfigureSASCredential(sas));
  if (secret.empty()) return FromArrow(azure->ConfigureDefaultCredential());
  return FromArrow(azure->ConfigureClientSecretCredential(
      GetOption(options, "adls.tenant-id"), GetOption(options, "adls.client-id"),
      secret));
}

void SetIfGiven(const Options& options, const std::string& name, std::string* value) {
  std::string given = GetOption(options, name);
  if (!given.empty()) *value = given;
}

std::string PrefixOf(const Uri& uri) { return uri.scheme + "://" + uri.authority; }

}  // namespace

Result<std::shared_ptr<Source>> ArrowSource::MakeGcs(const Uri& uri,
                                                     const Options& options) {
  FB_RETURN_NOT_OK(CheckKnown(options, "gcs.", kGcsKnown));
  FB_ASSIGN_OR_RETURN(arrow::fs::GcsOptions gcs, GcsCredentials(options));
  std::string host = GetOption(options, "gcs.service.host");
  if (!host.empty()) {
    FB_ASSIGN_OR_RETURN(Uri endpoint, Uri::Parse(host));
    gcs.scheme = endpoint.scheme;
    gcs.endpoint_override = endpoint.authority;
  }
  gcs.retry_limit_seconds = 60;
  FB_ASSIGN_OR_RETURN(auto file_system, FromArrow(arrow::fs::GcsFileSystem::Make(gcs)));
  return std::make_shared<ArrowSource>(
      Place{file_system, PrefixOf(uri), uri.authority, host});
}

Result<std::shared_ptr<Source>> ArrowSource::MakeAzure(const Uri& uri,
                                                       const Options& options) {
  FB_RETURN_NOT_OK(CheckKnown(options, "adls.", kAzureKnown));
  std::string container;
  FB_ASSIGN_OR_RETURN(
      arrow::fs::AzureOptions azure,
      FromArrow(arrow::fs::AzureOptions::FromUri(PrefixOf(uri), &container)));
  SetIfGiven(options, "adls.account-name", &azure.account_name);
  SetIfGiven(options, "adls.blob-storage-authority", &azure.blob_storage_authority);
  SetIfGiven(options, "adls.blob-storage-scheme", &azure.blob_storage_scheme);
  SetIfGiven(options, "adls.dfs-storage-authority", &azure.dfs_storage_authority);
  SetIfGiven(options, "adls.dfs-storage-scheme", &azure.dfs_storage_scheme);
  if (azure.account_name.empty()) {
    return Status::Invalid("name the Azure account: set adls.account-name, or write " +
                           uri.scheme + "://container@account.dfs.core.windows.net/path");
  }
  FB_RETURN_NOT_OK(SetAzureCredentials(options, &azure));
  FB_ASSIGN_OR_RETURN(auto file_system,
                      FromArrow(arrow::fs::AzureFileSystem::Make(azure)));
  std::string origin = GetOption(options, "adls.blob-storage-authority");
  return std::make_shared<ArrowSource>(
      Place{file_system, PrefixOf(uri), container, origin});
}

}  // namespace forebay::source
