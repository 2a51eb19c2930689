// The small parsers that answers from servers go through.
#include <gtest/gtest.h>

#include <random>

#include "source/http_status.h"
#include "source/identity.h"
#include "source/range_body.h"
#include "source/s3_list.h"
#include "source/webhdfs_json.h"
#include "source/xml.h"
#include "support/fuzz_corpus.h"
#include "support/listing_fuzz.h"

namespace forebay::source {
namespace {

TEST(HttpStatus, MapsEveryStatusThatACallerActsOn) {
  struct Case {
    int status;
    StatusCode code;
  };
  for (auto [status, code] :
       std::initializer_list<Case>{{200, StatusCode::kOk},
                                   {206, StatusCode::kOk},
                                   {301, StatusCode::kUnavailable},
                                   {400, StatusCode::kInvalid},
                                   {401, StatusCode::kPermission},
                                   {403, StatusCode::kPermission},
                                   {404, StatusCode::kNotFound},
                                   {405, StatusCode::kUnsupported},
                                   {408, StatusCode::kUnavailable},
                                   {410, StatusCode::kNotFound},
                                   {412, StatusCode::kChanged},
                                   {416, StatusCode::kChanged},
                                   {429, StatusCode::kUnavailable},
                                   {500, StatusCode::kUnavailable},
                                   {501, StatusCode::kUnsupported},
                                   {503, StatusCode::kUnavailable},
                                   {599, StatusCode::kUnavailable}}) {
    EXPECT_EQ(CodeFromHttp(status), code) << status;
    EXPECT_EQ(HttpStatus(status, "x", "").code(), code) << status;
  }
}

TEST(UnsettledFor, GoesByTheServersClock) {
  auto wait = [](const std::string& modified, const std::string& date) {
    http::Response response;
    if (!modified.empty()) response.headers.push_back({"Last-Modified", modified});
    if (!date.empty()) response.headers.push_back({"Date", date});
    return UnsettledFor(response).count();
  };
  const std::string kWritten = "Wed, 21 Oct 2015 07:28:00 GMT";
  EXPECT_EQ(wait(kWritten, kWritten), 2);
  EXPECT_EQ(wait(kWritten, "Wed, 21 Oct 2015 07:28:01 GMT"), 1);
  EXPECT_EQ(wait(kWritten, "Wed, 21 Oct 2015 07:28:02 GMT"), 0);
  EXPECT_EQ(wait(kWritten, "Thu, 22 Oct 2015 07:28:00 GMT"), 0);
  EXPECT_EQ(wait(kWritten, "Wed, 21 Oct 2015 07:27:59 GMT"), 2);
  EXPECT_EQ(wait(kWritten, ""), 2);
  EXPECT_EQ(wait(kWritten, "yesterday"), 2);
  EXPECT_EQ(wait("", kWritten), 2);
}

TEST(ContentRange, IsParsedExactly) {
  auto range = ParseContentRange("bytes 5-9/100");
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->first, 5);
  EXPECT_EQ(range->last, 9);
  EXPECT_EQ(range->total, 100);
  EXPECT_TRUE(ParseContentRange("bytes 5-9/*").has_value());
  for (const char* bad : {"", "bytes", "bytes 9-5/100", "bytes -5/100", "bytes 5-/100",
                          "bytes 5-9", "bytes 5-9/x", "items 5-9/100", "bytes */100",
                          "bytes 99999999999999999999-1/2"}) {
    EXPECT_FALSE(ParseContentRange(bad).has_value()) << bad;
  }
}

TEST(Etag, IsUsedOnlyWhenStrong) {
  EXPECT_EQ(StrongEtag("\"abc\""), "abc");
  EXPECT_EQ(StrongEtag("abc"), "abc");
  EXPECT_EQ(StrongEtag("W/\"abc\""), "");
  EXPECT_EQ(QuoteEtag("abc"), "\"abc\"");
}

TEST(Xml, GivesTextsByPathWithEntitiesDecoded) {
  std::vector<std::string> seen;
  Status status = ParseXml(
      "<?xml version=\"1.0\"?><a x='1'><!-- c --><b>1 &lt; 2 "
      "&amp;&#x41;&#246;</b><c/></a>",
      [&](std::string_view path, const std::string& text) {
        seen.push_back(std::string(path) + "=" + text);
      });
  ASSERT_EQ(status, Status::OK());
  EXPECT_EQ(seen, (std::vector<std::string>{"a/b=1 < 2 &Aö", "a/c=", "a="}));
}

TEST(Xml, RefusesWhatIsNotWellFormed) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  for (const std::string& bad :
       {std::string(""), std::string("text"), std::string("<a>"), std::string("<a></b>"),
        std::string("</a>"), std::string("<a"), std::string("<a>&bad;</a>"),
        std::string("<a>&#0;</a>"), std::string("<!DOCTYPE x><a></a>"),
        std::string("<!-- <a></a>"), deep}) {
    EXPECT_EQ(ParseXml(bad, [](auto, auto&) {}).code(), StatusCode::kCorrupt) << bad;
  }
}

