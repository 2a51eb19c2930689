#include "http/answer_parser.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace forebay::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string_view Trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

// Up to the end of the line, which goes too.
std::string_view TakeLine(std::string_view* rest) {
  size_t end = std::min(rest->find(kLineEnd), rest->size());
  std::string_view line = rest->substr(0, end);
  rest->remove_prefix(std::min(end + kLineEnd.size(), rest->size()));
  return line;
}

// "HTTP/1.1 200 OK"
std::optional<int> StatusOf(std::string_view line) {
  bool http = line.size() >= 12 && line.starts_with("HTTP/1.") && line[8] == ' ' &&
              (line.size() == 12 || line[12] == ' ');
  auto status = http ? ParseNumber(line.substr(9, 3)) : std::nullopt;
  if (!status || *status < 100) return std::nullopt;
  return static_cast<int>(*status);
}

// Takes a head off the front of `bytes`; nothing where there is none.
std::optional<Response> TakeHead(std::string_view* bytes) {
  size_t end = bytes->find(kHeadEnd);
  if (end == bytes->npos) return std::nullopt;
  std::string_view rest = bytes->substr(0, end);
  auto status = StatusOf(TakeLine(&rest));
  if (!status) return std::nullopt;
  Response head{.status = *status};
  while (!rest.empty()) {
    std::string_view line = TakeLine(&rest);
    size_t colon = line.find(':');
    if (colon == line.npos) return std::nullopt;
    head.headers.push_back(
        {std::string(line.substr(0, colon)), std::string(Trim(line.substr(colon + 1)))});
  }
  bytes->remove_prefix(end + kHeadEnd.size());
  return head;
}

// The body that came in chunks, each after its size; nothing where it broke off.
std::optional<std::string> Joined(std::string_view bytes) {
  std::string body;
  while (bytes.find(kLineEnd) != bytes.npos) {
    std::string_view line = TakeLine(&bytes);
    line = Trim(line.substr(0, line.find(';')));
    size_t size = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
    if (error != std::errc() || end != line.data() + line.size()) return std::nullopt;
    if (size == 0) return body;
    if (size > bytes.size() || !bytes.substr(size).starts_with(kLineEnd)) {
      return std::nullopt;
    }
    body += bytes.substr(0, size);
    bytes.remove_prefix(size + kLineEnd.size());
  }
  return std::nullopt;
}

}  // namespace

Result<PlainAnswer> ParseAnswer(std::string_view bytes, const std::string& address) {
  std::optional<Response> head;
  do {  // 100 and 103 come before the answer itself
    head = TakeHead(&bytes);
    if (!head) return Status::Corrupt(address + " does not speak HTTP");
  } while (head->status < 200);
  Status cut = Status::Unavailable(address + " broke off its answer");
  std::string_view coding = head->Find("Transfer-Encoding");
  if (!coding.empty()) {
    if (coding != "chunked") {
      return Status::Unsupported(address + " answers in a coding that nobody asked for");
    }
    auto body = Joined(bytes);
    if (!body) return cut;
    return PlainAnswer{*std::move(head), *std::move(body)};
  }
  std::string_view announced = head->Find("Content-Length");
  auto length = ParseNumber(announced);
  if (!announced.empty() && (!length || static_cast<size_t>(*length) != bytes.size())) {
    return cut;
  }
  return PlainAnswer{*std::move(head), std::string(bytes)};
}

}  // namespace forebay::http
