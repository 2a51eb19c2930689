#include "support/source_place.h"

#include <arrow/filesystem/localfs.h>

#include <atomic>
#include <filesystem>
#include <utility>

#include "source/arrow_source.h"
#include "source/memory_source.h"
#include "support/hdfs_server.h"

namespace forebay::testing_support {
namespace {

// Short, so that fault tests end soon; the product's defaults are longer.
const source::Options kFastRetries = {
    {"http.attempts-max", "5"}, {"http.backoff-ms", "20"}, {"http.stall-timeout-s", "1"}};

std::string NextFolder() {
  static std::atomic<int> count{0};
  return "place" + std::to_string(count++);
}

Result<std::shared_ptr<source::Source>> Open(const std::string& uri,
                                             source::Options options) {
  options.insert(kFastRetries.begin(), kFastRetries.end());
  return source::OpenSource(uri, options);
}

// Writes beside and renames: a new inode is a new identity, however fast it happens.
std::string ReplaceCommand(const std::string& path, std::string_view bytes) {
  WriteFile(path + ".next", bytes);
  return "mv '" + path + ".next' '" + path + "'";
}

void Replace(const std::string& path, std::string_view bytes) {
  WriteFile(path + ".next", bytes);
  std::filesystem::rename(path + ".next", path);
}

class FilePlace : public TestPlace {
 public:
  static Result<std::unique_ptr<TestPlace>> Make() {
    auto place = std::make_unique<FilePlace>();
    FB_ASSIGN_OR_RETURN(place->source_, Open(place->folder_.path(), {}));
    return std::unique_ptr<TestPlace>(std::move(place));
  }
  source::Source& source() override { return *source_; }
  std::string Uri(const std::string& name) override {
    return "file://" + folder_.path() + "/" + name;
  }
  void Put(const std::string& name, std::string_view bytes) override {
    Replace(folder_.path() + "/" + name, bytes);
  }
  void Remove(const std::string& name) override {
    std::filesystem::remove(folder_.path() + "/" + name);
  }

 private:
  TempFolder folder_;
  std::shared_ptr<source::Source> source_;
};

class MemoryPlace : public TestPlace {
 public:
  source::Source& source() override { return source_; }
  std::string Uri(const std::string& name) override { return "memory://place/" + name; }
  void Put(const std::string& name, std::string_view bytes) override {
    source_.Put(Uri(name), bytes);
  }
  void Remove(const std::string& name) override { source_.Remove(Uri(name)); }

 private:
  source::MemorySource source_;
};

Result<HttpServer*> SharedHttp() {
  static Result<std::unique_ptr<HttpServer>> server = HttpServer::Start();
  if (!server.ok()) return server.status();
  return server->get();
}

Result<FaultProxy*> SharedHttpProxy() {
  FB_ASSIGN_OR_RETURN(HttpServer * server, SharedHttp());
  static Result<std::unique_ptr<FaultProxy>> proxy = FaultProxy::Start(server->port());
  if (!proxy.ok()) return proxy.status();
  (*proxy)->Clear();
  return proxy->get();
}

class HttpPlace : public TestPlace {
 public:
  static Result<std::unique_ptr<TestPlace>> Make(bool proxied) {
    auto place = std::make_unique<HttpPlace>();
    FB_ASSIGN_OR_RETURN(place->server_, SharedHttp());
    if (proxied) {
      FB_ASSIGN_OR_RETURN(place->proxy_, SharedHttpProxy());
    }
    FB_ASSIGN_OR_RETURN(place->source_, Open(place->server_->url() + "/", {}));
    return std::unique_ptr<TestPlace>(std::move(place));
  }
  source::Source& source() override { return *source_; }
  std::string Uri(const std::string& name) override {
    return (proxy_ != nullptr ? proxy_->url() : server_->url()) + "/" + folder_ + "/" +
           name;
  }
  void Put(const std::string& name, std::string_view bytes) override {
    Replace(Path(name), bytes);
  }
  std::string PutCommand(const std::string& name, std::string_view bytes) override {
    return ReplaceCommand(Path(name), bytes);
  }
  void Remove(const std::string& name) override { std::filesystem::remove(Path(name)); }
  bool lists() const override { return false; }
  FaultProxy* proxy() override { return proxy_; }

 private:
  std::string Path(const std::string& name) const {
    return server_->folder() + "/" + folder_ + "/" + name;
  }

  HttpServer* server_ = nullptr;
  FaultProxy* proxy_ = nullptr;
  std::string folder_ = NextFolder();
  std::shared_ptr<source::Source> source_;
};

Result<S3Server*> SharedS3() {
  static Result<std::unique_ptr<S3Server>> server = S3Server::Start();
  if (!server.ok()) return server.status();
  return server->get();
}

Result<FaultProxy*> SharedS3Proxy() {
  FB_ASSIGN_OR_RETURN(S3Server * server, SharedS3());
  static Result<std::unique_ptr<FaultProxy>> proxy = FaultProxy::Start(server->port());
  if (!proxy.ok()) return proxy.status();
  (*proxy)->Clear();
  return proxy->get();
}

class S3Place : public TestPlace {
 public:
  static Result<std::unique_ptr<TestPlace>> Make(bool proxied) {
    auto place = std::make_unique<S3Place>();
    FB_ASSIGN_OR_RETURN(place->server_, SharedS3());
    if (proxied) {
      FB_ASSIGN_OR_RETURN(place->proxy_, SharedS3Proxy());
    }
    source::Options options = {
        {"s3.endpoint", proxied ? place->proxy_->url() : place->server_->endpoint()},
        {"s3.access-key-id", S3Server::kAccessKey},
        {"s3.secret-access-key", S3Server::kSecretKey}};
    FB_ASSIGN_OR_RETURN(place->source_, Open(place->Uri(""), options));
    return std::unique_ptr<TestPlace>(std::move(place));
  }
  source::Source& source() override { return *source_; }
  std::string Uri(const std::string& name) override {
    return std::string("s3://") + S3Server::kBucket + "/" + folder_ + "/" + name;
  }
  void Put(const std::string& name, std::string_view bytes) override {
    FB_CHECK(server_->Put(folder_ + "/" + name, bytes).ok());
  }
  std::string PutCommand(const std::string& name, std::string_view bytes) override {
    return server_->PutCommand(folder_ + "/" + name, bytes);
  }
  void Remove(const std::string& name) override {
    FB_CHECK(server_->Delete(folder_ + "/" + name).ok());
  }
  FaultProxy* proxy() override { return proxy_; }

