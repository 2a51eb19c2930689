#include "http/request_parser.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
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

bool IsControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }

// RFC 9110: what a name may be made of.
bool IsToken(std::string_view name) {
  constexpr std::string_view kOther = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kOther.find(static_cast<char>(c)) != kOther.npos;
  });
}

// "keep-alive, Close" has "close".
bool HasWord(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    if (SameName(Trim(Take(&list, ",")), word)) return true;
  }
  return false;
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
  if (std::ranges::any_of(target, IsControl)) return false;
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return false;
  request->keep_alive = line == "HTTP/1.1";
  request->target = target;
  std::string_view path = Take(&target, "?");
  request->path = PercentDecode(path);
  request->query = ParseQuery(target);
  return true;
}

// Where a proxy before us might find another end of the body, the request is refused:
// what one of us takes for the next request the other takes for the body.
void RequestParser::CheckBody(const Received& request) {
  std::optional<std::string_view> length;
  for (const Header& header : request.headers) {
    if (SameName(header.name, "transfer-encoding")) error_ = 411;
    if (!SameName(header.name, "content-length")) continue;
    if (length && *length != header.value) error_ = 400;
    length = header.value;
  }
  if (error_ != 0) return;
  auto bytes = length ? ParseNumber(*length) : 0;
  if (!bytes) {
    error_ = 400;
  } else if (static_cast<uint64_t>(*bytes) > limits_.body_bytes) {
    error_ = 413;
  }
  body_bytes_ = static_cast<size_t>(bytes.value_or(0));
  expects_continue_ = SameName(request.Find("expect"), "100-continue");
}

// "Name: value". Names with blanks and values with control characters are read in more
// than one way.
bool RequestParser::ParseHeader(std::string_view line, Received* request) {
  size_t colon = line.find(':');
  if (colon == line.npos || !IsToken(line.substr(0, colon))) return false;
  std::string_view value = Trim(line.substr(colon + 1));
  auto breaks = [](char c) { return c != '\t' && IsControl(c); };
  if (std::ranges::any_of(value, breaks)) return false;
  request->headers.push_back({std::string(line.substr(0, colon)), std::string(value)});
  return true;
}

void RequestParser::ParseHead() {
  size_t end = buffer_.find(kHeadEnd, searched_);
  if (std::min(end, buffer_.size()) > limits_.head_bytes) {
    error_ = 431;
    return;
  }
  // Its first bytes may be the last that have come.
  searched_ = buffer_.size() - std::min(buffer_.size(), kHeadEnd.size() - 1);
  if (end == buffer_.npos) return;
  searched_ = 0;
  Received request;
  std::string_view rest = std::string_view(buffer_).substr(0, end);
  if (!ParseRequestLine(Take(&rest, "\r\n"), &request)) {
    error_ = 400;
    return;
  }
  while (!rest.empty()) {
    if (!ParseHeader(Take(&rest, "\r\n"), &request)) {
      error_ = 400;
      return;
    }
  }
  if (HasWord(request.Find("connection"), "close")) request.keep_alive = false;
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
