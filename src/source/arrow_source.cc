#include "source/arrow_source.h"

#include <arrow/filesystem/azurefs.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/gcsfs.h>
#include <arrow/io/interfaces.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arrow_status.h"
#include "source/deadline_call.h"
#include "source/http_options.h"
#include "source/identity.h"

namespace forebay::source {
namespace {

using arrow::fs::FileInfo;
using arrow::fs::FileSystem;
using arrow::fs::FileType;

// Arrow gives all faults of Google's and Azure's libraries the same code; what forbids is
// only in the words.
Status Translate(const arrow::Status& status) {
  Status plain = FromArrow(status);
  if (plain.code() != StatusCode::kInternal) return plain;
  constexpr std::string_view kForbidden[] = {"PERMISSION_DENIED",
                                             "UNAUTHENTICATED",
                                             "AuthenticationFailed",
                                             "Authorization",
                                             "403 ",
                                             "401 "};
  for (std::string_view word : kForbidden) {
    if (plain.message().find(word) != std::string::npos) {
      return Status::Permission(plain.message() + "; check the credentials");
    }
  }
  return Status::Unavailable(plain.message());
}

model::ObjectIdentity IdentityOf(const FileInfo& info) {
  model::ObjectIdentity identity;
  identity.size = info.size();
  identity.mtime_ns = info.mtime().time_since_epoch().count();
  return identity;
}

Result<FileInfo> Ask(FileSystem& file_system, const std::string& path) {
  arrow::Result<FileInfo> info = file_system.GetFileInfo(path);
  if (!info.ok()) return Translate(info.status());
  if (info->type() == FileType::NotFound)
    return Status::NotFound("no such object: " + path);
  return *info;
}

using Infos = std::vector<FileInfo>;

Result<Infos> ListInfos(FileSystem& file_system, const std::string& path) {
  FB_ASSIGN_OR_RETURN(FileInfo info, Ask(file_system, path));
  if (info.type() == FileType::File) return Infos{info};
  arrow::fs::FileSelector below;
  below.base_dir = path;
  below.recursive = true;
  arrow::Result<Infos> infos = file_system.GetFileInfo(below);
  if (!infos.ok()) return Translate(infos.status());
  return *std::move(infos);
}

struct ReadJob {
  std::shared_ptr<FileSystem> file_system;
  std::string path;
  model::Object object;
  int64_t offset = 0;
  int64_t size = 0;
};

Status CheckSame(const ReadJob& job) {
  FB_ASSIGN_OR_RETURN(FileInfo info, Ask(*job.file_system, job.path));
  bool same = IdentityOf(info) == job.object.identity;
  return same ? Status::OK() : ChangedStatus(job.object);
}

using Bytes = std::shared_ptr<arrow::Buffer>;

// Into a buffer of its own: the caller's may be gone when the deadline was passed.
Result<Bytes> ReadNow(const ReadJob& job) {
  FB_RETURN_NOT_OK(CheckSame(job));
  if (job.size == 0) return std::make_shared<arrow::Buffer>(nullptr, 0);
  auto file = job.file_system->OpenInputFile(job.path);
  if (!file.ok()) return Translate(file.status());
  arrow::Result<Bytes> bytes = (*file)->ReadAt(job.offset, job.size);
  FB_RETURN_NOT_OK(CheckSame(job));
  if (!bytes.ok()) return Translate(bytes.status());
  if ((*bytes)->size() != job.size) return ChangedStatus(job.object);
  return *std::move(bytes);
}

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

ArrowSource::ArrowSource(Place place) : place_(std::move(place)) {}

Result<std::string> ArrowSource::PathOf(const std::string& uri) const {
  if (uri != place_.prefix && !uri.starts_with(place_.prefix + "/")) {
    return Status::Invalid(RedactUri(uri) + " is not below " + RedactUri(place_.prefix));
  }
  std::string path = place_.base + uri.substr(place_.prefix.size());
  while (path.ends_with('/')) path.pop_back();
  return path;
}

std::string ArrowSource::UriOf(const std::string& path) const {
  return place_.prefix + path.substr(place_.base.size());
}

Result<std::vector<model::Object>> ArrowSource::List(const std::string& uri,
                                                     Deadline deadline) {
  FB_ASSIGN_OR_RETURN(std::string path, PathOf(uri));
  ++stats().requests;
  auto call = [fs = place_.file_system, path] { return ListInfos(*fs, path); };
  FB_ASSIGN_OR_RETURN(Infos infos, CallWithDeadline(call, deadline, "listing " + uri));
  std::vector<model::Object> objects;
  for (const FileInfo& info : infos) {
    if (info.type() != FileType::File) continue;
    objects.push_back({UriOf(info.path()), IdentityOf(info)});
  }
  if (objects.empty()) return Status::NotFound("no object is at or below " + uri);
  std::ranges::sort(objects, {}, &model::Object::uri);
  return objects;
}

Result<model::Object> ArrowSource::Stat(const std::string& uri, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(std::string path, PathOf(uri));
  ++stats().requests;
  auto call = [fs = place_.file_system, path] { return Ask(*fs, path); };
  FB_ASSIGN_OR_RETURN(FileInfo info, CallWithDeadline(call, deadline, "asking " + uri));
  if (info.type() != FileType::File) {
    return Status::NotFound(uri + " is a folder, not an object");
  }
  return model::Object{UriOf(info.path()), IdentityOf(info)};
}

Status ArrowSource::Read(const model::Object& object, int64_t offset,
                         std::span<std::byte> into, Deadline deadline) {
  FB_RETURN_NOT_OK(CheckRange(object, offset, into.size()));
  FB_ASSIGN_OR_RETURN(std::string path, PathOf(object.uri));
  if (deadline.passed()) return DeadlineStatus("reading " + object.uri);
  ++stats().requests;
  ReadJob job{place_.file_system, path, object, offset,
              static_cast<int64_t>(into.size())};
  auto call = [job = std::move(job)] { return ReadNow(job); };
  FB_ASSIGN_OR_RETURN(Bytes bytes,
                      CallWithDeadline(call, deadline, "reading " + object.uri));
  if (!into.empty()) std::memcpy(into.data(), bytes->data(), into.size());
  stats().bytes += into.size();
  return Status::OK();
}

}  // namespace forebay::source
