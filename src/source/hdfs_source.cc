#include "source/hdfs_source.h"

#include <algorithm>
#include <utility>

#include "http/percent.h"
#include "source/http_status.h"
#include "source/identity.h"
#include "source/webhdfs_json.h"

namespace forebay::source {
namespace {

constexpr size_t kListBytesMax = 512 * kMiB;
constexpr int64_t kNanosPerMilli = 1'000'000;

// Ports of the namenode's own protocol, which hdfs:// URIs usually name.
bool IsRpcPort(std::string_view port) { return port == "8020" || port == "9000"; }

std::string AddressOf(const std::string& authority, const std::string& http_port) {
  size_t colon = authority.rfind(':');
  std::string host = authority.substr(0, colon);
  std::string port = colon == authority.npos ? "" : authority.substr(colon + 1);
  if (!http_port.empty()) port = http_port;
  if (port.empty() || IsRpcPort(port)) port = "9870";
  return "http://" + host + ":" + port;
}

std::vector<std::string> SplitByComma(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, comma - at);
    while (part.ends_with('/')) part.pop_back();
    if (!part.empty()) parts.push_back(std::move(part));
    at = comma + 1;
  }
  return parts;
}

model::Object MakeObject(std::string uri, const HdfsEntry& entry) {
  model::Object object{std::move(uri), {}};
  object.identity.size = entry.size;
  object.identity.mtime_ns = entry.modified_ms * kNanosPerMilli;
  object.identity.inode = entry.file_id;
  return object;
}

std::string Join(const std::string& folder, const std::string& name) {
  if (name.empty()) return folder;
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

}  // namespace

Result<HdfsOptions> HdfsOptions::Parse(const Uri& uri, const Options& options) {
  HdfsOptions parsed;
  parsed.origin = GetOption(options, "hdfs.webhdfs");
  parsed.addresses = SplitByComma(parsed.origin);
  for (const std::string& address : parsed.addresses) {
    if (!address.starts_with("http://") && !address.starts_with("https://")) {
      return Status::Invalid("hdfs.webhdfs must be an http or https address, not " +
                             RedactUri(address));
    }
  }
  if (parsed.addresses.empty()) {
    parsed.addresses = {AddressOf(uri.authority, GetOption(options, "hdfs.http-port"))};
  }
  parsed.user = GetOption(options, "hdfs.user");
  if (parsed.user.empty()) parsed.user = FirstEnv({"HADOOP_USER_NAME"});
  parsed.delegation_token = GetOption(options, "hdfs.token");
  return parsed;
}

Result<std::shared_ptr<Source>> HdfsSource::Make(const Uri& uri, const Options& options) {
  FB_ASSIGN_OR_RETURN(HdfsOptions hdfs, HdfsOptions::Parse(uri, options));
  FB_ASSIGN_OR_RETURN(HttpOptions http, ParseHttpOptions(options));
  return std::make_shared<HdfsSource>(std::move(hdfs), http);
}

HdfsSource::HdfsSource(HdfsOptions hdfs, const HttpOptions& http)
    : options_(std::move(hdfs)), transfer_(http.client, http.retry, stats()) {}

Result<http::Request> HdfsSource::MakeRequest(const std::string& uri,
                                              const std::string& operation,
                                              int failures) const {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  if (parsed.scheme != "hdfs")
    return Status::Invalid("not an HDFS URI: " + RedactUri(uri));
  size_t index = (active_ + static_cast<size_t>(failures)) % options_.addresses.size();
  http::Request request;
  request.url = options_.addresses[index] + "/webhdfs/v1" +
                http::PercentEncodePath(parsed.path.empty() ? "/" : parsed.path) +
                "?op=" + operation;
  if (!options_.user.empty()) {
    request.url += "&user.name=" + http::PercentEncode(options_.user);
  }
  if (!options_.delegation_token.empty()) {
    request.url += "&delegation=" + http::PercentEncode(options_.delegation_token);
  }
  request.follow_redirects = true;  // OPEN is answered by a datanode
  return request;
}

Status HdfsSource::Explain(const std::string& uri, const http::Response& response,
                           std::string_view body) {
  HdfsError error = ParseHdfsError(body);
  if (error.exception == "StandbyException" || error.exception == "RetriableException") {
    return Status::Unavailable(uri + ": the namenode is not active: " + error.message);
  }
  std::string detail = error.exception;
  if (!error.message.empty()) detail += " (" + error.message + ")";
  if (error.exception == "FileNotFoundException")
    return Status::NotFound(uri + ": " + detail);
  return HttpStatus(response.status, uri, detail);
}

