// Sends HTTP requests and streams the answers. Thread-safe; each call blocks its thread.
// Connections are kept and reused. No retries here: that is the caller's policy.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "http/message.h"

namespace forebay::http {

// Called for each piece of the body; `head` is complete by then. A failure ends the
// transfer, and Send returns it.
using BodySink =
    std::function<Status(const Response& head, std::span<const std::byte> piece)>;

struct ClientOptions {
  milliseconds connect_timeout{10'000};
  std::chrono::seconds stall_timeout{5};
  std::string ca_file{};  // empty: the system's certificates
};

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // A Response of any status is a success here. Failures: kUnavailable (no connection,
  // reset, stall, a body shorter than announced), kDeadline, kCancelled (by the
  // deadline's stop token, at once), kInvalid (a URL or a TLS certificate that can't be
  // used). Errors never carry query values, keys or headers.
  Result<Response> Send(const Request& request, const BodySink& sink, Deadline deadline);

 private:
  class Handles;
  ClientOptions options_;
  std::unique_ptr<Handles> handles_;
};

}  // namespace forebay::http
