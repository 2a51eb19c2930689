#include "source/http_source.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "support/servers.h"

namespace forebay::source {
namespace {

using testing_support::HttpServer;
using testing_support::WriteFile;

Deadline Soon() { return Deadline::After(std::chrono::seconds(20)); }

std::shared_ptr<Source> Open(const std::string& uri) {
  return OpenSource(uri, {{"http.backoff-ms", "10"}, {"http.attempts-max", "3"}})
      .ValueOrDie();
}

Result<std::string> ReadAt(Source& source, const model::Object& object, int64_t offset,
                           size_t size) {
  std::string bytes(size, '\0');
  FB_RETURN_NOT_OK(
      source.Read(object, offset, std::as_writable_bytes(std::span(bytes)), Soon()));
  return bytes;
}

// A server with flags, one file, and its object.
struct Web {
  explicit Web(std::vector<std::string> flags)
      : server(HttpServer::Start(std::move(flags)).ValueOrDie()) {
    WriteFile(server->folder() + "/file", "0123456789");
  }
  Result<model::Object> Stat() { return source->Stat(uri, Soon()); }

  std::unique_ptr<HttpServer> server;
  std::string uri = server->url() + "/file";
  std::shared_ptr<Source> source = Open(uri);
};

TEST(HttpSource, ReadsFromAServerWithoutRanges) {
  Web web({"--no-range"});
  Result<model::Object> object = web.Stat();
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(ReadAt(*web.source, *object, 3, 4).ValueOrDie(), "3456");
  EXPECT_EQ(ReadAt(*web.source, *object, 9, 1).ValueOrDie(), "9");
}

TEST(HttpSource, AsksByGetWhereHeadIsRefused) {
  Web web({"--no-head"});
  Result<model::Object> object = web.Stat();
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->identity.size, 10);
  EXPECT_EQ(ReadAt(*web.source, *object, 3, 4).ValueOrDie(), "3456");
}

TEST(HttpSource, TrustsLastModifiedWhereThereIsNoStrongEtag) {
  for (const char* etag : {"weak", "none"}) {
    Web web({"--etag", etag});
    Result<model::Object> object = web.Stat();
    ASSERT_TRUE(object.ok()) << object.status();
    EXPECT_EQ(object->identity.etag, "");
    EXPECT_NE(object->identity.mtime_ns, 0);
    EXPECT_EQ(ReadAt(*web.source, *object, 3, 4).ValueOrDie(), "3456");
    model::Object older = *object;
    older.identity.mtime_ns -= 1'000'000'000;
    EXPECT_EQ(ReadAt(*web.source, older, 3, 4).status().code(), StatusCode::kChanged);
  }
}

TEST(HttpSource, RefusesAServerThatTellsNoVersions) {
  Web web({"--etag", "none", "--no-last-modified"});
  EXPECT_EQ(web.Stat().status().code(), StatusCode::kUnsupported);
}

TEST(HttpSource, FollowsRedirects) {
  Web web({});
  Result<model::Object> object =
      web.source->Stat(web.server->url() + "/redirect/file", Soon());
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(ReadAt(*web.source, *object, 0, 3).ValueOrDie(), "012");
}

TEST(HttpSource, SaysThatFoldersCannotBeListed) {
  Web web({});
  EXPECT_EQ(web.source->List(web.server->url() + "/", Soon()).status().code(),
            StatusCode::kUnsupported);
}

TEST(HttpSource, KeepsPasswordsAndTokensOutOfErrors) {
  Web web({"--user", "me:right"});
  std::string address = "127.0.0.1:" + std::to_string(web.server->port());
  for (const std::string& uri :
       {"http://me:PASSWORD@" + address + "/file?sig=SIGNATURE",
        std::string("http://me:PASSWORD@127.0.0.1:1/f?sig=SIGNATURE")}) {
    auto source = Open(uri);
    model::Object object{uri, {}};
    object.identity.size = 10;
    object.identity.etag = "x";
    for (const Status& status :
         {source->Stat(uri, Soon()).status(), source->List(uri, Soon()).status(),
          ReadAt(*source, object, 0, 5).status(),
          ReadAt(*source, object, 8, 5).status()}) {
      ASSERT_FALSE(status.ok());
      std::string text = status.ToString();
      EXPECT_EQ(text.find("PASSWORD"), text.npos) << text;
      EXPECT_EQ(text.find("SIGNATURE"), text.npos) << text;
    }
  }
  auto source = Open("http://me:right@" + address + "/file");
  EXPECT_TRUE(source->Stat("http://me:right@" + address + "/file", Soon()).ok());
}

}  // namespace
}  // namespace forebay::source