 private:
  S3Server* server_ = nullptr;
  FaultProxy* proxy_ = nullptr;
  std::string folder_ = NextFolder();
  std::shared_ptr<source::Source> source_;
};

Result<HdfsServer*> SharedHdfs() {
  static Result<std::unique_ptr<HdfsServer>> server = HdfsServer::Start();
  if (!server.ok()) return server.status();
  return server->get();
}

Result<FaultProxy*> SharedHdfsProxy() {
  FB_ASSIGN_OR_RETURN(HdfsServer * server, SharedHdfs());
  static Result<std::unique_ptr<FaultProxy>> proxy = FaultProxy::Start(server->port());
  if (!proxy.ok()) return proxy.status();
  (*proxy)->Clear();
  return proxy->get();
}

class HdfsPlace : public TestPlace {
 public:
  static Result<std::unique_ptr<TestPlace>> Make(bool proxied) {
    auto place = std::make_unique<HdfsPlace>();
    FB_ASSIGN_OR_RETURN(place->server_, SharedHdfs());
    if (proxied) {
      FB_ASSIGN_OR_RETURN(place->proxy_, SharedHdfsProxy());
    }
    FB_ASSIGN_OR_RETURN(place->source_, Open(place->Uri(""), {{"hdfs.user", "root"}}));
    return std::unique_ptr<TestPlace>(std::move(place));
  }
  source::Source& source() override { return *source_; }
  std::string Uri(const std::string& name) override {
    int port = proxy_ != nullptr ? proxy_->port() : server_->port();
    return "hdfs://127.0.0.1:" + std::to_string(port) + Path(name);
  }
  void Put(const std::string& name, std::string_view bytes) override {
    FB_CHECK(server_->Put(Path(name), bytes).ok());
  }
  std::string PutCommand(const std::string& name, std::string_view bytes) override {
    return server_->PutCommand(Path(name), bytes);
  }
  void Remove(const std::string& name) override {
    FB_CHECK(server_->Delete(Path(name)).ok());
  }
  FaultProxy* proxy() override { return proxy_; }

 private:
  std::string Path(const std::string& name) const { return "/" + folder_ + "/" + name; }

  HdfsServer* server_ = nullptr;
  FaultProxy* proxy_ = nullptr;
  std::string folder_ = NextFolder();
  std::shared_ptr<source::Source> source_;
};

// What gs:// and abfs:// run on, over Arrow's local file system.
class ArrowPlace : public TestPlace {
 public:
  source::Source& source() override { return source_; }
  std::string Uri(const std::string& name) override { return "arrow://place/" + name; }
  void Put(const std::string& name, std::string_view bytes) override {
    std::string path = folder_.path() + "/" + name;
    Replace(path, bytes);
    // Size and mtime are all that Arrow tells, so each Put needs an mtime of its own.
    std::filesystem::last_write_time(
        path, std::filesystem::last_write_time(path) + std::chrono::seconds(++puts_));
  }
  void Remove(const std::string& name) override {
    std::filesystem::remove(folder_.path() + "/" + name);
  }

 private:
  TempFolder folder_;
  int puts_ = 0;
  source::ArrowSource source_{{std::make_shared<arrow::fs::LocalFileSystem>(),
                               "arrow://place", folder_.path(), ""}};
};

}  // namespace

std::string PlaceName(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kFile: return "File";
    case PlaceKind::kMemory: return "Memory";
    case PlaceKind::kHttp: return "Http";
    case PlaceKind::kHttpProxied: return "HttpProxied";
    case PlaceKind::kS3: return "S3";
    case PlaceKind::kS3Proxied: return "S3Proxied";
    case PlaceKind::kHdfs: return "Hdfs";
    case PlaceKind::kHdfsProxied: return "HdfsProxied";
    case PlaceKind::kArrow: return "Arrow";
  }
  return "Unknown";
}

Result<std::unique_ptr<TestPlace>> MakePlace(PlaceKind kind) {
  switch (kind) {
    case PlaceKind::kFile: return FilePlace::Make();
    case PlaceKind::kMemory: return std::unique_ptr<TestPlace>(new MemoryPlace);
    case PlaceKind::kHttp: return HttpPlace::Make(false);
    case PlaceKind::kHttpProxied: return HttpPlace::Make(true);
    case PlaceKind::kS3: return S3Place::Make(false);
    case PlaceKind::kS3Proxied: return S3Place::Make(true);
    case PlaceKind::kHdfs: return HdfsPlace::Make(false);
    case PlaceKind::kHdfsProxied: return HdfsPlace::Make(true);
    case PlaceKind::kArrow: return std::unique_ptr<TestPlace>(new ArrowPlace);
  }
  return Status::Internal("no such place");
}

}  // namespace forebay::testing_support
