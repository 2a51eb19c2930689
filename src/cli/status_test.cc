#include "cli/status.h"

#include <gtest/gtest.h>

namespace forebay::cli {
namespace {

NodeStatus ANode() {
  return NodeStatus::parse(R"({
    "pid": 4242, "version": "0.1.0", "socket": "/run/forebay/node.sock",
    "log": "/run/forebay/node.sock.log",
    "uptime_seconds": 3725.5, "fills": 12, "failed_fills": 1, "fills_queued": 3,
    "source_bytes": 1048576,
    "tiers": [
      {"medium": "mem", "path": "", "used_bytes": 1024, "quota_bytes": 4096,
       "chunks": 2, "evictions": 7},
      {"medium": "ssd", "path": "/var/cache/forebay", "used_bytes": 0,
       "quota_bytes": 0, "chunks": 0, "evictions": 0}],
    "readers": [{"pid": 77, "program": "python", "chunks": 5, "views": [
      {"uri": "file:///data/t", "position": 250, "positions": 1000}]}]})");
}

TEST(Status, ShowsNodesTiersAndReaders) {
  EXPECT_EQ(StatusText({ANode()}),
            "NODE  VERSION     UP  FILLS  FAILED  QUEUED  FETCHED  READERS  SOCKET"
            "                  LOG\n"
            "4242  0.1.0    1h02m     12       1       3  1.0 MiB        1  "
            "/run/forebay/node.sock  /run/forebay/node.sock.log\n"
            "\n"
            "NODE  TIER                       USED    QUOTA  CHUNKS  EVICTED\n"
            "4242  mem                     1.0 KiB  4.0 KiB       2        7\n"
            "4242  ssd:/var/cache/forebay      0 B        -       0        0\n"
            "\n"
            "NODE  READER  PROGRAM  CHUNKS    READ  TABLE\n"
            "4242      77  python        5  25.0 %  file:///data/t\n");
}

TEST(Status, ShowsNoLogOfANodeInTheForeground) {
  NodeStatus node = ANode();
  node["log"] = "";
  std::string text = StatusText({node});
  EXPECT_NE(text.find("node.sock  -\n"), text.npos) << text;
  node.erase("log");
  EXPECT_EQ(StatusText({node}), text);
}

TEST(Status, OfNoNodesIsEmpty) {
  EXPECT_EQ(StatusText({}), "");
  EXPECT_EQ(StatusJson({}).dump(), R"({"nodes":[]})");
}

TEST(Status, StandsAnswersOfOtherVersions) {
  for (const char* text :
       {"{}", R"({"pid":"x","tiers":3,"readers":{}})", R"({"tiers":[1,null,{}]})",
        R"({"pid":-1,"uptime_seconds":-5,"readers":[{"views":[{"position":1}]}]})"}) {
    std::string shown = StatusText({NodeStatus::parse(text)});
    EXPECT_EQ(shown.substr(0, 4), "NODE") << text;
  }
}

}  // namespace
}  // namespace forebay::cli
