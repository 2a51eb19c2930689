#include "fuse/look_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "fuse/node_id.h"
#include "support/files_tree.h"

namespace forebay::fuse {
namespace {

using model::kExtentBytes;

class LookAheadTest : public ::testing::Test {
 protected:
  // Reads a file of the tree and returns which extents or files were named.
  std::vector<uint32_t> Read(const std::string& path, uint64_t offset) {
    uint32_t file = manifest_->FindFile(path).value();
    auto ahead = look_ahead_.OnRead({.manifest = manifest_.get(),
                                     .node = NodeId{false, 0, 1, file}.number(),
                                     .file = file,
                                     .offset = offset});
    std::vector<uint32_t> named;
    for (const auto& ref : ahead.chunks) named.push_back(ref.group);
    for (const auto& place : ahead.files) named.push_back(place.file);
    return named;
  }
  void Show(const std::map<std::string, uint64_t>& sizes) {
    manifest_ = testing::ManifestOfSizes(sizes);
  }
  std::shared_ptr<const model::FilesManifest> manifest_;
  LookAhead look_ahead_;
};

TEST_F(LookAheadTest, ALargeFileReadFromItsStartIsNamedAheadOnce) {
  Show({{"big", 100 * kExtentBytes}});
  EXPECT_THAT(Read("big", 0), ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_TRUE(Read("big", 4096).empty());
  EXPECT_TRUE(Read("big", kExtentBytes - 1).empty());
  EXPECT_THAT(Read("big", kExtentBytes), ::testing::ElementsAre(9));
  EXPECT_THAT(Read("big", 2 * kExtentBytes + 5), ::testing::ElementsAre(10));
}

TEST_F(LookAheadTest, TheEndOfAFileIsTheEnd) {
  Show({{"big", 5 * kExtentBytes}});
  EXPECT_THAT(Read("big", 0), ::testing::ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(Read("big", kExtentBytes).empty());
}

TEST_F(LookAheadTest, RandomReadsNameNothing) {
  Show({{"big", 1000 * kExtentBytes}});
  for (uint64_t extent : {500, 3, 999, 700, 21, 350}) {
    EXPECT_TRUE(Read("big", extent * kExtentBytes + 4096).empty()) << extent;
  }
  EXPECT_FALSE(Read("big", 351 * kExtentBytes).empty());  // the first that follows one
}

TEST_F(LookAheadTest, ADirectoryReadInOrderIsNamedAheadOnce) {
  std::map<std::string, uint64_t> sizes;
  for (int i = 1000; i < 2000; ++i) sizes["d/" + std::to_string(i)] = 1000;
  Show(sizes);
  EXPECT_TRUE(Read("d/1000", 0).empty());
  EXPECT_TRUE(Read("d/1001", 0).empty());
  std::set<uint32_t> named;
  for (int i = 1002; i < 1500; ++i) {
    for (uint32_t file : Read("d/" + std::to_string(i), 0)) {
      EXPECT_TRUE(named.insert(file).second) << "named twice";
    }
  }
  EXPECT_GE(named.size(), 1500 - 1003 + LookAhead::kAheadFiles / 2);
  EXPECT_EQ(*named.begin(), manifest_->FindFile("d/1003").value());
}

TEST_F(LookAheadTest, ShuffledFilesNameNothing) {
  std::map<std::string, uint64_t> sizes;
  for (int i = 1000; i < 2000; ++i) sizes["d/" + std::to_string(i)] = 1000;
  Show(sizes);
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(Read("d/" + std::to_string(1000 + i * 397 % 1000), 0).empty()) << i;
  }
}

}  // namespace
}  // namespace forebay::fuse
