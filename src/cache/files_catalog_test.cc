#include "cache/files_catalog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <set>

#include "source/faulty_source.h"
#include "source/memory_source.h"

namespace forebay::cache {
namespace {

using std::chrono::seconds;

const std::string kUri = "s3://b/tree";

class FilesCatalogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::temp_directory_path() /
                 (std::string("forebay-files-catalog-") + info->name() + "-" +
                  std::to_string(::getpid()));
    storage::StoreOptions store;
    store.tiers = storage::TiersOf(
        {{.medium = model::Medium::kSsd, .path = directory_, .quota_bytes = 0}});
    store_ = storage::Store::Open(std::move(store)).ValueOrDie();
    catalog_ = std::make_unique<FilesCatalog>(FilesCatalog::Options{
        .store = store_.get(),
        .open_source =
            [this](const std::string&, const source::Options&) {
              return Result<std::shared_ptr<source::Source>>(source_);
            },
        .clock = &clock_});
    memory_->ListInPages(10);
    for (int i = 0; i < 100; ++i) Put("d" + std::to_string(i % 5) + "/" + Name(i));
  }
  void TearDown() override {
    catalog_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  static std::string Name(int i) { return "f" + std::to_string(i); }
  void Put(const std::string& path) { memory_->Put(kUri + "/" + path, path); }
  Result<std::shared_ptr<const FilesVersion>> Open(milliseconds timeout = seconds(60)) {
    return catalog_->Open(kUri, {}, Deadline::After(timeout));
  }
  // A listing that has seen some folders and then fails.
  void FailHalfWay() {
    source_->Add({.call = source::Call::kList,
                  .skip = 9,
                  .times = 1,
                  .status = Status::Unavailable("the server is away")});
    int before = source_->fired();
    EXPECT_EQ(Open().status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(source_->fired(), before + 1);
  }
  std::multiset<std::string> Listed(const FilesVersion& version) {
    std::multiset<std::string> paths;
    for (uint32_t i = 0; i < version.manifest->files().size(); ++i) {
      paths.insert(version.manifest->FilePath(i));
    }
    return paths;
  }
  std::multiset<std::string> InSource() {
    std::multiset<std::string> paths;
    for (const model::Object& object :
         memory_->List(kUri, Deadline::After(seconds(60))).ValueOrDie()) {
      paths.insert(object.uri.substr(kUri.size() + 1));
    }
    return paths;
  }

  FakeClock clock_;
  std::shared_ptr<source::MemorySource> memory_ =
      std::make_shared<source::MemorySource>();
  std::shared_ptr<source::FaultySource> source_ =
      std::make_shared<source::FaultySource>(memory_);
  std::string directory_;
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<FilesCatalog> catalog_;
};

TEST_F(FilesCatalogTest, ForgetsAnUnfinishedListingAfterSeconds) {
  FailHalfWay();
  for (int folder = 0; folder < 5; ++folder) {
    std::string path = "d" + std::to_string(folder) + "/";
    Put(path + "new");
    memory_->Remove(kUri + "/" + path + Name(folder));
    Put(path + Name(folder + 5));  // the same name with another etag
  }
  clock_.Advance(seconds(3));
  auto version = Open();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(Listed(**version), InSource());
  const model::FilesManifest& manifest = *(*version)->manifest;
  for (uint32_t i = 0; i < manifest.files().size(); ++i) {
    auto now = memory_->Stat(manifest.object(i).uri, Deadline::After(seconds(60)));
    ASSERT_TRUE(now.ok()) << now.status();
    EXPECT_EQ(now->identity.etag, manifest.etag(i)) << now->uri;
  }
}

TEST_F(FilesCatalogTest, ContinuesAnUnfinishedListingAtOnce) {
  uint64_t before = memory_->stats().requests;
  ASSERT_TRUE(Open().ok());
  uint64_t whole = memory_->stats().requests - before;
  before = memory_->stats().requests;
  FailHalfWay();
  clock_.Advance(milliseconds(1999));
  auto version = Open();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(memory_->stats().requests - before, whole);
  EXPECT_EQ(Listed(**version), InSource());
}

TEST_F(FilesCatalogTest, CountsTheAgeOfAListingFromItsFirstStart) {
  FailHalfWay();
  clock_.Advance(milliseconds(1500));
  // Continued, and it fails again: that makes it no younger.
  source_->Add({.call = source::Call::kList,
                .times = 1,
                .status = Status::Unavailable("the server is away")});
  EXPECT_EQ(Open().status().code(), StatusCode::kUnavailable);
  for (int folder = 0; folder < 5; ++folder) Put("d" + std::to_string(folder) + "/new");
  clock_.Advance(milliseconds(1500));
  auto version = Open();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(Listed(**version), InSource());
}

TEST_F(FilesCatalogTest, ListsAnewAfterAFailureThatIsNoPassingOne) {
  source_->Add({.call = source::Call::kList,
                .skip = 9,
                .status = Status::Permission("not yours")});
  EXPECT_EQ(Open().status().code(), StatusCode::kPermission);
  for (int folder = 0; folder < 5; ++folder) Put("d" + std::to_string(folder) + "/new");
  auto version = Open();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(Listed(**version), InSource());
}

TEST_F(FilesCatalogTest, KnowsTheVersionBeforeTheLast) {
  auto first = Open().ValueOrDie();
  EXPECT_EQ(first->previous, nullptr);
  EXPECT_EQ(Open().ValueOrDie()->previous, nullptr);  // nothing has changed
  Put("d0/new");
  auto second = Open().ValueOrDie();
  ASSERT_NE(second->previous, nullptr);
  EXPECT_EQ(second->previous->version(), first->manifest->version());
  EXPECT_NE(second->manifest->version(), first->manifest->version());
  EXPECT_EQ(Open().ValueOrDie()->previous->version(), first->manifest->version());
}

TEST_F(FilesCatalogTest, WaitsForTheListingOfAnotherOnlyUntilItsDeadline) {
  std::promise<void> listing;
  std::promise<void> go_on;
  source_->Add({.call = source::Call::kList, .before = [&] {
                  listing.set_value();
                  go_on.get_future().wait();
                }});
  auto slow = std::async(std::launch::async, [&] { return Open(); });
  listing.get_future().wait();
  Status hurried = Open(milliseconds(1)).status();
  EXPECT_EQ(hurried.code(), StatusCode::kDeadline);
  EXPECT_EQ(hurried.message(),
            "time was up while listing s3://b/tree: give a longer timeout");
  go_on.set_value();
  EXPECT_TRUE(slow.get().ok());
}

}  // namespace
}  // namespace forebay::cache
