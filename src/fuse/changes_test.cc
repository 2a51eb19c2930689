#include "fuse/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "support/fake_contents.h"

namespace forebay::fuse {
namespace {

using ::testing::ElementsAre;

// Names with their folder's path in front, so that a test can say them.
struct Told {
  std::set<std::string> names;
  std::set<std::string> folders;
  ChangeCounts counts;
};

Told Compare(const testing::Tree& before, const testing::Tree& now) {
  Filesystem filesystem({.names = {""}, .mounted_ns = 0});
  filesystem.Add(0, NextGeneration(nullptr, before));
  filesystem.Add(0, NextGeneration(filesystem.Current(0), now));
  auto path_of = [&](uint64_t node) {
    NodeId id = NodeId::From(node);
    if (node == kRootNode) return std::string();
    auto born = filesystem.Find(0, id.generation);
    return std::string(born->contents->manifest().directory_path(id.index)) + "/";
  };
  Told told;
  ChangeVisitor visitor{
      .entry =
          [&](uint64_t parent, std::string_view name) {
            told.names.insert(path_of(parent).append(name));
          },
      .directory = [&](uint64_t node) { told.folders.insert(path_of(node)); }};
  told.counts = VisitChanges(filesystem, 0, *filesystem.Find(0, 1),
                             *filesystem.Find(0, 2), visitor);
  return told;
}

TEST(Changes, OnlyNamesThatLeadElsewhereAreForgotten) {
  Told told =
      Compare({{"a/changes", "1"}, {"a/stays", "2"}, {"b/goes", "3"}, {"b/x", ""}},
              {{"a/changes", "9"}, {"a/stays", "2"}, {"b/comes", "4"}, {"b/x", ""}});
  EXPECT_THAT(told.names, ElementsAre("a/changes", "b/comes", "b/goes"));
  EXPECT_THAT(told.folders, ElementsAre("a/", "b/"));
  EXPECT_EQ(told.counts.added, 1);
  EXPECT_EQ(told.counts.changed, 1);
  EXPECT_EQ(told.counts.removed, 1);
}

TEST(Changes, FoldersThatComeAndGoAreToldAtTheirParent) {
  Told told = Compare({{"old/x/y", "1"}, {"k", ""}}, {{"new/x/y", "1"}, {"k", ""}});
  EXPECT_TRUE(told.names.contains("old"));
  EXPECT_TRUE(told.names.contains("new"));
  EXPECT_TRUE(told.names.contains("old/x/y"));
  EXPECT_TRUE(told.folders.contains(""));
  EXPECT_EQ(told.counts.total(), 2);
}

TEST(Changes, AFileThatBecomesAFolderIsANameThatLeadsElsewhere) {
  Told told = Compare({{"a", "1"}}, {{"a/b", "1"}});
  EXPECT_TRUE(told.names.contains("a"));
}

TEST(Changes, NothingIsToldWhereNothingChanged) {
  Told told = Compare({{"a/b", "1"}, {"c", ""}}, {{"a/b", "1"}, {"c", ""}});
  EXPECT_TRUE(told.names.empty());
  EXPECT_TRUE(told.folders.empty());
}

TEST(Changes, WhatARecordSaysBeyondTheManifestIsNotLookedAt) {
  auto honest = testing::ManifestOf({{"a/b", "1"}, {"a/c", "2"}, {"d", "3"}});
  std::string_view bytes = honest->bytes();
  auto copy = std::make_shared<std::vector<uint64_t>>(bytes.size() / 8 + 1);
  auto* at = reinterpret_cast<char*>(copy->data());
  std::memcpy(at, bytes.data(), bytes.size());
  auto* records = reinterpret_cast<model::DirectoryRecord*>(
      at + (reinterpret_cast<const char*>(honest->directories().data()) - bytes.data()));
  records[0].file_count = records[0].directory_count = UINT32_MAX;
  records[1].first_file = records[1].first_directory = UINT32_MAX;
  auto hostile = model::FilesManifest::View({at, bytes.size()}, copy).ValueOrDie();
  for (uint32_t directory : {0, 1}) {
    for (uint32_t file : hostile->FilesIn(directory)) EXPECT_LT(file, 3);
    for (uint32_t below : hostile->DirectoriesIn(directory)) EXPECT_LT(below, 2);
  }
  EXPECT_TRUE(hostile->FilesIn(1).empty());
  EXPECT_EQ(honest->FilesIn(1).size(), 2);
}

}  // namespace
}  // namespace forebay::fuse
