// Takes HTTP/1.1 requests out of a stream of bytes as a server receives it. Bounded: it
// never holds more than its limits. Pure, for one connection.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace forebay::http {

// A request as a server sees it.
struct Received {
  std::string method{};
  std::string path{};                          // percent-decoded, without the query
  std::string target{};                        // as it was sent
  std::map<std::string, std::string> query{};  // percent-decoded
  std::vector<Header> headers{};
  std::string body{};
  std::string peer{};  // host:port it came from
  bool keep_alive = true;

  // The first header of that name in any case; empty when there is none.
  std::string_view Find(std::string_view name) const;
};

class RequestParser {
 public:
  struct Limits {
    size_t head_bytes = 64 * 1024;
    size_t body_bytes = 16 * 1024 * 1024;
  };
  explicit RequestParser(Limits limits) : limits_(limits) {}

  void Append(std::string_view bytes) { buffer_.append(bytes); }
  // The next request, once it is there as a whole.
  std::optional<Received> Next();
  // An HTTP status once something came that is no request, or is too large: nothing that
  // follows can be made sense of. 0: all well.
  int error() const { return error_; }
  // True once when the client waits for leave to send its body.
  bool TakeExpectsContinue();
  // True when nothing has begun.
  bool empty() const { return buffer_.empty() && !head_.has_value(); }

 private:
  void ParseHead();
  bool ParseRequestLine(std::string_view line, Received* request);
  bool ParseHeader(std::string_view line, Received* request);
  void CheckBody(const Received& request);

  Limits limits_;
  std::string buffer_;
  size_t searched_ = 0;  // no head ends before this
  std::optional<Received> head_;
  size_t body_bytes_ = 0;
  bool expects_continue_ = false;
  int error_ = 0;
};

}  // namespace forebay::http
