#include "support/servers.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "http/client.h"
#include "http/percent.h"

namespace forebay::testing_support {
namespace {

constexpr std::chrono::seconds kStartTimeout{20};

std::string Script(const std::string& name) {
  return std::string(FOREBAY_ROOT) + "/tests/servers/" + name;
}

Result<std::string> FindTool(const std::string& name) {
  std::vector<std::string> folders;
  if (const char* tools = std::getenv("FOREBAY_TOOLS")) folders.emplace_back(tools);
  if (const char* home = std::getenv("HOME")) {
    folders.push_back(std::string(home) + "/.cache/forebay-dev/tools");
  }
  for (const std::string& folder : folders) {
    std::string path = folder + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return Status::NotFound(name + " is not there: run 'make setup', or set FOREBAY_TOOLS");
}

Status Ready(Subprocess& process, int port, const std::string& name) {
  if (WaitForPort(port, kStartTimeout)) return Status::OK();
  return Status::Unavailable(name + (process.running() ? " does not answer" : " ended"));
}

}  // namespace

std::string Python() {
  std::string own = std::string(FOREBAY_ROOT) + "/.venv/bin/python";
  return ::access(own.c_str(), X_OK) == 0 ? own : "python3";
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  FB_CHECK(file.good());
}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(std::vector<std::string> flags) {
  auto server = std::make_unique<HttpServer>();
  server->port_ = FreePort();
  std::vector<std::string> argv = {Python(), Script("http_server.py"),
                                   std::to_string(server->port_), server->folder()};
  argv.insert(argv.end(), flags.begin(), flags.end());
  FB_ASSIGN_OR_RETURN(server->process_, Subprocess::Start({.argv = argv}));
  FB_RETURN_NOT_OK(Ready(server->process_, server->port_, "http_server.py"));
  return server;
}

Result<std::unique_ptr<ScriptedServer>> ScriptedServer::Start() {
  auto server = std::make_unique<ScriptedServer>();
  server->port_ = FreePort();
  server->Script("[]");
  FB_ASSIGN_OR_RETURN(
      server->process_,
      Subprocess::Start(
          {.argv = {Python(), testing_support::Script("scripted_server.py"),
                    std::to_string(server->port_), server->folder_.path()}}));
  FB_RETURN_NOT_OK(Ready(server->process_, server->port_, "scripted_server.py"));
  return server;
}

void ScriptedServer::Script(std::string_view json) const {
  WriteFile(folder_.path() + "/script.json", json);
}

std::string ScriptedServer::log() const {
  std::ifstream file(folder_.path() + "/log");
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<std::unique_ptr<S3Server>> S3Server::Start() {
  FB_ASSIGN_OR_RETURN(std::string program, FindTool("versitygw"));
  auto server = std::make_unique<S3Server>();
  server->port_ = FreePort();
  std::string root = server->folder_.path() + "/data";
  std::string versions = server->folder_.path() + "/versions";
  std::filesystem::create_directories(root);
  std::filesystem::create_directories(versions);
  Subprocess::Options options;
  options.argv = {
      program, "--port",           "127.0.0.1:" + std::to_string(server->port_),
      "posix", "--versioning-dir", versions,
      root};
  options.env = {{"ROOT_ACCESS_KEY", kAccessKey}, {"ROOT_SECRET_KEY", kSecretKey}};
  options.output_file = server->folder_.path() + "/log";
  options.folder = server->folder_.path();
  FB_ASSIGN_OR_RETURN(server->process_, Subprocess::Start(options));
  FB_RETURN_NOT_OK(Ready(server->process_, server->port_, "versitygw"));
  FB_RETURN_NOT_OK(server->RunClient({"make-bucket", kBucket}));
  return server;
}

std::vector<std::string> S3Server::Client(std::vector<std::string> arguments) const {
  std::vector<std::string> argv = {"env",
                                   std::string("ROOT_ACCESS_KEY=") + kAccessKey,
                                   std::string("ROOT_SECRET_KEY=") + kSecretKey,
                                   Python(),
                                   Script("s3_client.py"),
                                   endpoint()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

Status S3Server::RunClient(std::vector<std::string> arguments) const {
  return RunCommand({.argv = Client(std::move(arguments)),
                     .output_file = folder_.path() + "/client.log"});
}

Status S3Server::Put(const std::string& key, std::string_view bytes) {
  std::string file = folder_.path() + "/put" + std::to_string(file_count_++);
  WriteFile(file, bytes);
  return RunClient({"put", kBucket, key, file});
}

Status S3Server::PutMany(const std::string& prefix, int count) {
  return RunClient({"put-many", kBucket, prefix, std::to_string(count)});
}

Status S3Server::Delete(const std::string& key) {
  return RunClient({"delete", kBucket, key});
}

std::string S3Server::PutCommand(const std::string& key, std::string_view bytes) {
  std::string file = folder_.path() + "/put" + std::to_string(file_count_++);
  WriteFile(file, bytes);
  std::string command;
  for (const std::string& word : Client({"put", kBucket, key, file})) {
    command += "'" + word + "' ";
  }
  return command;
}

Result<std::unique_ptr<EtcdCluster>> EtcdCluster::Start(const Options& options) {
  FB_ASSIGN_OR_RETURN(std::string program, FindTool("etcd"));
  auto cluster = std::make_unique<EtcdCluster>();
  bool tls = !options.cert_file.empty();
  std::string all;
  std::vector<int> ports;
  std::vector<std::string> peers;
  for (int i = 0; i < options.members; ++i) {
    ports.push_back(FreePort());
    peers.push_back("http://127.0.0.1:" + std::to_string(FreePort()));
    cluster->addresses_.push_back("127.0.0.1:" + std::to_string(ports[i]));
    all += (i > 0 ? ",m" : "m") + std::to_string(i) + "=" + peers[i];
  }
  for (int i = 0; i < options.members; ++i) {
    std::string name = "m" + std::to_string(i);
    std::string client = (tls ? "https://" : "http://") + cluster->addresses_[i];
    // Short terms: a lease of one second is then one, and elections are quick.
    std::vector<std::string> argv = {program,
                                     "--name",
                                     name,
                                     "--data-dir",
                                     cluster->folder_.path() + "/" + name,
                                     "--listen-client-urls",
                                     client,
                                     "--advertise-client-urls",
                                     client,
                                     "--listen-peer-urls",
                                     peers[i],
                                     "--initial-advertise-peer-urls",
                                     peers[i],
                                     "--initial-cluster",
                                     all,
                                     "--heartbeat-interval",
                                     "20",
                                     "--election-timeout",
                                     "200",
                                     "--unsafe-no-fsync"};
    if (tls) {
      argv.insert(argv.end(),
                  {"--cert-file", options.cert_file, "--key-file", options.key_file});
    }
    FB_ASSIGN_OR_RETURN(Subprocess process,
                        Subprocess::Start({.argv = argv,
                                           .output_file = cluster->folder_.path() + "/" +
                                                          name + ".log"}));
    cluster->processes_.push_back(std::move(process));
  }
  for (int i = 0; i < options.members; ++i) {
    FB_RETURN_NOT_OK(Ready(cluster->processes_[i], ports[i], "etcd"));
  }
  return cluster;
}

Result<std::unique_ptr<FaultProxy>> FaultProxy::Start(int upstream_port) {
  auto proxy = std::make_unique<FaultProxy>();
  proxy->port_ = FreePort();
  FB_ASSIGN_OR_RETURN(proxy->process_,
                      Subprocess::Start({.argv = {Python(), Script("fault_proxy.py"),
                                                  std::to_string(proxy->port_),
                                                  std::to_string(upstream_port)}}));
  FB_RETURN_NOT_OK(Ready(proxy->process_, proxy->port_, "fault_proxy.py"));
  return proxy;
}

std::string FaultProxy::Control(const std::string& target) {
  http::Client client({});
  http::Request request;
  request.url = url() + target;
  std::string body;
  auto sink = [&](const http::Response&, std::span<const std::byte> piece) {
    body.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status::OK();
  };
  auto response = client.Send(request, sink, Deadline::After(std::chrono::seconds(10)));
  FB_CHECK(response.ok() && response->status == 200);
  return body;
}

void FaultProxy::Clear() { Control("/__clear"); }

void FaultProxy::Add(const Fault& fault) {
  std::string target = "/__plan?stage=" + fault.stage + "&kind=" + fault.kind +
                       "&skip=" + std::to_string(fault.skip) +
                       "&times=" + std::to_string(fault.times);
  if (!fault.at.empty()) target += "&at=" + fault.at;
  if (!fault.run.empty()) target += "&run=" + http::PercentEncode(fault.run);
  Control(target);
}

int FaultProxy::fired() { return std::stoi(Control("/__fired")); }

}  // namespace forebay::testing_support
