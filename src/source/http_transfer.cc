#include "source/http_transfer.h"

#include <algorithm>
#include <utility>

#include "base/uri.h"
#include "source/http_status.h"
#include "source/range_body.h"

namespace forebay::source {

HttpTransfer::HttpTransfer(const http::ClientOptions& client, RetryPolicy retry,
                           Stats& stats)
    : client_(client),
      stall_timeout_(client.stall_timeout),
      retry_(retry),
      stats_(stats) {}

std::chrono::seconds HttpTransfer::StallTimeout(int failures) const {
  return stall_timeout_ * (1 << std::min(failures, 4));
}

Result<Document> HttpTransfer::Fetch(const FetchOptions& options, Deadline deadline) {
  Document document;
  FB_RETURN_NOT_OK(Retry(retry_, stats_, deadline, [&](int failures) {
    return FetchOnce(options, failures, deadline, &document);
  }));
  return document;
}

Attempt HttpTransfer::FetchOnce(const FetchOptions& options, int failures,
                                Deadline deadline, Document* document) {
  Result<http::Request> request = options.prepare({0, 0, failures});
  if (!request.ok()) return {request.status()};
  request->stall_timeout = StallTimeout(failures);
  document->body.clear();
  bool head_was_enough = false;
  auto sink = [&](const http::Response& head,
                  std::span<const std::byte> piece) -> Status {
    if (options.head_only && CodeFromHttp(head.status) == StatusCode::kOk) {
      head_was_enough = true;
      document->response = head;
      return Status::Cancelled("the head was enough");
    }
    if (document->body.size() + piece.size() > options.body_bytes_max) {
      return Status::Full("the answer is larger than " +
                          FormatSize(options.body_bytes_max) + ": " +
                          RedactUri(request->url));
    }
    document->body.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status::OK();
  };
  ++stats_.requests;
  Result<http::Response> response = client_.Send(*request, sink, deadline);
  stats_.bytes += document->body.size();
  if (head_was_enough) return {Status::OK()};
  if (!response.ok()) return {response.status()};
  document->response = *std::move(response);
  int status = document->response.status;
  if (status >= 200 && status < 300) return {Status::OK()};
  return {options.explain(document->response, document->body), false,
          RetryAfter(document->response)};
}

Status HttpTransfer::Read(const RangeRead& read, Deadline deadline) {
  int64_t done = 0;
  return Retry(retry_, stats_, deadline, [&](int failures) {
    Part part{read.slice.offset + done, read.slice.size - done, failures};
    return ReadOnce(read, part, deadline, &done);
  });
}

Attempt HttpTransfer::ReadOnce(const RangeRead& read, const Part& part, Deadline deadline,
                               int64_t* done) {
  Result<http::Request> request = read.prepare(part);
  if (!request.ok()) return {request.status()};
  request->stall_timeout = StallTimeout(part.failures);
  RangeBody body(read, part);
  ++stats_.requests;
  Result<http::Response> sent = client_.Send(
      *request,
      [&body](const http::Response& head, std::span<const std::byte> piece) {
        return body.Take(head, piece);
      },
      deadline);
  stats_.bytes += body.received_bytes();
  Status status = body.Finish(sent);
  *done += body.kept_bytes();
  return {std::move(status), body.kept_bytes() > 0, body.wait_at_least()};
}

}  // namespace forebay::source
