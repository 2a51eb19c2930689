#include "support/hdfs_server.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/servers.h"

namespace forebay::testing_support {
namespace {

std::string JarFolder() {
  if (const char* folder = std::getenv("FOREBAY_HDFS")) {
    return std::string(folder) + "/jars";
  }
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "" : home) + "/.cache/forebay-dev/hdfs/jars";
}

std::string Property(const std::string& name, const std::string& value) {
  return "<property><name>" + name + "</name><value>" + value + "</value></property>\n";
}

std::string Loopback(int port) { return "127.0.0.1:" + std::to_string(port); }

}  // namespace

Result<std::unique_ptr<HdfsServer>> HdfsServer::Start() {
  auto server = std::make_unique<HdfsServer>();
  server->jars_ = JarFolder();
  bool there = ::access((server->jars_ + "/hadoop-hdfs-3.4.1.jar").c_str(), R_OK) == 0;
  if (!there || !RunCommand({.argv = {"java", "-version"}}).ok()) {
    return Status::NotFound(
        "HDFS is not there: install Java and run "
        "tests/servers/fetch-hdfs");
  }
  FB_RETURN_NOT_OK(server->WriteConfig());
  const std::string package = "org.apache.hadoop.hdfs.server.";
  FB_ASSIGN_OR_RETURN(Subprocess format,
                      server->StartJava(package + "namenode.NameNode", "-format"));
  if (format.Wait() != 0) return server->Failure("the namenode was not formatted");
  FB_ASSIGN_OR_RETURN(server->namenode_,
                      server->StartJava(package + "namenode.NameNode", ""));
  FB_ASSIGN_OR_RETURN(server->datanode_,
                      server->StartJava(package + "datanode.DataNode", ""));
  if (!server->RunClient({"wait"}).ok()) return server->Failure("HDFS did not start");
  return server;
}

Status HdfsServer::Failure(const std::string& what) const {
  std::ifstream log(folder_.path() + "/log");
  std::string text((std::istreambuf_iterator<char>(log)), {});
  return Status::Internal(what + "; its log ends with:\n" +
                          text.substr(text.size() - std::min<size_t>(text.size(), 2000)));
}

Status HdfsServer::WriteConfig() {
  const std::string& root = folder_.path();
  http_port_ = FreePort();
  int rpc_port = FreePort();
  WriteFile(root + "/conf/core-site.xml",
            "<configuration>" + Property("fs.defaultFS", "hdfs://" + Loopback(rpc_port)) +
                Property("hadoop.tmp.dir", root + "/tmp") + "</configuration>");
  WriteFile(
      root + "/conf/hdfs-site.xml",
      "<configuration>" + Property("dfs.namenode.http-address", Loopback(http_port_)) +
          Property("dfs.namenode.name.dir", "file://" + root + "/name") +
          Property("dfs.datanode.data.dir", "file://" + root + "/data") +
          Property("dfs.datanode.address", Loopback(0)) +
          Property("dfs.datanode.ipc.address", Loopback(0)) +
          Property("dfs.datanode.http.address", Loopback(0)) +
          Property("dfs.replication", "1") +
          Property("dfs.permissions.enabled", "false") +
          Property("dfs.namenode.safemode.extension", "0") +
          Property("dfs.namenode.datanode.registration.ip-hostname-check", "false") +
          "</configuration>");
  WriteFile(root + "/conf/log4j.properties",
            "log4j.rootLogger=WARN, out\n"
            "log4j.appender.out=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.out.layout=org.apache.log4j.SimpleLayout\n");
  // The servers look for their web pages on the classpath and refuse to start without.
  for (const char* name : {"hdfs", "datanode", "secondary"}) {
    WriteFile(root + "/conf/webapps/" + name + "/WEB-INF/web.xml",
              "<web-app xmlns=\"http://java.sun.com/xml/ns/javaee\" "
              "version=\"2.5\"></web-app>");
  }
  return Status::OK();
}

Result<Subprocess> HdfsServer::StartJava(const std::string& main_class,
                                         const std::string& argument) {
  Subprocess::Options options;
  options.argv = {"java",
                  "-Xmx256m",
                  "-XX:+UseSerialGC",
                  "-XX:TieredStopAtLevel=1",
                  "-Djava.net.preferIPv4Stack=true",
                  "--add-opens=java.base/java.lang=ALL-UNNAMED",  // its JAXB is old
                  "-cp",
                  folder_.path() + "/conf:" + jars_ + "/*",
                  main_class};
  if (!argument.empty()) options.argv.push_back(argument);
  options.env = {{"HADOOP_USER_NAME", "root"}};
  options.output_file = folder_.path() + "/log";
  options.folder = folder_.path();
  return Subprocess::Start(options);
}

std::vector<std::string> HdfsServer::Client(std::vector<std::string> arguments) const {
  std::vector<std::string> argv = {
      Python(), std::string(FOREBAY_ROOT) + "/tests/servers/webhdfs_client.py",
      address()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

Status HdfsServer::RunClient(std::vector<std::string> arguments) const {
  return RunCommand({.argv = Client(std::move(arguments)),
                     .output_file = folder_.path() + "/client.log"});
}

std::string HdfsServer::WriteNext(std::string_view bytes) {
  std::string file = folder_.path() + "/put" + std::to_string(file_count_++);
  WriteFile(file, bytes);
  return file;
}

Status HdfsServer::Put(const std::string& path, std::string_view bytes) {
  return RunClient({"put", path, WriteNext(bytes)});
}

Status HdfsServer::Delete(const std::string& path) { return RunClient({"delete", path}); }

std::string HdfsServer::PutCommand(const std::string& path, std::string_view bytes) {
  std::string command;
  for (const std::string& word : Client({"put", path, WriteNext(bytes)})) {
    command += "'" + word + "' ";
  }
  return command;
}

}  // namespace forebay::testing_support
