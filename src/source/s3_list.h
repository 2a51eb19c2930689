// One page of a ListObjectsV2 answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::source {

struct S3Entry {
  std::string key;
  std::string etag;  // without quotes
  int64_t size = 0;
  int64_t mtime_ns = 0;  // 0: not said
};

struct S3Page {
  std::vector<S3Entry> entries;
  std::vector<std::string> prefixes;  // up to the delimiter
  std::string next;                   // continuation token; empty: the last page
};

Result<S3Page> ParseS3Page(std::string_view xml);

// "2009-10-12T17:50:30.000Z" in ns since 1970; 0 for what is no such time.
int64_t ParseS3Time(std::string_view text);

struct S3ListRequest {
  std::string prefix;
  std::string continuation{};
  std::string delimiter{};
  std::string start_after{};
};
// The query of a list request, sorted and encoded as signatures need it.
std::string S3ListQuery(const S3ListRequest& request);

}  // namespace forebay::source
