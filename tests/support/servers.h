// The real servers that tests read from, each on a loopback port of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "support/subprocess.h"

namespace forebay::testing_support {

// The project's own Python where it is set up: some systems' python3 is a slow wrapper.
std::string Python();

// Makes the folders it needs.
void WriteFile(const std::string& path, std::string_view bytes);

// tests/servers/http_server.py over a folder of its own.
class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> Start(std::vector<std::string> flags = {});
  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  const std::string& folder() const { return folder_.path(); }

 private:
  TempFolder folder_;
  int port_ = 0;
  Subprocess process_;
};

// tests/servers/scripted_server.py: answers what a test wrote down.
class ScriptedServer {
 public:
  static Result<std::unique_ptr<ScriptedServer>> Start();
  std::string url() const { return "http://" + host(); }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  // The text of script.json, see there.
  void Script(std::string_view json) const;
  // A line for each request so far.
  std::string log() const;

 private:
  TempFolder folder_;
  int port_ = 0;
  Subprocess process_;
};

// versitygw with one bucket. kNotFound when the program is not there.
class S3Server {
 public:
  static constexpr char kAccessKey[] = "forebay-test-key";
  static constexpr char kSecretKey[] = "forebay-test-secret";
  static constexpr char kBucket[] = "bucket";

  static Result<std::unique_ptr<S3Server>> Start();
  int port() const { return port_; }
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_); }
  Status Put(const std::string& key, std::string_view bytes);
  Status PutMany(const std::string& prefix, int count);
  Status Delete(const std::string& key);
  // A shell command that overwrites `key` with `bytes`.
  std::string PutCommand(const std::string& key, std::string_view bytes);

 private:
  std::vector<std::string> Client(std::vector<std::string> arguments) const;
  Status RunClient(std::vector<std::string> arguments) const;

  TempFolder folder_;
  int port_ = 0;
  int file_count_ = 0;
  Subprocess process_;
};

// etcd with one or more members. kNotFound when the program is not there.
class EtcdCluster {
 public:
  struct Options {
    int members = 1;
    std::string cert_file{};  // with key_file: clients speak TLS
    std::string key_file{};
  };
  static Result<std::unique_ptr<EtcdCluster>> Start(const Options& options);
  // "127.0.0.1:port" of every member.
  const std::vector<std::string>& addresses() const { return addresses_; }
  void Kill(size_t member) { processes_[member].Kill(); }

 private:
  TempFolder folder_;
  std::vector<std::string> addresses_;
  std::vector<Subprocess> processes_;
};

// tests/servers/fault_proxy.py in front of another server.
class FaultProxy {
 public:
  struct Fault {
    std::string stage;  // list, stat, read
    std::string kind;   // see the script
    std::string at{};   // first, middle, last
    int skip = 0;
    int times = 1;
    std::string run{};  // a shell command
  };

  static Result<std::unique_ptr<FaultProxy>> Start(int upstream_port);
  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void Clear();
  void Add(const Fault& fault);
  int fired();

 private:
  std::string Control(const std::string& target);

  int port_ = 0;
  Subprocess process_;
};

}  // namespace forebay::testing_support
