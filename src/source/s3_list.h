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
};

struct S3Page {
  std::vector<S3Entry> entries;
  std::string next;  // continuation token; empty: the last page
};

Result<S3Page> ParseS3Page(std::string_view xml);

// The query of a list request, sorted and encoded as signatures need it.
std::string S3ListQuery(const std::string& prefix, const std::string& continuation);

}  // namespace forebay::source
