#include "head/versions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/subprocess.h"

namespace forebay::head {
namespace {

namespace fs = std::filesystem;

class VersionsTest : public ::testing::Test {
 protected:
  // A tree of one file, which is another version for each content.
  std::string Pinned(const std::string& content) {
    fs::path tree = fs::path(folder_.path()) / "tree";
    fs::create_directories(tree);
    std::ofstream(tree / "a") << content;
    fs::last_write_time(tree / "a",
                        fs::file_time_type::clock::now() - std::chrono::hours(1));
    Dataset dataset{.name = "d", .is_files = true, .source = tree.string()};
    auto manifest =
        versions_->Pin(dataset, Deadline::After(milliseconds(10'000))).ValueOrDie();
    EXPECT_EQ(manifest.row_count(), 1);
    return manifest.version().ToHex();
  }
  void Age(const std::string& version) {
    fs::last_write_time(fs::path(folder_.path()) / "manifests" / (version + ".manifest"),
                        fs::file_time_type::clock::now() - std::chrono::hours(24 * 30));
  }

  testing_support::TempFolder folder_;
  std::unique_ptr<Versions> versions_ =
      Versions::Open({.folder = folder_.path() + "/manifests"}).ValueOrDie();
};

TEST_F(VersionsTest, ForgetWhatNoDatasetHasAndNobodyAsksFor) {
  std::string used = Pinned("one");
  std::string unused = Pinned("other");
  versions_->Forget({used});  // both were asked for since
  Age(used);
  Age(unused);
  versions_->Forget({used});
  EXPECT_TRUE(versions_->Has(used));
  EXPECT_FALSE(versions_->Has(unused));
}

TEST_F(VersionsTest, KeepAVersionThatIsAskedFor) {
  std::string version = Pinned("one");
  versions_->Forget({});
  Age(version);
  EXPECT_TRUE(versions_->Find(version).ok());
  versions_->Forget({});
  EXPECT_TRUE(versions_->Has(version));
}

}  // namespace
}  // namespace forebay::head
