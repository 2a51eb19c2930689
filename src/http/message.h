// Requests and responses as plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace forebay::http {

struct Header {
  std::string name;
  std::string value;
};

// Keys for an AWS signature (version 4). Never logged.
struct Signing {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty: none
  std::string region;
  std::string service = "s3";
};

struct Request {
  std::string method = "GET";  // GET, HEAD, POST or DELETE
  // Sent as it is: the caller encodes, and for signed requests also sorts the query.
  std::string url{};
  std::vector<Header> headers{};
  std::string body{};  // of a POST; a header says what it is
  std::optional<Signing> signing{};
  bool follow_redirects = false;
  // Nothing arriving for this long is a failure. 0: what the client was made with.
  std::chrono::seconds stall_timeout{0};
};

struct Response {
  int status = 0;
  std::vector<Header> headers{};

  // The first header of that name in any case; empty when there is none.
  std::string_view Find(std::string_view name) const;
  // Content-Length, where the server sent a valid one.
  std::optional<int64_t> ContentLength() const;
};

// "Wed, 21 Oct 2015 07:28:00 GMT" as seconds since 1970.
std::optional<int64_t> ParseDate(std::string_view text);

// A whole number in decimal, and nothing else.
std::optional<int64_t> ParseNumber(std::string_view text);

}  // namespace forebay::http
