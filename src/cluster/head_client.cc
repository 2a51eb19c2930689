#include "cluster/head_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cluster/messages.h"

namespace forebay::cluster {
namespace {

bool IsHead(std::string_view address) {
  return !address.empty() && address.find_first_of(" \t\n") == address.npos &&
         address.find("://") == address.npos;
}

Result<std::string> UrlOf(const std::string& head) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (head.starts_with(scheme) && IsHead(head.substr(scheme.size()))) {
      return head.ends_with('/') ? head.substr(0, head.size() - 1) : head;
    }
  }
  if (IsHead(head)) return "http://" + head;
  return Status::Invalid(
      fmt::format("'{}' is no address of a head: write host:port, as head:7070", head));
}

// Another head may answer where this one did not.
bool IsForAnother(const Status& status) {
  return status.code() == StatusCode::kUnavailable ||
         status.code() == StatusCode::kDeadline;
}

}  // namespace

HeadClient::HeadClient(Options options)
    : options_(std::move(options)),
      client_(
          {.connect_timeout = options_.connect_timeout, .ca_file = options_.ca_file}) {}

Result<std::unique_ptr<HeadClient>> HeadClient::Make(Options options) {
  if (options.heads.empty()) return Status::Invalid("no address of a head was given");
  std::vector<std::string> urls;
  for (const std::string& head : options.heads) {
    FB_ASSIGN_OR_RETURN(std::string url, UrlOf(head));
    urls.push_back(std::move(url));
  }
  std::unique_ptr<HeadClient> client(new HeadClient(std::move(options)));
  client->urls_ = std::move(urls);
  return client;
}

std::string HeadClient::current() const { return urls_[current_ % urls_.size()]; }

Result<std::string> HeadClient::SendTo(const http::Request& request, Deadline deadline) {
  std::string body;
  auto sink = [&](const http::Response&, std::span<const std::byte> piece) {
    if (body.size() + piece.size() > options_.answer_bytes_max) {
      return Status::Full("the head's answer is larger than any that makes sense");
    }
    body.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status::OK();
  };
  Deadline attempt = deadline.Within(options_.attempt_timeout);
  FB_ASSIGN_OR_RETURN(http::Response response, client_.Send(request, sink, attempt));
  FB_RETURN_NOT_OK(StatusOfAnswer(response.status, body));
  return body;
}

Result<std::string> HeadClient::Send(http::Request request, const std::string& path,
                                     Deadline deadline) {
  // A head that does not lead sends on to the one that does.
  request.follow_redirects = true;
  // It may have to plan a large table before it has anything to say.
  request.stall_timeout =
      std::chrono::ceil<std::chrono::seconds>(options_.attempt_timeout);
  Status last = Status::Deadline("time was up before a head could be asked");
  size_t first = current_;
  for (size_t i = 0; i < urls_.size() && !deadline.passed(); ++i) {
    size_t index = (first + i) % urls_.size();
    request.url = urls_[index] + path;
    auto answer = SendTo(request, deadline);
    if (answer.ok() || !IsForAnother(answer.status())) {
      current_ = index;
      return answer;
    }
    last = answer.status();
    current_ = (index + 1) % urls_.size();
  }
  return last;
}

Result<std::string> HeadClient::Get(const std::string& path, Deadline deadline) {
  return Send({.method = "GET"}, path, deadline);
}

Result<std::string> HeadClient::Post(const std::string& path, const std::string& json,
                                     Deadline deadline) {
  return Send(
      {.method = "POST", .headers = {{"Content-Type", "application/json"}}, .body = json},
      path, deadline);
}

}  // namespace forebay::cluster
