// Calls a cluster's head over HTTP. With several addresses it stays with the one that
// answered last and goes on to the next when that one does not, or does not lead.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "http/client.h"

namespace forebay::cluster {

// The seam between a node and its head.
class HeadCaller {
 public:
  virtual ~HeadCaller() = default;
  // The body of a 2xx answer. Else the head's own error, or kUnavailable when no head
  // answers, kDeadline when there was no time left. Thread-safe.
  virtual Result<std::string> Get(const std::string& path, Deadline deadline) = 0;
  virtual Result<std::string> Post(const std::string& path, const std::string& json,
                                   Deadline deadline) = 0;
};

class HeadClient : public HeadCaller {
 public:
  struct Options {
    std::vector<std::string> heads{};  // "host:port", or with http:// or https://
    // One address gets no more than this before the next is asked.
    milliseconds attempt_timeout{10'000};
    milliseconds connect_timeout{1'000};
    std::string ca_file{};  // for https; empty: the system's certificates
    uint64_t answer_bytes_max = uint64_t{1} << 30;
  };
  // kInvalid: no address, or one that is none.
  static Result<std::unique_ptr<HeadClient>> Make(Options options);

  Result<std::string> Get(const std::string& path, Deadline deadline) override;
  Result<std::string> Post(const std::string& path, const std::string& json,
                           Deadline deadline) override;

  // The address that answered last.
  std::string current() const;

 private:
  explicit HeadClient(Options options);
  Result<std::string> Send(http::Request request, const std::string& path,
                           Deadline deadline);
  Result<std::string> SendTo(const http::Request& request, Deadline deadline);

  Options options_;
  std::vector<std::string> urls_;
  std::atomic<size_t> current_{0};
  http::Client client_;
};

}  // namespace forebay::cluster
