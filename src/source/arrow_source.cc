#include "source/arrow_source.h"

#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/arrow_status.h"
#include "source/deadline_call.h"
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

}  // namespace

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
