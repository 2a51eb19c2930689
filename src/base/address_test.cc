#include "base/address.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(Address, IsHostAndPort) {
  EXPECT_EQ(ParseAddress("127.0.0.1:7072")->port, 7072);
  EXPECT_EQ(ParseAddress(":7072")->host, "0.0.0.0");
  EXPECT_EQ(ParseAddress("[::1]:0")->host, "::1");
  for (const char* wrong : {"", "7072", "host", "host:", "host:x", "::1:80", "h:70000"}) {
    EXPECT_EQ(ParseAddress(wrong).status().code(), StatusCode::kInvalid) << wrong;
  }
}

TEST(Address, IsReachedWhereItIsGivenOrListensOrByTheMachinesName) {
  EXPECT_EQ(ReachableAddress("pod-1:7072", {"0.0.0.0", 7072}), "pod-1:7072");
  EXPECT_EQ(ReachableAddress("", {"10.0.0.7", 7072}), "10.0.0.7:7072");
  EXPECT_EQ(ReachableAddress("", {"0.0.0.0", 7072}), HostName() + ":7072");
  EXPECT_EQ(ReachableAddress("", {"::", 7072}), HostName() + ":7072");
  EXPECT_EQ(ReachableAddress("", {"fd00::7", 7072}), "[fd00::7]:7072");
}

TEST(IsLoopback, IsTrueForThisMachineAlone) {
  for (const char* own : {"127.0.0.1", "127.9.8.7", "::1", "localhost"}) {
    EXPECT_TRUE(IsLoopback(own)) << own;
  }
  for (const char* other :
       {"0.0.0.0", "::", "128.0.0.1", "126.255.255.255", "10.0.0.1", "::2",
        "localhost.example.org", "127.0.0.1.example.org", ""}) {
    EXPECT_FALSE(IsLoopback(other)) << other;
  }
}

}  // namespace
}  // namespace forebay
