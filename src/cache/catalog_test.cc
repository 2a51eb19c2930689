#include "cache/catalog.h"

#include <gtest/gtest.h>

#include "cache/sample_engine.h"

namespace forebay::cache {
namespace {

const std::string kBucket = "mem://bucket";
const std::string kUri = kBucket + "/events";

// A place whose objects can be read with the right key only.
class CatalogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string bytes = table::WriteParquet(*Noise(0, 100, 10));
    readable_->Put(kUri + "/a.parquet", bytes);
    forbidden_->Put(kUri + "/a.parquet", bytes);
    forbidden_->Forbid(kUri);
    forbidden_->Forbid(kUri + "/a.parquet");
    catalog_ = std::make_unique<Catalog>(Catalog::Options{
        .store = store_.get(),
        .pool = &pool_,
        .memory = arrow::default_memory_pool(),
        .open_source = [this](const std::string&, const source::Options& options)
            -> Result<std::shared_ptr<source::Source>> {
          ++opened_;
          auto key = options.find("s3.secret");
          bool right = key != options.end() && key->second == "right";
          return std::shared_ptr<source::Source>(right ? readable_ : forbidden_);
        }});
  }

  Status Open(const source::Options& options) {
    return catalog_->Open(kUri, options, Deadline::After(std::chrono::minutes(1)))
        .status();
  }
  std::shared_ptr<source::Source> SourceFor(const std::string& uri,
                                            const source::Options& options) {
    return catalog_->SourceFor(uri, options).ValueOrDie();
  }

  const source::Options right_{{"s3.key", "me"}, {"s3.secret", "right"}};
  const source::Options wrong_{{"s3.key", "me"}, {"s3.secret", "wrong"}};
  SampleFolder folder_;
  std::unique_ptr<storage::Store> store_ = folder_.OpenStore();
  ThreadPool pool_{2};
  std::shared_ptr<source::MemorySource> readable_ =
      std::make_shared<source::MemorySource>();
  std::shared_ptr<source::MemorySource> forbidden_ =
      std::make_shared<source::MemorySource>();
  int opened_ = 0;
  std::unique_ptr<Catalog> catalog_;
};

TEST_F(CatalogTest, WrongKeysFailAfterSomebodyCameWithTheRightOnes) {
  ASSERT_TRUE(Open(right_).ok()) << Open(right_);
  EXPECT_EQ(Open(wrong_).code(), StatusCode::kPermission);
  EXPECT_EQ(Open({}).code(), StatusCode::kPermission);
  EXPECT_TRUE(Open(right_).ok());
}

TEST_F(CatalogTest, RightKeysWorkAfterSomebodyCameWithWrongOnes) {
  EXPECT_EQ(Open(wrong_).code(), StatusCode::kPermission);
  EXPECT_TRUE(Open(right_).ok()) << Open(right_);
}

TEST_F(CatalogTest, AVersionIsReadWithTheKeysItWasOpenedWith) {
  auto version = catalog_->Open(kUri, right_, Deadline::Never()).ValueOrDie();
  std::string manifest(version->manifest->bytes());
  auto adopted = catalog_->Adopt(kUri, wrong_, manifest).ValueOrDie();
  EXPECT_EQ(version->source, readable_);
  EXPECT_EQ(adopted->source, forbidden_);
}

TEST_F(CatalogTest, ASourceIsSharedByThoseWhoComeWithTheSameOptions) {
  auto source = SourceFor(kBucket + "/a", right_);
  EXPECT_EQ(SourceFor(kBucket + "/b", right_), source);
  EXPECT_EQ(opened_, 1);
}

TEST_F(CatalogTest, ASourceIsAnotherForAnyOtherOption) {
  (void)SourceFor(kBucket + "/a", right_);
  (void)SourceFor(kBucket + "/a", wrong_);
  EXPECT_EQ(opened_, 2);
  (void)SourceFor(kBucket + "/a", {});
  EXPECT_EQ(opened_, 3);
  (void)SourceFor(kBucket + "/a", {{"s3.key", "right"}, {"s3.secret", "me"}});
  EXPECT_EQ(opened_, 4);
  (void)SourceFor(kBucket + "/a", {{"s3.key", "m"}, {"s3.secret", "eright"}});
  EXPECT_EQ(opened_, 5);
  (void)SourceFor(kBucket + "-2/a", right_);
  EXPECT_EQ(opened_, 6);
  (void)SourceFor("other://bucket/a", right_);
  EXPECT_EQ(opened_, 7);
}

TEST_F(CatalogTest, ASourceThatDidNotOpenIsTriedAgain) {
  int calls = 0;
  Catalog catalog({.store = store_.get(),
                   .pool = &pool_,
                   .open_source = [&](const std::string&, const source::Options&)
                       -> Result<std::shared_ptr<source::Source>> {
                     if (++calls == 1) return Status::Unavailable("not now");
                     return std::shared_ptr<source::Source>(readable_);
                   }});
  EXPECT_EQ(catalog.SourceFor(kUri, {}).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(catalog.SourceBytes(), 0);
  EXPECT_TRUE(catalog.SourceFor(kUri, {}).ok());
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace forebay::cache
