#include "fuse/filesystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "support/fake_contents.h"

namespace forebay::fuse {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class FilesystemTest : public ::testing::Test {
 protected:
  FilesystemTest() : filesystem_({.names = {""}, .mounted_ns = 77}) {}

  void Show(testing::Tree tree) {
    filesystem_.Add(0, NextGeneration(filesystem_.Current(0), std::move(tree)));
  }
  Attributes Find(const std::string& path) {
    Attributes at{.node = kRootNode};
    for (size_t first = 0; first <= path.size();) {
      size_t end = std::min(path.find('/', first), path.size());
      int error = filesystem_.Lookup(at.node, path.substr(first, end - first), &at);
      if (error != 0) return {};
      first = end + 1;
    }
    return at;
  }
  std::vector<std::string> List(uint64_t node, size_t at_once = 1000) {
    std::vector<std::string> names;
    uint64_t cookie = 0;
    for (bool more = true; more;) {
      more = false;
      size_t left = at_once;
      filesystem_.List(node, cookie, [&](const Entry& entry) {
        if (left-- == 0) return false;
        more = true;
        cookie = entry.next;
        names.emplace_back(entry.name);
        return true;
      });
    }
    return names;
  }
  std::string Read(uint64_t node, uint64_t offset, uint64_t size) {
    auto file = filesystem_.FindFile(node);
    if (!file) return "(no file)";
    std::string out;
    Pieces pieces = Filesystem::Read(*file, offset, size, Deadline::Never()).ValueOrDie();
    for (const FileBytes& piece : pieces) out += piece.bytes;
    return out;
  }

