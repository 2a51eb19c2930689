// A real HDFS on loopback: one namenode, one datanode, without permissions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "support/subprocess.h"

namespace forebay::testing_support {

class HdfsServer {
 public:
  // kNotFound when Java or the jars are not there. Takes some seconds.
  static Result<std::unique_ptr<HdfsServer>> Start();
  int port() const { return http_port_; }  // of WebHDFS on the namenode
  std::string address() const { return "http://127.0.0.1:" + std::to_string(http_port_); }
  Status Put(const std::string& path, std::string_view bytes);
  Status Delete(const std::string& path);
  // A shell command that overwrites `path` with `bytes`.
  std::string PutCommand(const std::string& path, std::string_view bytes);

 private:
  Status WriteConfig();
  Status Failure(const std::string& what) const;
  Result<Subprocess> StartJava(const std::string& main_class,
                               const std::string& argument);
  Status RunClient(std::vector<std::string> arguments) const;
  std::vector<std::string> Client(std::vector<std::string> arguments) const;
  std::string WriteNext(std::string_view bytes);

  TempFolder folder_;
  std::string jars_;
  int http_port_ = 0;
  int file_count_ = 0;
  Subprocess namenode_;
  Subprocess datanode_;
};

}  // namespace forebay::testing_support
