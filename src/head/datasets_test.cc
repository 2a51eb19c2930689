#include "head/datasets.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "meta/memory_store.h"
#include "support/aged_tree.h"
#include "support/hook_store.h"

namespace forebay::head {
namespace {

class DatasetsTest : public ::testing::Test {
 protected:
  void SetUp() override { Write("one"); }
  void Write(const std::string& content) {
    testing_support::PointTo(tree_, testing_support::AgedTree(content));
  }
  Dataset Wish(uint32_t replicas = 1) const {
    return {.name = "d", .is_files = true, .source = tree_, .replicas = replicas};
  }
  static Deadline Soon() { return Deadline::After(milliseconds(30'000)); }
  Result<Dataset> Create(const Dataset& wish) { return datasets_.Create(wish, Soon()); }

  testing_support::TempFolder folder_;
  std::string tree_ = folder_.path() + "/tree";
  testing_support::HookStore store_;
  std::unique_ptr<Versions> versions_ =
      Versions::Open({.folder = folder_.path() + "/manifests"}).ValueOrDie();
  Datasets datasets_{&store_, versions_.get()};
};

TEST_F(DatasetsTest, ArePinnedStoredAndGiven) {
  EXPECT_EQ(datasets_.Get("d").status().code(), StatusCode::kNotFound);
  Dataset made = Create(Wish(2)).ValueOrDie();
  EXPECT_TRUE(versions_->Has(made.version));
  EXPECT_EQ(DatasetJson(datasets_.Get("d").ValueOrDie()), DatasetJson(made));
  EXPECT_EQ(made.replicas, 2U);
  auto all = datasets_.List().ValueOrDie();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].version, made.version);
  EXPECT_TRUE(datasets_.Delete("d").ok());
  EXPECT_TRUE(datasets_.List().ValueOrDie().empty());
  EXPECT_EQ(datasets_.Delete("d").code(), StatusCode::kNotFound);
}

TEST_F(DatasetsTest, AreTheSameWhenAskedForTwice) {
  std::string version = Create(Wish()).ValueOrDie().version;
  Write("other");
  EXPECT_EQ(Create(Wish()).ValueOrDie().version, version) << "pinned it stays";
}

TEST_F(DatasetsTest, SayWhatDiffersWhereTheNameIsTaken) {
  ASSERT_TRUE(Create(Wish()).ok());
  Status taken = Create(Wish(3)).status();
  EXPECT_EQ(taken.code(), StatusCode::kChanged);
  EXPECT_EQ(taken.message(),
            "there is a dataset d already, and it is another one: its number of replicas "
            "is 1, not 3. Delete it first, or choose another name");
}

TEST_F(DatasetsTest, AreOneWhereTwoAskForTheSameAtOnce) {
  store_.before_put = [this] { ASSERT_TRUE(Create(Wish()).ok()); };
  EXPECT_TRUE(Create(Wish()).ok());
  ASSERT_TRUE(datasets_.Delete("d").ok());
  store_.before_put = [this] { ASSERT_TRUE(Create(Wish(2)).ok()); };
  EXPECT_EQ(Create(Wish()).status().code(), StatusCode::kChanged);
  EXPECT_EQ(datasets_.Get("d").ValueOrDie().replicas, 2U);
}

TEST_F(DatasetsTest, StayAtTheirVersionUntilRefreshed) {
  std::string first = Create(Wish()).ValueOrDie().version;
  uint64_t stored = store_.Get("datasets/d").ValueOrDie().version;
  EXPECT_EQ(datasets_.Refresh("d", Soon()).ValueOrDie().version, first);
  EXPECT_EQ(store_.Get("datasets/d").ValueOrDie().version, stored)
      << "nothing is written where nothing changed";
  Write("other");
  EXPECT_EQ(datasets_.Get("d").ValueOrDie().version, first);
  std::string second = datasets_.Refresh("d", Soon()).ValueOrDie().version;
  EXPECT_NE(second, first);
  EXPECT_EQ(datasets_.Get("d").ValueOrDie().version, second);
  EXPECT_TRUE(versions_->Has(first)) << "readers keep the one before";
  EXPECT_EQ(datasets_.Refresh("x", Soon()).status().code(), StatusCode::kNotFound);
}

TEST_F(DatasetsTest, AreNotRefreshedOverAChangeOfAnother) {
  ASSERT_TRUE(Create(Wish()).ok());
  Write("other");
  store_.before_put = [this] {
    ASSERT_TRUE(datasets_.Delete("d").ok());
    ASSERT_TRUE(Create(Wish(2)).ok());
  };
  EXPECT_EQ(datasets_.Refresh("d", Soon()).status().code(), StatusCode::kChanged);
  EXPECT_EQ(datasets_.Get("d").ValueOrDie().replicas, 2U);
}

TEST_F(DatasetsTest, AreNotMadeOfWhatCannotBeRead) {
  Dataset relative = Wish();
  relative.source = "tree";
  EXPECT_EQ(Create(relative).status().code(), StatusCode::kInvalid);
  Dataset missing = Wish();
  missing.source += "/no";
  EXPECT_EQ(Create(missing).status().code(), StatusCode::kNotFound);
  Dataset nameless = Wish();
  nameless.name = "a/b";
  EXPECT_EQ(Create(nameless).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(datasets_.Get("a/b").status().code(), StatusCode::kInvalid);
  EXPECT_TRUE(store_.List("").ValueOrDie().entries.empty());
}

TEST_F(DatasetsTest, SaySoWhenTheStoreIsSpoiled) {
  ASSERT_TRUE(store_.Put("datasets/d", "{}", {}).ok());
  EXPECT_EQ(datasets_.Get("d").status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(datasets_.List().status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(Create(Wish()).status().code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace forebay::head
