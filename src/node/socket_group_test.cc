#include "node/socket_group.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace forebay::node {
namespace {

TEST(GroupOf, TakesNamesAndNumbers) {
  EXPECT_EQ(GroupOf("root").ValueOrDie(), 0u);
  EXPECT_EQ(GroupOf("12345").ValueOrDie(), 12345u);
  for (const char* none : {"no-such-group-here", "", "4294967295", "12x"}) {
    EXPECT_EQ(GroupOf(none).status().code(), StatusCode::kNotFound) << none;
  }
}

TEST(OpenSocketTo, LetsTheGroupInAndNobodyElse) {
  std::string path = testing::TempDir() + "/socket-" + std::to_string(::getpid());
  std::ofstream(path).put('x');
  ASSERT_TRUE(OpenSocketTo(::getegid(), path).ok());
  struct stat seen {};
  ASSERT_EQ(::stat(path.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0660u);
  EXPECT_EQ(seen.st_gid, ::getegid());
  ::unlink(path.c_str());
  EXPECT_FALSE(OpenSocketTo(::getegid(), path).ok());
}

}  // namespace
}  // namespace forebay::node