Result<std::string> HdfsSource::Ask(const std::string& uri, const std::string& operation,
                                    Deadline deadline) {
  int used = 0;
  HttpTransfer::FetchOptions fetch;
  fetch.prepare = [&](const Part& part) {
    used = part.failures;
    return MakeRequest(uri, operation, part.failures);
  };
  fetch.explain = [&](const http::Response& response, std::string_view body) {
    return Explain(RedactUri(uri), response, body);
  };
  fetch.body_bytes_max = kListBytesMax;
  FB_ASSIGN_OR_RETURN(Document document, transfer_.Fetch(fetch, deadline));
  if (used > 0 && options_.addresses.size() > 1) active_ += static_cast<size_t>(used);
  return std::move(document.body);
}

Result<model::Object> HdfsSource::Stat(const std::string& uri, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(std::string json, Ask(uri, "GETFILESTATUS", deadline));
  FB_ASSIGN_OR_RETURN(HdfsEntry entry, ParseHdfsStatus(json));
  if (entry.is_folder) return Status::NotFound(uri + " is a folder, not a file");
  return MakeObject(uri, entry);
}

Result<Listed> HdfsSource::ListFolder(const Folder& folder, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(std::string json, Ask(folder.name, "LISTSTATUS", deadline));
  FB_ASSIGN_OR_RETURN(std::vector<HdfsEntry> entries, ParseHdfsStatuses(json));
  Listed listed;
  for (const HdfsEntry& entry : entries) {
    std::string uri = Join(folder.name, entry.name);
    if (entry.is_folder) {
      listed.folders.push_back({.name = std::move(uri)});
    } else if (!entry.link_target.empty()) {
      int64_t mtime_ns = entry.modified_ms * kNanosPerMilli;
      listed.tree.links.push_back({std::move(uri), entry.link_target, mtime_ns});
    } else {
      listed.tree.objects.push_back(MakeObject(std::move(uri), entry));
    }
  }
  bool empty = entries.empty() && folder.depth > 0;
  if (empty) listed.tree.empty_folders.push_back(folder.name);
  return listed;
}

Result<Tree> HdfsSource::ListTree(const std::string& uri, Deadline deadline) {
  auto list = [&](const FolderPtr& folder) { return ListFolder(*folder, deadline); };
  FB_ASSIGN_OR_RETURN(Tree tree, WalkFolders({.name = uri}, list));
  if (tree.objects.empty() && tree.links.empty() && tree.empty_folders.empty()) {
    return Status::NotFound("no file is at or below " + uri);
  }
  return tree;
}

// Links are followed by the namenode when what they lead to is asked for.
Result<std::vector<model::Object>> HdfsSource::List(const std::string& uri,
                                                    Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Tree tree, ListTree(uri, deadline));
  for (const Link& link : tree.links) {
    auto object = Stat(link.uri, deadline);
    if (object.ok()) tree.objects.push_back(*std::move(object));
    if (!object.ok() && object.status().code() != StatusCode::kNotFound) {
      return object.status();
    }
  }
  if (tree.objects.empty()) return Status::NotFound("no file is at or below " + uri);
  std::ranges::sort(tree.objects, {}, &model::Object::uri);
  return std::move(tree.objects);
}

Status HdfsSource::CheckSame(const model::Object& object, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(model::Object now, Stat(object.uri, deadline));
  return now.identity == object.identity ? Status::OK() : ChangedStatus(object);
}

Status HdfsSource::Read(const model::Object& object, int64_t offset,
                        std::span<std::byte> into, Deadline deadline) {
  return Stream(object, {offset, static_cast<int64_t>(into.size())}, CopyInto(into),
                deadline);
}

Status HdfsSource::Stream(const model::Object& object, Slice slice, const Sink& sink,
                          Deadline deadline) {
  FB_RETURN_NOT_OK(CheckRange(object, slice.offset, static_cast<uint64_t>(slice.size)));
  FB_RETURN_NOT_OK(CheckSame(object, deadline));
  if (slice.size == 0) return Status::OK();
  auto prepare = [&](const Part& part) {
    return MakeRequest(object.uri,
                       "OPEN&offset=" + std::to_string(part.offset) +
                           "&length=" + std::to_string(part.size),
                       part.failures);
  };
  auto explain = [&](const http::Response& response, std::string_view body) {
    return Explain(RedactUri(object.uri), response, body);
  };
  auto check_head = [](const http::Response&) { return Status::OK(); };
  Status read =
      transfer_.Read({object, slice, sink, prepare, explain, check_head, true}, deadline);
  // A file cut or replaced during the read may fail in any way; say what happened.
  Status same = CheckSame(object, deadline);
  if (same.code() == StatusCode::kChanged || read.ok()) return same;
  return read;
}

}  // namespace forebay::source
