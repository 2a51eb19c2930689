#include "cache/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <latch>

#include "cache/sample_engine.h"

namespace forebay::cache {
namespace {

using ::testing::HasSubstr;

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

// One reader plans, by a source that does not answer; the others wait for it.
class CatalogSlowPlanTest : public CatalogTest {
 protected:
  void SetUp() override {
    CatalogTest::SetUp();
    slow_->Add({.before = [this] {
      reached_.count_down();
      go_on_.wait();
    }});
    planning_ = std::async(std::launch::async, [this] {
      return slow_catalog_.Open(kUri, {}, Deadline::After(std::chrono::minutes(1)));
    });
    reached_.wait();
  }
  void TearDown() override {
    if (!go_on_.try_wait()) go_on_.count_down();
    EXPECT_TRUE(planning_.get().ok());
    EXPECT_EQ(slow_->fired(), 1);
  }

  std::shared_ptr<source::FaultySource> slow_ =
      std::make_shared<source::FaultySource>(readable_);
  Catalog slow_catalog_{
      {.store = store_.get(),
       .pool = &pool_,
       .memory = arrow::default_memory_pool(),
       .open_source = [this](const std::string&, const source::Options&) {
         return Result<std::shared_ptr<source::Source>>(slow_);
       }}};
  std::latch reached_{1}, go_on_{1};
  std::future<Result<std::shared_ptr<const Version>>> planning_;
};

TEST_F(CatalogSlowPlanTest, AWaitForAnotherPlanEndsByItsDeadline) {
  auto open = std::async(std::launch::async, [this] {
    return slow_catalog_.Open(kUri, {}, Deadline::After(milliseconds(100))).status();
  });
  bool ended = open.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  EXPECT_TRUE(ended);
  if (!ended) go_on_.count_down();
  Status status = open.get();
  EXPECT_EQ(status.code(), StatusCode::kDeadline) << status;
  EXPECT_THAT(status.message(), HasSubstr("another reader planned " + kUri));
}

// Opens a source of its own for each set of options, and counts those that live.
class CatalogSourcesTest : public CatalogTest {
 protected:
  std::shared_ptr<source::Source> Get(int number) {
    return sources_.SourceFor(kBucket, {{"key", std::to_string(number)}}).ValueOrDie();
  }
  size_t alive() const {
    return static_cast<size_t>(std::ranges::count_if(
        opened_sources_, [](const auto& source) { return !source.expired(); }));
  }

  std::vector<std::weak_ptr<source::Source>> opened_sources_;
  Catalog sources_{{.store = store_.get(),
                    .pool = &pool_,
                    .open_source = [this](const std::string&, const source::Options&)
                        -> Result<std::shared_ptr<source::Source>> {
                      std::shared_ptr<source::Source> opened =
                          std::make_shared<source::MemorySource>();
                      opened->stats().bytes += 1;
                      opened_sources_.push_back(opened);
                      return opened;
                    }}};
};

TEST_F(CatalogSourcesTest, OfManyOptionsTheLatestAreKept) {
  for (int i = 0; i < 1000; ++i) (void)Get(i);
  EXPECT_EQ(alive(), 64U);
  EXPECT_EQ(sources_.SourceBytes(), 1000U) << "what came from the others counts";
  (void)Get(936);  // the oldest that is kept, and now the latest
  EXPECT_EQ(opened_sources_.size(), 1000U);
  (void)Get(1000);
  (void)Get(936);
  EXPECT_EQ(opened_sources_.size(), 1001U);
  (void)Get(937);
  EXPECT_EQ(opened_sources_.size(), 1002U) << "it was used longest ago";
}

TEST_F(CatalogSourcesTest, WhatSomebodyUsesIsKeptAndShared) {
  std::vector<std::shared_ptr<source::Source>> used;
  for (int i = 0; i < 100; ++i) used.push_back(Get(i));
  for (int i = 100; i < 300; ++i) (void)Get(i);
  EXPECT_EQ(alive(), 164U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Get(i), used[i]) << i;
  used.clear();
  for (int i = 300; i < 500; ++i) (void)Get(i);
  EXPECT_EQ(alive(), 64U) << "the others are idle and were dropped";
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
