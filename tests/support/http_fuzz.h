// What the fuzzers of HTTP's messages call. Each takes any bytes at all; the unit tests
// of src/http and src/source run them over the kept corpus.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "http/answer_parser.h"
#include "http/percent.h"
#include "http/request_parser.h"

namespace forebay::fuzz {

// What a server made of a stream: every request in full, then its verdict.
inline std::vector<std::string> RequestsIn(std::string_view bytes, size_t step) {
  constexpr http::RequestParser::Limits kLimits{.head_bytes = 300, .body_bytes = 100};
  http::RequestParser parser(kLimits);
  std::vector<std::string> seen;
  // A stream without an end: the parser has to hold what it was given and no more.
  for (size_t at = 0; at < bytes.size() && parser.error() == 0; at += step) {
    parser.Append(bytes.substr(at, step));
    while (auto request = parser.Next()) {
      FB_CHECK(request->body.size() <= kLimits.body_bytes);
      FB_CHECK(request->target.starts_with('/'));
      std::string text = request->method + " " + request->target + " " + request->path;
      for (const auto& [name, value] : request->query) text += "\n" + name + "=" + value;
      for (const http::Header& header : request->headers) {
        FB_CHECK(header.value.find_first_of("\r\n") == std::string::npos);
        FB_CHECK(header.name.find_first_of(" \t\r\n:") == std::string::npos);
        FB_CHECK(request->Find(header.name).data() != nullptr);
        text += "\n" + header.name + ": " + header.value;
      }
      seen.push_back(text + "\n" + request->body + (request->keep_alive ? "+" : "-"));
      if (seen.size() > 1000) return seen;
    }
  }
  seen.push_back(std::to_string(parser.error()));
  return seen;
}

// The same stream, however it was cut, is the same requests.
inline void FuzzRequest(std::string_view bytes) {
  auto whole = RequestsIn(bytes, std::max<size_t>(bytes.size(), 1));
  auto single = RequestsIn(bytes, 1);
  // A limit may be met a little later where more comes at once; what was answered by then
  // is the same.
  size_t common = std::min(whole.size(), single.size()) - 1;
  for (size_t i = 0; i < common; ++i) FB_CHECK(whole[i] == single[i]);
  std::string encoded = http::PercentEncode(bytes);
  FB_CHECK(http::PercentDecode(encoded) == bytes);
  (void)http::PercentDecode(bytes);
}

inline void FuzzAnswer(std::string_view bytes) {
  auto answer = http::ParseAnswer(bytes, "host:1");
  if (!answer.ok()) return;
  FB_CHECK(answer->head.status >= 200 && answer->head.status <= 999);
  FB_CHECK(answer->body.size() <= bytes.size());
  auto length = answer->head.ContentLength();
  bool chunked = !answer->head.Find("Transfer-Encoding").empty();
  if (length && !chunked) {
    FB_CHECK(static_cast<uint64_t>(*length) == answer->body.size());
  }
}

}  // namespace forebay::fuzz