  Filesystem filesystem_;
};

TEST_F(FilesystemTest, FindsFilesAndFoldersAndNothingElse) {
  Show({{"a/b/c", "123"}, {"x", ""}});
  EXPECT_EQ(Find("a/b/c").size, 3);
  EXPECT_EQ(Find("a/b/c").type, FileType::kFile);
  EXPECT_EQ(Find("a/b").type, FileType::kDirectory);
  EXPECT_EQ(Find("a/c").node, 0);
  EXPECT_EQ(Find("x/y").node, 0);
  Attributes at;
  EXPECT_EQ(filesystem_.Lookup(kRootNode, "..", &at), ENOENT);
}

TEST_F(FilesystemTest, ShowsLinksAndEmptyFolders) {
  Show({{"a/b", "123"}, {"a/l", "-> ../no/where"}, {"e/f/", ""}});
  EXPECT_EQ(Find("a/l").type, FileType::kLink);
  EXPECT_EQ(Find("a/l").size, std::string("../no/where").size());
  EXPECT_EQ(Find("e/f").type, FileType::kDirectory);
  EXPECT_EQ(Find("e/f").links, 2);
  EXPECT_THAT(List(Find("e/f").node), ElementsAre(".", ".."));
  std::string target;
  EXPECT_EQ(filesystem_.ReadLink(Find("a/l").node, &target), 0);
  EXPECT_EQ(target, "../no/where");
  EXPECT_EQ(filesystem_.ReadLink(Find("a/b").node, &target), EINVAL);
  EXPECT_EQ(filesystem_.ReadLink(Find("a").node, &target), EINVAL);
  filesystem_.List(Find("a").node, 0, [&](const Entry& entry) {
    EXPECT_EQ(entry.type == FileType::kLink, entry.name == "l") << entry.name;
    return true;
  });
}

TEST_F(FilesystemTest, ALinkThatLeadsElsewhereIsANewInode) {
  Show({{"stays", "-> x"}, {"moves", "-> x"}, {"becomes", "-> x"}});
  uint64_t stays = Find("stays").node, moves = Find("moves").node;
  uint64_t becomes = Find("becomes").node;
  Show({{"stays", "-> x"}, {"moves", "-> y"}, {"becomes/a", "file"}});
  EXPECT_EQ(Find("stays").node, stays);
  EXPECT_NE(Find("moves").node, moves);
  EXPECT_EQ(Find("becomes").type, FileType::kDirectory);
  std::string target;
  EXPECT_EQ(filesystem_.ReadLink(moves, &target), 0);
  EXPECT_EQ(target, "x");
  EXPECT_EQ(filesystem_.ReadLink(becomes, &target), 0);
}

TEST_F(FilesystemTest, AttributesByInodeAreThoseByName) {
  Show({{"a/b", "1"}, {"a/c/d", "22"}, {"e", "333"}});
  for (const char* path : {"a", "a/b", "a/c", "a/c/d", "e"}) {
    Attributes by_name = Find(path);
    Attributes by_node;
    ASSERT_EQ(filesystem_.GetAttributes(by_name.node, &by_node), 0) << path;
    EXPECT_EQ(by_node.node, by_name.node);
    EXPECT_EQ(by_node.size, by_name.size);
    EXPECT_EQ(by_node.mtime_ns, by_name.mtime_ns);
    EXPECT_EQ(by_node.links, by_name.links);
  }
  EXPECT_EQ(Find("a").links, 3);
  EXPECT_EQ(Find("a").mtime_ns, Find("a/b").mtime_ns);  // the newest file's
}

TEST_F(FilesystemTest, ListingsGoOnWhereTheyStopped) {
  Show({{"a/b", ""}, {"c", ""}, {"d", ""}, {"e/f", ""}});
  for (size_t at_once : {1, 2, 3, 100}) {
    EXPECT_THAT(List(kRootNode, at_once), ElementsAre(".", "..", "a", "e", "c", "d"));
  }
}

TEST_F(FilesystemTest, AListingStaysInTheVersionItBeganIn) {
  Show({{"a", ""}, {"b", ""}, {"c", ""}});
  uint64_t cookie = 0;
  filesystem_.List(kRootNode, 0, [&](const Entry& entry) {
    cookie = entry.next;
    return entry.name != "a";
  });
  Show({{"0", ""}, {"1", ""}, {"c", ""}});
  std::vector<std::string> rest;
  filesystem_.List(kRootNode, cookie, [&](const Entry& entry) {
    EXPECT_FALSE(entry.current) << "a name of an old version must not be remembered";
    rest.emplace_back(entry.name);
    return true;
  });
  EXPECT_THAT(rest, ElementsAre("b", "c"));
  EXPECT_THAT(List(kRootNode), ElementsAre(".", "..", "0", "1", "c"));
}

TEST_F(FilesystemTest, ReadsAcrossPiecesAndStopsAtTheEnd) {
  Show({{"f", "0123456789"}});
  auto& contents = static_cast<FakeContents&>(*filesystem_.Current(0)->contents);
  contents.piece_bytes = 3;
  uint64_t node = Find("f").node;
  EXPECT_EQ(Read(node, 0, 100), "0123456789");
  EXPECT_EQ(Read(node, 2, 5), "23456");
  EXPECT_EQ(Read(node, 10, 5), "");
  EXPECT_EQ(Read(node, UINT64_MAX - 1, 5), "");
  auto file = *filesystem_.FindFile(node);
  EXPECT_TRUE(Filesystem::TryRead(file, 2, 5));
  contents.mapped = false;
  EXPECT_FALSE(Filesystem::TryRead(file, 2, 5));
}

TEST_F(FilesystemTest, AChangedFileIsANewInodeAndTheOldOneKeepsItsBytes) {
  Show({{"d/changes", "old"}, {"d/stays", "same"}, {"d/goes", "gone"}});
  Attributes changes = Find("d/changes"), stays = Find("d/stays"), goes = Find("d/goes");
  Attributes folder = Find("d");
  Show({{"d/changes", "newer"}, {"d/stays", "same"}, {"d/comes", "1"}, {"a", "0"}});
  EXPECT_NE(Find("d/changes").node, changes.node);
  EXPECT_EQ(Find("d/stays").node, stays.node);
  EXPECT_EQ(Find("d").node, folder.node);
  EXPECT_EQ(Find("d/goes").node, 0);
  EXPECT_EQ(Read(changes.node, 0, 9), "old");
  EXPECT_EQ(Read(goes.node, 0, 9), "gone");
  EXPECT_EQ(Read(Find("d/changes").node, 0, 9), "newer");
  EXPECT_EQ(Read(Find("d/stays").node, 0, 9), "same");
}

TEST_F(FilesystemTest, InodesStayOverManyVersions) {
  Show({{"a/stays", "1"}});
  uint64_t file = Find("a/stays").node, folder = Find("a").node;
  for (int i = 0; i < 20; ++i) {
    Show({{"a/stays", "1"}, {"a/" + std::to_string(i), "x"}, {std::to_string(i), ""}});
    EXPECT_EQ(Find("a/stays").node, file);
    EXPECT_EQ(Find("a").node, folder);
  }
}

TEST_F(FilesystemTest, AFolderThatIsGoneIsEmptyForWhoIsInIt) {
  Show({{"a/b", ""}, {"c", ""}});
  uint64_t folder = Find("a").node;
  Show({{"c", ""}});
  Attributes at;
  EXPECT_EQ(filesystem_.GetAttributes(folder, &at), 0);
  EXPECT_EQ(at.links, 0);
  EXPECT_EQ(filesystem_.Lookup(folder, "b", &at), ENOENT);
  EXPECT_THAT(List(folder), ElementsAre());
}

TEST_F(FilesystemTest, NumbersThatNobodyGaveOutAreStale) {
  Show({{"a", "1"}});
  Attributes at;
  for (NodeId id :
       {NodeId{false, 0, 1, 7}, NodeId{false, 0, 2, 0}, NodeId{false, 3, 1, 0},
        NodeId{true, 0, 1, 9}, NodeId{true, 5, 1, 0}}) {
    EXPECT_EQ(filesystem_.GetAttributes(id.number(), &at), ESTALE) << id.number();
    EXPECT_FALSE(filesystem_.FindFile(id.number()));
  }
}

TEST_F(FilesystemTest, ExtendedAttributesSayEtagAndVersion) {
  Show({{"a", "1"}});
  std::string value;
  uint64_t node = Find("a").node;
  EXPECT_EQ(filesystem_.ExtendedAttribute(node, "user.forebay.etag", &value), 0);
  EXPECT_EQ(value, HashBytes("1").ToHex());
  EXPECT_THAT(filesystem_.ExtendedAttributeNames(node),
              UnorderedElementsAre("user.forebay.etag", "user.forebay.version"));
  EXPECT_THAT(filesystem_.ExtendedAttributeNames(kRootNode),
              ElementsAre("user.forebay.version"));
  value.clear();
  EXPECT_EQ(filesystem_.ExtendedAttribute(node, "security.selinux", &value), ENODATA);
}

TEST(FilesystemOfSeveral, SourcesAreFolders) {
  Filesystem filesystem({.names = {"train", "val"}, .mounted_ns = 77});
  filesystem.Add(0, NextGeneration(nullptr, {{"a", "1"}}));
  filesystem.Add(1, NextGeneration(nullptr, {{"a", "22"}}));
  std::vector<std::string> names;
  filesystem.List(kRootNode, 0, [&](const Entry& entry) {
    names.emplace_back(entry.name);
    return true;
  });
  EXPECT_THAT(names, ElementsAre(".", "..", "train", "val"));
  Attributes train, val, file;
  ASSERT_EQ(filesystem.Lookup(kRootNode, "train", &train), 0);
  ASSERT_EQ(filesystem.Lookup(kRootNode, "val", &val), 0);
  EXPECT_EQ(filesystem.Lookup(kRootNode, "a", &file), ENOENT);
  ASSERT_EQ(filesystem.Lookup(val.node, "a", &file), 0);
  EXPECT_EQ(file.size, 2);
  ASSERT_EQ(filesystem.GetAttributes(kRootNode, &file), 0);
  EXPECT_EQ(file.links, 4);
  filesystem.Add(1, NextGeneration(filesystem.Current(1), {{"b", ""}}));
  Attributes again;
  ASSERT_EQ(filesystem.Lookup(kRootNode, "val", &again), 0);
  EXPECT_EQ(again.node, val.node);
  EXPECT_EQ(filesystem.Lookup(train.node, "a", &file), 0);
  EXPECT_EQ(filesystem.Lookup(val.node, "a", &file), ENOENT);
}

}  // namespace
}  // namespace forebay::fuse
