#include "source/s3_list.h"

#include <cstdio>
#include <ctime>
#include <utility>

#include "http/message.h"
#include "http/percent.h"
#include "source/identity.h"
#include "source/xml.h"

namespace forebay::source {
namespace {

// Collects elements as they end; keys stay encoded until the whole page is known.
class PageBuilder {
 public:
  void Take(std::string_view path, const std::string& text) {
    if (path.starts_with("ListBucketResult/Contents")) return TakeContents(path, text);
    if (path == "ListBucketResult/CommonPrefixes/Prefix") page_.prefixes.push_back(text);
    if (path == "ListBucketResult") is_list_ = true;
    if (path == "ListBucketResult/EncodingType") url_encoded_ = text == "url";
    if (path == "ListBucketResult/IsTruncated") truncated_ = text == "true";
    if (path == "ListBucketResult/NextContinuationToken") page_.next = text;
  }

  Result<S3Page> Finish() {
    if (!is_list_) return Status::Corrupt("the server's answer is not a list of objects");
    if (bad_entry_)
      return Status::Corrupt("the server listed an object without its size");
    if (truncated_ && page_.next.empty()) {
      return Status::Corrupt("the server cut the list and gave no way to go on");
    }
    if (!truncated_) page_.next.clear();
    if (url_encoded_) {
      for (S3Entry& entry : page_.entries) entry.key = DecodeKey(entry.key);
      for (std::string& prefix : page_.prefixes) prefix = DecodeKey(prefix);
    }
    return std::move(page_);
  }

 private:
  // encoding-type=url is form encoding on some servers: '+' is a space there, and a plus
  // sign is always %2B.
  static std::string DecodeKey(std::string key) {
    for (char& c : key) {
      if (c == '+') c = ' ';
    }
    return http::PercentDecode(key);
  }

  void TakeContents(std::string_view path, const std::string& text) {
    path.remove_prefix(std::string_view("ListBucketResult/Contents").size());
    if (path == "/Key") entry_.key = text;
    if (path == "/ETag") entry_.etag = StrongEtag(text);
    if (path == "/LastModified") entry_.mtime_ns = ParseS3Time(text);
    if (path == "/Size") {
      auto size = http::ParseNumber(text);
      entry_.size = size.value_or(-1);
    }
    if (!path.empty()) return;
    if (entry_.size < 0 || entry_.key.empty()) bad_entry_ = true;
    page_.entries.push_back(std::exchange(entry_, kNothing));
  }

  inline static const S3Entry kNothing{.key = {}, .etag = {}, .size = -1};
  S3Page page_;
  S3Entry entry_ = kNothing;
  bool is_list_ = false;
  bool url_encoded_ = false;
  bool truncated_ = false;
  bool bad_entry_ = false;
};

}  // namespace

Result<S3Page> ParseS3Page(std::string_view xml) {
  PageBuilder builder;
  FB_RETURN_NOT_OK(ParseXml(xml, [&](std::string_view path, const std::string& text) {
    builder.Take(path, text);
  }));
  return builder.Finish();
}

int64_t ParseS3Time(std::string_view text) {
  std::tm time{};
  int millis = 0;
  std::string copy(text);
  int read = std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &time.tm_year,
                         &time.tm_mon, &time.tm_mday, &time.tm_hour, &time.tm_min,
                         &time.tm_sec, &millis);
  if (read < 6) return 0;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  return (::timegm(&time) * int64_t{1000} + millis) * 1'000'000;
}

std::string S3ListQuery(const S3ListRequest& request) {
  std::string query;
  auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    if (!query.empty()) query += '&';
    query += std::string(name) + "=" + http::PercentEncode(value);
  };
  add("continuation-token", request.continuation);
  add("delimiter", request.delimiter);
  add("encoding-type", "url");
  add("list-type", "2");
  add("prefix", request.prefix);
  add("start-after", request.start_after);
  return query;
}

}  // namespace forebay::source
