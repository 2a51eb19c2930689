// A small HTTP/1.1 server. One thread waits for all connections, so that idle, slow and
// half-open ones cost a descriptor and a small buffer each; whole requests go to a few
// workers, which answer them. No TLS.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "http/message.h"
#include "http/request_parser.h"

namespace forebay::http {

struct Reply {
  int status = 200;
  std::string body{};
  std::string content_type = "application/json";
  std::vector<Header> headers{};
  // Instead of `body`: bytes that `owner` keeps alive.
  std::string_view view{};
  std::shared_ptr<const void> owner{};
};

// Called by several threads at once. What it throws becomes a 500 without a body.
using Answer = std::function<Reply(const Received& request)>;

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address or a name; "0.0.0.0" and "::" are all
  int port = 0;                    // 0: any free one
  size_t workers = 16;
  size_t connections_max = 4'096;  // more are turned away
  RequestParser::Limits limits{};
  milliseconds read_timeout{10'000};   // for a request that has begun to arrive
  milliseconds write_timeout{30'000};  // for a client that takes nothing of its answer
  milliseconds idle_timeout{60'000};   // between requests
};

class Server {
 public:
  // Listening. kUnavailable: the port is taken. kInvalid: no such host.
  static Result<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                               Answer answer);
  // Answers what has arrived as a whole, then ends.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const { return port_; }
  size_t connection_count() const;

 private:
  class Loop;
  Server();

  int port_ = 0;
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace forebay::http
