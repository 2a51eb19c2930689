#include "cli/files/mount_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuse/node_id.h"

namespace forebay::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MountArguments Of(std::vector<std::string> places,
                  std::vector<std::string> sources = {}) {
  MountArguments arguments;
  arguments.places = std::move(places);
  arguments.sources = std::move(sources);
  return arguments;
}

Status StatusOf(const MountArguments& arguments) {
  return MountSources(arguments).status();
}

TEST(MountSources, OfOneIsTheWholeMount) {
  auto sources = MountSources(Of({"s3://bucket/images", "/mnt"})).ValueOrDie();
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources[0].uri, "s3://bucket/images");
  EXPECT_EQ(sources[0].name, "");
}

TEST(MountSources, OfSeveralHaveTheFoldersTheyAreGiven) {
  auto sources =
      MountSources(Of({"/mnt"}, {"s3://a/x=1=train", "/data=test"})).ValueOrDie();
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].uri, "s3://a/x=1");
  EXPECT_EQ(sources[0].name, "train");
  EXPECT_EQ(sources[1].name, "test");
}

TEST(MountSources, RefuseTwoOfOneName) {
  Status status = StatusOf(Of({"/mnt"}, {"s3://a=train", "s3://b=train"}));
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr("both be the folder train"));
  EXPECT_TRUE(StatusOf(Of({"/mnt"}, {"s3://a=one", "s3://a=two"})).ok())
      << "one source may be there twice";
}

TEST(MountSources, RefuseNamesThatNoFolderHas) {
  for (const char* source :
       {"s3://a=", "s3://a=.", "s3://a=..", "/a=x/y", "s3://a", "=x"}) {
    EXPECT_EQ(StatusOf(Of({"/mnt"}, {source})).code(), StatusCode::kInvalid) << source;
  }
  std::string longest = "s3://a=" + std::string(255, 'n');
  EXPECT_TRUE(StatusOf(Of({"/mnt"}, {longest})).ok());
  EXPECT_FALSE(StatusOf(Of({"/mnt"}, {longest + "n"})).ok());
}

TEST(MountSources, WantAPlaceToMountAt) {
  EXPECT_FALSE(StatusOf(Of({"s3://a"})).ok());
  EXPECT_FALSE(StatusOf(Of({"s3://a", "/mnt", "/more"})).ok());
  EXPECT_FALSE(StatusOf(Of({"s3://b", "/mnt"}, {"s3://a=x"})).ok());
  EXPECT_FALSE(MountDirectory(Of({})).ok());
  EXPECT_FALSE(MountDirectory(Of({"s3://a", ""})).ok());
}

TEST(MountSources, AreAsManyAsAMountHolds) {
  MountArguments arguments = Of({"/mnt"});
  for (size_t i = 0; i < fuse::kSourcesMax; ++i) {
    arguments.sources.push_back("s3://a=" + std::to_string(i));
  }
  EXPECT_TRUE(StatusOf(arguments).ok());
  arguments.sources.push_back("s3://a=one-more");
  EXPECT_FALSE(StatusOf(arguments).ok());
}

TEST(MountWords, SayTheSameWithAbsolutePlaces) {
  MountArguments arguments = Of({"/mnt"}, {"s3://a=x", "s3://b=y"});
  arguments.open.options = {"s3.region=here"};
  arguments.open.node.store = "mem:1GiB";
  arguments.open.node.socket = "/run/node.sock";
  arguments.open.timeout = "5m";
  arguments.profile = "large";
  arguments.memory = "2GiB";
  arguments.allow_other = true;
  auto words = MountWords(arguments).ValueOrDie();
  EXPECT_THAT(words,
              ElementsAre("--source", "s3://a=x", "--source", "s3://b=y", "--option",
                          "s3.region=here", "--profile", "large", "--memory", "2GiB",
                          "--store", testing::_, "--node", "/run/node.sock", "--timeout",
                          "5m", "--allow-other", "--", "/mnt"));
}

}  // namespace
}  // namespace forebay::cli
