#include "source/tree_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "support/no_threads.h"

namespace forebay::source {
namespace {

std::vector<std::string> Uris(const Tree& tree) {
  std::vector<std::string> uris;
  for (const model::Object& object : tree.objects) uris.push_back(object.uri);
  return uris;
}

// Each folder has ten folders down to a depth, and one object.
Result<Listed> Branch(const FolderPtr& folder) {
  Listed listed;
  listed.tree.objects.push_back({folder->name + "/object", {}});
  for (int i = 0; i < 10 && folder->depth < 3; ++i) {
    listed.folders.push_back({.name = folder->name + "/" + std::to_string(i)});
  }
  return listed;
}

TEST(TreeWalk, FindsEverythingOnceAndInOrder) {
  auto tree = WalkFolders({.name = "root"}, Branch);
  ASSERT_TRUE(tree.ok()) << tree.status();
  std::vector<std::string> uris = Uris(*tree);
  EXPECT_EQ(uris.size(), 1111);
  EXPECT_TRUE(std::ranges::is_sorted(uris));
  EXPECT_EQ(std::ranges::adjacent_find(uris), uris.end());
}

TEST(TreeWalk, FindsEverythingWhereNoThreadCanBeStarted) {
  testing_support::NoThreads limit;
  auto tree = WalkFolders({.name = "root"}, Branch);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->objects.size(), 1111U);
}

TEST(TreeWalk, ListsFoldersBesideEachOther) {
  std::promise<void> a, b;
  auto met = [](std::promise<void>& mine, std::promise<void>& other) {
    mine.set_value();
    return other.get_future().wait_for(std::chrono::seconds(30)) ==
           std::future_status::ready;
  };
  auto list = [&](const FolderPtr& folder) -> Result<Listed> {
    if (folder->depth == 0) return Listed{.tree = {}, .folders = {{"a"}, {"b"}}};
    bool both = folder->name == "a" ? met(a, b) : met(b, a);
    return both ? Result<Listed>(Listed{}) : Status::Internal("one after the other");
  };
  EXPECT_TRUE(WalkFolders({.name = "root"}, list).ok());
}

TEST(TreeWalk, AFailureOfAnyFolderEndsIt) {
  auto list = [](const FolderPtr& folder) -> Result<Listed> {
    if (folder->name == "root/7/3/5") return Status::Permission("not for you");
    return Branch(folder);
  };
  EXPECT_EQ(WalkFolders({.name = "root"}, list).status().code(), StatusCode::kPermission);
}

TEST(TreeWalk, AFolderThatWentMeanwhileIsLeftOut) {
  auto list = [](const FolderPtr& folder) -> Result<Listed> {
    if (folder->name == "root/7") return Status::NotFound("gone");
    return Branch(folder);
  };
  auto tree = WalkFolders({.name = "root"}, list);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->objects.size(), 1000);
  auto nothing = [](const FolderPtr&) -> Result<Listed> {
    return Status::NotFound("no such folder");
  };
  EXPECT_EQ(WalkFolders({.name = "root"}, nothing).status().code(),
            StatusCode::kNotFound);
}

TEST(TreeWalk, EndlessNestingEnds) {
  auto list = [](const FolderPtr& folder) -> Result<Listed> {
    return Listed{.tree = {}, .folders = {{folder->name + "/x"}}};
  };
  EXPECT_EQ(WalkFolders({.name = "root"}, list).status().code(),
            StatusCode::kUnsupported);
}

}  // namespace
}  // namespace forebay::source
