// What the fuzzer of servers' listings and heads calls: S3's XML, WebHDFS' JSON, and the
// headers that tell which bytes an answer holds. Any bytes at all.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "source/identity.h"
#include "source/range_body.h"
#include "source/s3_list.h"
#include "source/webhdfs_json.h"
#include "source/xml.h"

namespace forebay::fuzz {

// The first line is the Content-Range of an answer, the rest its body.
inline void FuzzRange(std::string_view bytes) {
  std::string_view line = bytes.substr(0, bytes.find('\n'));
  std::string_view rest = bytes.substr(std::min(line.size() + 1, bytes.size()));
  auto range = source::ParseContentRange(line);
  if (range) FB_CHECK(range->first >= 0 && range->last >= range->first);
  model::Object object{"http://h/x", {}};
  object.identity.size = 100;
  int64_t taken = 0;
  source::Sink sink = [&](int64_t at, std::span<const std::byte> piece) {
    FB_CHECK(at == taken);
    taken += static_cast<int64_t>(piece.size());
    FB_CHECK(taken <= 20);
    return Status::OK();
  };
  source::RangeRead read{.object = object,
                         .slice = {10, 20},
                         .sink = sink,
                         .prepare = {},
                         .explain = {},
                         .check_head = [](const auto&) { return Status::OK(); }};
  source::RangeBody body(read, {10, 20, 0});
  http::Response head{.status = 206, .headers = {{"Content-Range", std::string(line)}}};
  Status status;
  for (size_t at = 0; at < rest.size() && status.ok(); at += 3) {
    status = body.Take(head, std::as_bytes(std::span(rest.substr(at, 3))));
  }
  Result<http::Response> sent = head;
  if (!status.ok()) sent = status;
  if (body.Finish(sent).ok()) FB_CHECK(taken == 20 && body.kept_bytes() == 20);
}

inline void FuzzListing(std::string_view bytes) {
  auto page = source::ParseS3Page(bytes);
  if (page.ok()) {
    for (const source::S3Entry& entry : page->entries) FB_CHECK(entry.size >= 0);
  }
  (void)source::ParseHdfsStatuses(std::string(bytes));
  (void)source::ParseHdfsStatus(std::string(bytes));
  (void)source::ParseHdfsError(std::string(bytes));
  (void)source::FindXmlText(bytes, "Code");
  (void)source::ParseS3Time(std::string(bytes));
  (void)source::QuoteEtag(source::StrongEtag(bytes));
  FuzzRange(bytes);
}

}  // namespace forebay::fuzz
