#include "kubeflow/health.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "kubeflow/scratch.h"

namespace forebay::kubeflow {
namespace {

http::Reply Ask(const std::string& path, bool ready) {
  http::Received request{.method = "GET", .path = path, .target = path};
  return AnswerHealth(request, [ready] { return ready; });
}

TEST(Health, IsReadyOnlyWhenItIs) {
  EXPECT_EQ(Ask("/ready", true).status, 200);
  EXPECT_EQ(Ask("/ready", true).body, "ready");
  EXPECT_EQ(Ask("/ready", false).status, 503);
  EXPECT_EQ(Ask("/ready", false).body, "not ready");
  EXPECT_EQ(Ask("/healthz", false).status, 200) << "alive is not ready";
  EXPECT_EQ(Ask("/", true).status, 404);
}

TEST(Scratch, IsAFolderOfItsOwnThatGoesWithIt) {
  std::string path;
  {
    Scratch one = Scratch::Make().ValueOrDie();
    Scratch other = Scratch::Make().ValueOrDie();
    path = one.path();
    EXPECT_NE(path, other.path());
    EXPECT_TRUE(std::filesystem::is_directory(path));
    Scratch moved = std::move(one);
    EXPECT_EQ(moved.path(), path);
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_all);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace forebay::kubeflow
