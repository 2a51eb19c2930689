// A head that listens: the HTTP server with the head behind it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "head/head.h"
#include "head/head_service.h"
#include "http/server.h"

namespace forebay::head {

class HeadServer {
 public:
  struct Options {
    std::string listen = "127.0.0.1:7070";  // host:port; port 0: any free one
    // There is no authentication: listening where others reach it has to be asked for.
    bool insecure = false;
    std::string advertise{};  // host:port for others; empty: the host's name where needed
    Head::Options head{};     // its address comes from the above, its meta may be empty:
                              // SQLite in the state directory
  };
  // kInvalid: an address that other machines reach, without `insecure`.
  static Result<std::unique_ptr<HeadServer>> Start(Options options);
  ~HeadServer();

  // Of this user: /var/lib/forebay for root, else below the home.
  static std::string DefaultState();
  int port() const { return server_->port(); }

 private:
  HeadServer() = default;

  std::unique_ptr<Head> head_;
  std::unique_ptr<HeadService> service_;
  std::atomic<HeadService*> answers_{nullptr};
  std::unique_ptr<http::Server> server_;
};

}  // namespace forebay::head