TEST(Xml, SurvivesDamage) {
  const std::string good =
      "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t</NextContinuationToken><Contents><Key>a%20b+c</Key>"
      "<Size>5</Size><ETag>&quot;e&quot;</ETag></Contents></ListBucketResult>";
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    std::string bad = good.substr(0, random() % good.size());
    for (int i = 0; i < 3 && !bad.empty(); ++i) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    (void)ParseS3Page(bad);
    (void)ParseHdfsStatuses(bad);
  }
  Result<S3Page> page = ParseS3Page(good);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->entries.size(), 1u);
  EXPECT_EQ(page->entries[0].key, "a b c");
  EXPECT_EQ(page->entries[0].etag, "e");
  EXPECT_EQ(page->entries[0].size, 5);
  EXPECT_EQ(page->next, "t");
}

TEST(S3List, RefusesAListThatCannotBeTrusted) {
  EXPECT_FALSE(ParseS3Page("<Other></Other>").ok());
  EXPECT_FALSE(ParseS3Page("<ListBucketResult><Contents><Key>a</Key></Contents>"
                           "</ListBucketResult>")
                   .ok());
  EXPECT_FALSE(ParseS3Page("<ListBucketResult><IsTruncated>true</IsTruncated>"
                           "</ListBucketResult>")
                   .ok());
}

TEST(S3List, SortsAndEncodesItsQuery) {
  EXPECT_EQ(
      S3ListQuery({.prefix = "a b/", .continuation = "t+/="}),
      "continuation-token=t%2B%2F%3D&encoding-type=url&list-type=2&prefix=a%20b%2F");
  EXPECT_EQ(
      S3ListQuery({.prefix = "a/", .delimiter = "/", .start_after = "a/x/"}),
      "delimiter=%2F&encoding-type=url&list-type=2&prefix=a%2F&start-after=a%2Fx%2F");
}

TEST(S3List, ReadsFoldersAndTimes) {
  Result<S3Page> page = ParseS3Page(
      "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a</Key>"
      "<Size>1</Size><LastModified>1970-01-02T00:00:01.500Z</LastModified></Contents>"
      "<CommonPrefixes><Prefix>b%20c/</Prefix></CommonPrefixes></ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->prefixes, std::vector<std::string>{"b c/"});
  EXPECT_EQ(page->entries[0].mtime_ns, 86'401'500'000'000);
  EXPECT_EQ(ParseS3Time("soon"), 0);
}

TEST(WebHdfs, ReadsStatusesAndErrors) {
  Result<HdfsEntry> entry = ParseHdfsStatus(
      R"({"FileStatus":{"type":"FILE","length":7,"modificationTime":9,"fileId":3,
          "pathSuffix":""}})");
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->size, 7);
  EXPECT_EQ(entry->file_id, 3u);
  auto link = ParseHdfsStatus(
      R"({"FileStatus":{"type":"SYMLINK","symlink":"/x","length":0,"modificationTime":5,)"
      R"("pathSuffix":"a"}})");
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(link->link_target, "/x");
  EXPECT_FALSE(link->is_folder);
  EXPECT_FALSE(ParseHdfsStatus("{}").ok());
  EXPECT_FALSE(ParseHdfsStatus("[1,2").ok());
  EXPECT_FALSE(ParseHdfsStatuses(R"({"FileStatuses":{"FileStatus":[{"type":1}]}})").ok());
  HdfsError error = ParseHdfsError(
      R"({"RemoteException":{"exception":"StandbyException","message":"m"}})");
  EXPECT_EQ(error.exception, "StandbyException");
  EXPECT_EQ(ParseHdfsError("<html>").exception, "");
}

TEST(FuzzCorpus, ListingsEndWithoutAFault) {
  fuzz::RunCorpus("listing", fuzz::FuzzListing);
}

}  // namespace
}  // namespace forebay::source
