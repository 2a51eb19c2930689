#include "http/request_parser.h"

#include <strings.h>

#include <algorithm>
#include <utility>

#include "http/percent.h"

namespace forebay::http {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view Trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

// Up to the separator, which goes too.
std::string_view Take(std::string_view* rest, std::string_view separator) {
  size_t end = std::min(rest->find(separator), rest->size());
  std::string_view taken = rest->substr(0, end);
  rest->remove_prefix(std::min(end + separator.size(), rest->size()));
  return taken;
}

std::map<std::string, std::string> ParseQuery(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    std::string_view value = Take(&text, "&");
    std::string_view name = Take(&value, "=");
    if (!name.empty()) query[PercentDecode(name)] = PercentDecode(value);
  }
  return query;
}

}  // namespace

std::string_view Received::Find(std::string_view name) const {
  for (const Header& header : headers) {
    if (SameName(header.name, name)) return header.value;
  }
  return {};
}

// "GET /v1/nodes?x=1 HTTP/1.1"
bool RequestParser::ParseRequestLine(std::string_view line, Received* request) {
  request->method = Take(&line, " ");
  std::string_view target = Take(&line, " ");
  bool method_ok =
      !request->method.empty() &&
      std::ranges::all_of(request->method, [](char c) { return c >= 'A' && c <= 'Z'; });
  if (!method_ok || !target.starts_with('/')) return false;
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return false;
  request->keep_alive = line == "HTTP/1.1";
  request->target = target;
  std::string_view path = Take(&target, "?");
  request->path = PercentDecode(path);
  request->query = ParseQuery(target);
  return true;
}

void RequestParser::CheckBody(const Received& request) {
  if (!request.Find("transfer-encoding").empty()) {
    error_ = 411;
    return;
  }
  std::string_view length = request.Find("content-length");
  auto bytes = length.empty() ? 0 : ParseNumber(length).value_or(-1);
  if (bytes < 0) {
    error_ = 400;
  } else if (static_cast<size_t>(bytes) > limits_.body_bytes) {
    error_ = 413;
  }
  body_bytes_ = static_cast<size_t>(std::max<int64_t>(bytes, 0));
  expects_continue_ = SameName(request.Find("expect"), "100-continue");
}

void RequestParser::ParseHead() {
  size_t end = buffer_.find(kHeadEnd);
  if (std::min(end, buffer_.size()) > limits_.head_bytes) {
    error_ = 431;
    return;
  }
  if (end == buffer_.npos) return;
  Received request;
  std::string_view rest = std::string_view(buffer_).substr(0, end);
  if (!ParseRequestLine(Take(&rest, "\r\n"), &request)) {
    error_ = 400;
    return;
  }
  while (!rest.empty()) {
    std::string_view value = Take(&rest, "\r\n");
    std::string_view name = Take(&value, ":");
    request.headers.push_back({std::string(name), std::string(Trim(value))});
  }
  std::string_view connection = request.Find("connection");
  if (SameName(connection, "close")) request.keep_alive = false;
  CheckBody(request);
  buffer_.erase(0, end + kHeadEnd.size());
  head_ = std::move(request);
}

std::optional<Received> RequestParser::Next() {
  if (error_ == 0 && !head_.has_value()) ParseHead();
  if (error_ != 0 || !head_.has_value() || buffer_.size() < body_bytes_) {
    return std::nullopt;
  }
  head_->body = buffer_.substr(0, body_bytes_);
  buffer_.erase(0, body_bytes_);
  expects_continue_ = false;
  return std::exchange(head_, std::nullopt);
}

bool RequestParser::TakeExpectsContinue() {
  return std::exchange(expects_continue_, false);
}

}  // namespace forebay::http
