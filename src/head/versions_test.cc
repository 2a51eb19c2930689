#include "head/versions.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>
#include <vector>

#include "support/aged_tree.h"
#include "table/sample_tables.h"

namespace forebay::head {
namespace {

namespace fs = std::filesystem;

class VersionsTest : public ::testing::Test {
 protected:
  // A tree of one file, which is another version for each content.
  Dataset Tree(const std::string& content) {
    std::string tree = folder_.path() + "/tree";
    testing_support::PointTo(tree, testing_support::AgedTree(content));
    return {.name = "d", .is_files = true, .source = tree};
  }
  static Deadline Soon() { return Deadline::After(milliseconds(30'000)); }
  std::string Pinned(const std::string& content) {
    auto manifest = versions_->Pin(Tree(content), Soon()).ValueOrDie();
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

TEST_F(VersionsTest, ArePinnedByManyAtOnce) {
  Dataset dataset = Tree("one");
  constexpr int kThreads = 12, kRounds = 15;
  std::atomic<int> pinned{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        auto manifest = versions_->Pin(dataset, Soon());
        EXPECT_TRUE(manifest.ok()) << manifest.status();
        pinned += manifest.ok() ? 1 : 0;
        // So that it has to be written again.
        fs::remove(fs::path(folder_.path()) / "manifests" /
                   (manifest->version().ToHex() + ".manifest"));
        versions_->Forget({});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pinned, kThreads * kRounds);
}

TEST_F(VersionsTest, AreKeptByManyAtOnce) {
  auto manifest = versions_->Pin(Tree("one"), Soon()).ValueOrDie();
  std::string version = manifest.version().ToHex();
  std::string bytes(manifest.bytes());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        Status kept = versions_->Keep(version, bytes);
        EXPECT_TRUE(kept.ok()) << kept;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  auto entries = std::distance(fs::directory_iterator(folder_.path() + "/manifests"),
                               fs::directory_iterator());
  EXPECT_EQ(entries, 1) << "nothing of the writers is left";
}

TEST_F(VersionsTest, WaitForTheirTurnAndTurnMoreAway) {
  versions_ = Versions::Open({.folder = folder_.path() + "/manifests", .pins_max = 0})
                  .ValueOrDie();
  auto late = versions_->Pin(Tree("one"), Deadline::After(milliseconds(1)));
  EXPECT_EQ(late.status().code(), StatusCode::kDeadline);
  versions_ =
      Versions::Open(
          {.folder = folder_.path() + "/manifests", .pins_max = 0, .waiting_max = 0})
          .ValueOrDie();
  EXPECT_EQ(versions_->Pin(Tree("one"), Soon()).status().code(),
            StatusCode::kUnavailable);
}

TEST_F(VersionsTest, AreReadOnlyWhereThatIsAllowed) {
  versions_ = Versions::Open({.folder = folder_.path() + "/manifests",
                              .allowed = {folder_.path() + "/elsewhere"}})
                  .ValueOrDie();
  EXPECT_EQ(versions_->Pin(Tree("one"), Soon()).status().code(), StatusCode::kPermission);
}

TEST_F(VersionsTest, AreNotReadByWayOfServersThatAreNotAllowed) {
  Dataset dataset = Tree("one");
  versions_ = Versions::Open({.folder = folder_.path() + "/manifests",
                              .allowed = {"file://" + dataset.source}})
                  .ValueOrDie();
  EXPECT_TRUE(versions_->Pin(dataset, Soon()).ok());
  dataset.options["uri"] = "http://elsewhere.example/catalog";
  EXPECT_EQ(versions_->Pin(dataset, Soon()).status().code(), StatusCode::kPermission);
}

TEST_F(VersionsTest, AreRecalledWhileTheSourceStillHoldsThem) {
  Dataset dataset = Tree("one");
  dataset.version = Pinned("one");
  fs::path file =
      fs::path(folder_.path()) / "manifests" / (dataset.version + ".manifest");
  auto reopen = [&] {
    versions_ = Versions::Open({.folder = folder_.path() + "/manifests"}).ValueOrDie();
  };
  fs::remove(file);
  reopen();
  EXPECT_FALSE(versions_->Has(dataset.version));
  auto again = versions_->Recall(dataset, Soon());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->version().ToHex(), dataset.version);
  Tree("other");
  EXPECT_TRUE(versions_->Recall(dataset, Soon()).ok()) << "it is kept here";
  fs::remove(file);
  reopen();
  EXPECT_EQ(versions_->Recall(dataset, Soon()).status().code(), StatusCode::kChanged);
}

TEST_F(VersionsTest, AreKeptOnlyUnderTheirOwnName) {
  auto manifest = versions_->Pin(Tree("one"), Soon()).ValueOrDie();
  std::string bytes(manifest.bytes());
  EXPECT_EQ(versions_->Keep(std::string(32, 'a'), bytes).code(), StatusCode::kCorrupt);
  EXPECT_FALSE(versions_->Keep(manifest.version().ToHex(), "no manifest").ok());
  EXPECT_FALSE(versions_->Has(std::string(32, 'a')));
}

TEST_F(VersionsTest, HaveNamesThatLeadNowhereElse) {
  for (const char* bad : {"", "../../etc/passwd", "abc", "xyz"}) {
    EXPECT_EQ(versions_->Find(bad).status().code(), StatusCode::kInvalid) << bad;
  }
  EXPECT_EQ(versions_->Find(std::string(32, 'a')).status().code(), StatusCode::kNotFound);
}

TEST_F(VersionsTest, ArePlannedAgainWhereTheirFileIsSpoiled) {
  Dataset dataset = Tree("one");
  dataset.version = Pinned("one");
  std::ofstream(folder_.path() + "/manifests/" + dataset.version + ".manifest",
                std::ios::trunc)
      << "spoiled";
  versions_ = Versions::Open({.folder = folder_.path() + "/manifests"}).ValueOrDie();
  auto again = versions_->Recall(dataset, Soon());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->row_count(), 1);
}

// Strings that compress badly, in files of one row group each.
class VersionsMemoryTest : public VersionsTest {
 protected:
  static constexpr int kFiles = 16;

  // Made once, so that only its first reader waits for young files.
  static std::string Table() {
    static testing_support::TempFolder folder;
    if (!fs::is_empty(folder.path())) return folder.path();
    auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
    for (int i = 0; i < kFiles; ++i) {
      fs::path path = fs::path(folder.path()) / (std::to_string(100 + i) + ".parquet");
      std::ofstream(path) << table::WriteParquet(*Noise(i));
      fs::last_write_time(path, old);
    }
    return folder.path();
  }
  static table::TablePtr Noise(int seed) {
    std::mt19937_64 random(seed);
    arrow::StringBuilder names;
    for (int row = 0; row < 3000; ++row) {
      std::string name(150, ' ');
      for (char& letter : name) letter = static_cast<char>(' ' + random() % 95);
      EXPECT_TRUE(names.Append(name).ok());
    }
    return arrow::Table::Make(arrow::schema({arrow::field("name", arrow::utf8())}),
                              {*names.Finish()});
  }
  void Reopen(uint64_t plan_memory_bytes, size_t read_threads) {
    fs::remove_all(folder_.path() + "/manifests");
    versions_ = Versions::Open({.folder = folder_.path() + "/manifests",
                                .read_threads = read_threads,
                                .plan_memory_bytes = plan_memory_bytes})
                    .ValueOrDie();
  }
  Result<model::AnyManifest> PinFiltered(const std::string& filter) {
    return versions_->Pin(
        {.name = "d", .source = Table(), .options = {{"forebay.filter", filter}}},
        Soon());
  }
};

TEST_F(VersionsMemoryTest, FilteredFoldersOfManyLargeFilesArePlannedUnderASmallCap) {
  Reopen(kGiB, 1);
  ASSERT_TRUE(PinFiltered("name >= 'a'").ok());
  uint64_t alone = versions_->memory_peak_bytes();
  ASSERT_GT(alone, 0U);
  uint64_t cap = alone * 9 / 8;
  Reopen(cap, 16);
  std::vector<std::thread> threads;
  for (char first = 'a'; first < 'e'; ++first) {
    threads.emplace_back([&, first] {
      auto manifest = PinFiltered("name >= '" + std::string(1, first) + "'");
      EXPECT_TRUE(manifest.ok()) << manifest.status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(versions_->memory_peak_bytes(), 0U);
  EXPECT_LE(versions_->memory_peak_bytes(), cap);
}

TEST_F(VersionsMemoryTest, APlanLargerThanTheCapNamesTheSetting) {
  Reopen(kKiB, 4);
  auto manifest = PinFiltered("name >= 'a'");
  EXPECT_EQ(manifest.status().code(), StatusCode::kFull);
  EXPECT_NE(manifest.status().message().find("--plan-memory"), std::string::npos)
      << manifest.status();
}

TEST_F(VersionsTest, AreForgottenOnlyAfterTheirTime) {
  std::string version = Pinned("one");
  versions_->Forget({});
  versions_->Forget({});
  EXPECT_TRUE(versions_->Has(version)) << "it is young";
}

}  // namespace
}  // namespace forebay::head
