// Exchanges over HTTP with the retry rules that S3, HTTP and WebHDFS share.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/size.h"
#include "base/status.h"
#include "http/client.h"
#include "model/object.h"
#include "source/retry.h"
#include "source/source.h"

namespace forebay::source {

// Asked anew for each attempt, so that keys, regions and hosts may change in between.
struct Part {
  int64_t offset = 0;
  int64_t size = 0;
  int failures = 0;  // attempts in a row that failed before this one
};
using Prepare = std::function<Result<http::Request>(const Part& part)>;

// Why an answer that is not 2xx was given. kUnavailable: try again. `body` is its start.
using Explain =
    std::function<Status(const http::Response& response, std::string_view body)>;

struct Document {
  http::Response response;
  std::string body;
};

// A ranged read of one object.
struct RangeRead {
  const model::Object& object;
  Slice slice;
  const Sink& sink;
  Prepare prepare;
  Explain explain;
  // kChanged when the head of an answer shows another object than the pinned one.
  std::function<Status(const http::Response&)> check_head;
  // WebHDFS answers 200 with just the bytes asked for, where HTTP would say 206.
  bool ok_means_partial = false;
};

class HttpTransfer {
 public:
  // `stats` outlives this.
  HttpTransfer(const http::ClientOptions& client, RetryPolicy retry, Stats& stats);

  // A whole answer that fits in memory.
  struct FetchOptions {
    Prepare prepare;
    Explain explain;
    size_t body_bytes_max = 64 * kMiB;
    bool head_only = false;  // the body of a 2xx answer is not waited for
  };
  Result<Document> Fetch(const FetchOptions& options, Deadline deadline);

  // Fills read.sink, going on from where an attempt broke off. Bytes of an answer whose
  // head does not fit what was asked for are never used.
  Status Read(const RangeRead& read, Deadline deadline);

 private:
  Attempt FetchOnce(const FetchOptions& options, int failures, Deadline deadline,
                    Document* document);
  Attempt ReadOnce(const RangeRead& read, const Part& part, Deadline deadline,
                   int64_t* done);
  // Later attempts wait longer: a stall limit below what the server needs ends nothing.
  std::chrono::seconds StallTimeout(int failures) const;

  http::Client client_;
  std::chrono::seconds stall_timeout_;
  RetryPolicy retry_;
  Stats& stats_;
};

}  // namespace forebay::source
