#include "files/lister.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "model/files_manifest.h"
#include "source/faulty_source.h"
#include "source/memory_source.h"

namespace forebay::files {
namespace {

using source::MemorySource;

std::set<std::string> Paths(const std::string& bytes) {
  auto owner = std::make_shared<const std::string>(bytes);
  auto manifest = model::FilesManifest::View(*owner, owner).ValueOrDie();
  std::set<std::string> paths;
  for (uint32_t i = 0; i < manifest->files().size(); ++i) {
    EXPECT_TRUE(paths.insert(manifest->FilePath(i)).second);
  }
  return paths;
}

std::set<std::string> ListAll(const std::shared_ptr<source::Source>& source,
                              const std::string& uri) {
  Lister lister(source, uri);
  Status status = lister.Run(Deadline::After(std::chrono::seconds(60)));
  EXPECT_TRUE(status.ok()) << status;
  return Paths(lister.BuildManifest());
}

// Trees of random shapes: few large folders, many small ones, names that sort oddly.
std::set<std::string> RandomPaths(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::set<std::string> paths;
  size_t count = 1 + random() % 3000;
  size_t folders = 1 + random() % (seed % 2 == 0 ? 600 : 5);
  const char* ends[] = {"", ".", "-", "0", "z"};
  for (size_t i = 0; i < count; ++i) {
    std::string path;
    for (uint64_t depth = random() % 4; depth > 0; --depth) {
      path += "d" + std::to_string(random() % folders) + ends[random() % 5] + "/";
    }
    paths.insert(path + "f" + std::to_string(random() % 2000) + ends[random() % 5]);
  }
  return paths;
}

TEST(Lister, FindsTheSameInPagesAsAtOnce) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    auto whole = std::make_shared<MemorySource>();
    auto paged = std::make_shared<MemorySource>();
    paged->ListInPages(seed % 3 == 0 ? 7 : 300);
    std::set<std::string> paths = RandomPaths(seed);
    for (const std::string& path : paths) {
      whole->Put("s3://b/p/" + path, "x");
      paged->Put("s3://b/p/" + path, "x");
    }
    paged->Put("s3://b/pq", "not below");
    EXPECT_EQ(ListAll(whole, "s3://b/p"), paths) << "seed=" << seed;
    EXPECT_EQ(ListAll(paged, "s3://b/p/"), paths) << "seed=" << seed;
  }
}

TEST(Lister, ListsManySmallFoldersWithFewRequests) {
  auto source = std::make_shared<MemorySource>();
  source->ListInPages(1000);
  for (int i = 0; i < 20'000; ++i) {
    source->Put("s3://b/d" + std::to_string(i / 2) + "/" + std::to_string(i), "x");
  }
  EXPECT_EQ(ListAll(source, "s3://b").size(), 20'000);
  EXPECT_LT(source->stats().requests, 250);
}

TEST(Lister, GoesOnWhereItFailed) {
  auto memory = std::make_shared<MemorySource>();
  memory->ListInPages(10);
  std::set<std::string> paths;
  for (int i = 0; i < 2000; ++i) {
    paths.insert("d" + std::to_string(i % 40) + "/" + std::to_string(i));
  }
  for (const std::string& path : paths) memory->Put("s3://b/" + path, "x");
  size_t whole = [&] {
    uint64_t before = memory->stats().requests;
    EXPECT_EQ(ListAll(memory, "s3://b"), paths);
    return memory->stats().requests - before;
  }();
  auto faulty = std::make_shared<source::FaultySource>(memory);
  for (int i = 1; i <= 5; ++i) {
    faulty->Add({.call = source::Call::kList,
                 .skip = 40,
                 .status = Status::Unavailable("the server is away")});
  }
  Lister lister(faulty, "s3://b");
  uint64_t before = memory->stats().requests;
  int runs = 1;
  while (!lister.Run(Deadline::After(std::chrono::seconds(60))).ok()) ++runs;
  EXPECT_GT(runs, 1);
  EXPECT_EQ(faulty->fired(), 5);
  EXPECT_EQ(Paths(lister.BuildManifest()), paths);
  EXPECT_EQ(memory->stats().requests - before, whole);  // nothing was asked for twice
}

TEST(Lister, TakesOneObjectForATreeOfOne) {
  auto source = std::make_shared<MemorySource>();
  source->ListInPages(10);
  source->Put("s3://b/p/model.bin", "x");
  EXPECT_EQ(ListAll(source, "s3://b/p/model.bin"), std::set<std::string>{"model.bin"});
  Lister lister(source, "s3://b/nothing");
  EXPECT_EQ(lister.Run(Deadline::After(std::chrono::seconds(9))).code(),
            StatusCode::kNotFound);
}

}  // namespace
}  // namespace forebay::files
