#include "source/file_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_status.h"
#include "base/size.h"
#include "base/unique_fd.h"
#include "source/http_options.h"
#include "source/identity.h"
#include "source/tree_walk.h"

namespace forebay::source {
namespace {

// Between two looks at the deadline.
constexpr size_t kReadStepBytes = 8 * kMiB;

Result<std::string> PathOf(const std::string& uri) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  if (parsed.scheme != "file") {
    return Status::Invalid("not a local file: " + RedactUri(uri));
  }
  return parsed.path;
}

Status CheckIdentity(int fd, const model::Object& object) {
  struct stat st;
  if (::fstat(fd, &st) != 0) return ErrnoStatus(errno, "stat " + object.uri);
  if (FileIdentity(st) == object.identity) return Status::OK();
  return ChangedStatus(object);
}

Status ReadFully(int fd, const model::Object& object, int64_t offset,
                 std::span<std::byte> into, Deadline deadline) {
  while (!into.empty()) {
    if (deadline.passed()) return DeadlineStatus("reading " + object.uri);
    size_t want = std::min(into.size(), kReadStepBytes);
    ssize_t got = ::pread(fd, into.data(), want, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "read " + object.uri);
    if (got == 0) return ChangedStatus(object);
    into = into.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return Status::OK();
}

Status EmptyFolder(const std::string& path) {
  return Status::NotFound("the folder " + path + " is empty: check the path");
}

// A walk that found nothing because there is nothing to walk.
template <typename T>
Result<T> ExplainWalk(const std::string& path, Result<T> walked) {
  if (walked.status().code() == StatusCode::kNotFound &&
      ::access(path.c_str(), F_OK) != 0) {
    return Status::NotFound("there is no file or folder " + path + ": check the path");
  }
  return walked;
}

}  // namespace

Result<std::shared_ptr<Source>> FileSource::Make(const Uri&, const Options& options) {
  std::string links = GetOption(options, "file.links");
  if (!links.empty() && links != "keep" && links != "follow") {
    return Status::Invalid("file.links is keep or follow, not " + links);
  }
  return std::make_shared<FileSource>(links == "follow" ? Links::kFollow : Links::kKeep);
}

Result<std::vector<model::Object>> FileSource::List(const std::string& uri,
                                                    Deadline deadline) {
  FB_ASSIGN_OR_RETURN(std::string path, PathOf(uri));
  ++stats().requests;
  FB_ASSIGN_OR_RETURN(auto objects, ExplainWalk(path, WalkFiles(path, deadline)));
  if (objects.empty()) return EmptyFolder(path);
  return objects;
}

Result<Tree> FileSource::ListTree(const std::string& uri, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(std::string path, PathOf(uri));
  ++stats().requests;
  FB_ASSIGN_OR_RETURN(Tree tree,
                      ExplainWalk(path, WalkTree(path, tree_links_, deadline)));
  if (tree.objects.empty() && tree.links.empty() && tree.empty_folders.empty()) {
    return EmptyFolder(path);
  }
  return tree;
}

Result<model::Object> FileSource::Stat(const std::string& uri, Deadline) {
  FB_ASSIGN_OR_RETURN(std::string path, PathOf(uri));
  ++stats().requests;
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, path);
  if (S_ISDIR(st.st_mode)) return Status::NotFound(path + " is a folder, not a file");
  if (!S_ISREG(st.st_mode)) return Status::NotFound(path + " is not a regular file");
  return model::Object{"file://" + path, FileIdentity(st)};
}

Status FileSource::Read(const model::Object& object, int64_t offset,
                        std::span<std::byte> into, Deadline deadline) {
  FB_RETURN_NOT_OK(CheckRange(object, offset, into.size()));
  FB_ASSIGN_OR_RETURN(std::string path, PathOf(object.uri));
  ++stats().requests;
  // O_NONBLOCK: a FIFO that took the file's place must not hang the open.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return ErrnoStatus(errno, "open " + path);
  FB_RETURN_NOT_OK(CheckIdentity(fd.get(), object));
  FB_RETURN_NOT_OK(ReadFully(fd.get(), object, offset, into, deadline));
  stats().bytes += into.size();
  return CheckIdentity(fd.get(), object);
}

}  // namespace forebay::source
