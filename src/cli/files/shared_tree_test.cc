#include "cli/files/shared_tree.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "support/files_tree.h"

namespace forebay::cli {
namespace {

namespace fs = std::filesystem;

class SharedTreeTest : public ::testing::Test {
 protected:
  SharedTreeTest() {
    std::string pattern = (fs::temp_directory_path() / "forebay-tree-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    shared_ = storage::SharedDirectory::Open({.path = root_ + "/shared"}).ValueOrDie();
  }
  ~SharedTreeTest() override { fs::remove_all(root_); }

  // What is seen of a listing with `from` replaced by `to`, its checksum right.
  Status SeenWith(const std::string& from, const std::string& to) {
    auto manifest = forebay::testing::ManifestOf(
        {{"folder/below", "1"}, {"model", "2"}, {"link", "-> x"}});
    std::string bytes(manifest->bytes());
    size_t at = bytes.find(from);
    if (at == bytes.npos || from.size() != to.size()) return Status::Invalid(from);
    bytes.replace(at, to.size(), to);
    FB_RETURN_NOT_OK(shared_->KeepListing({1, 2}, bytes));
    return FindSeen(*shared_, {1, 2}).status();
  }

  std::string root_;
  std::unique_ptr<storage::SharedDirectory> shared_;
};

TEST_F(SharedTreeTest, AListingThatLeadsOutOfTheTreeIsNone) {
  EXPECT_EQ(SeenWith("model", "model"), Status::OK());
  EXPECT_EQ(SeenWith("model", "other"), Status::OK());
  for (auto [from, to] : {std::pair{"model", "../el"},
                          {"model", "/odel"},
                          {"model", "mo/el"},
                          {"folder", "../der"},
                          {"folder", "/older"}}) {
    EXPECT_EQ(SeenWith(from, to).code(), StatusCode::kCorrupt) << to;
  }
}

}  // namespace
}  // namespace forebay::cli
