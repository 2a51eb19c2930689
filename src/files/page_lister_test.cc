#include "files/page_lister.h"

#include <gtest/gtest.h>

#include <set>

#include "source/faulty_source.h"
#include "source/memory_source.h"

namespace forebay::files {
namespace {

using source::MemorySource;
using Uris = std::multiset<std::string>;

const std::string kFolder = "s3://b/p/";

// Every object that the lister names, as often as it names it.
Uris Heard(source::Source& source, size_t thread_count = 4) {
  Uris heard;
  PageLister lister({.source = &source,
                     .folder = kFolder,
                     .thread_count = thread_count,
                     .on_object = [&](const model::Object& o) { heard.insert(o.uri); }});
  Status status = lister.Run(Deadline::After(std::chrono::seconds(60)));
  EXPECT_TRUE(status.ok()) << status;
  return heard;
}

struct Tree {
  explicit Tree(size_t page_items) { source.ListInPages(page_items); }
  void Put(const std::string& path) {
    source.Put(kFolder + path, "x");
    uris.insert(kFolder + path);
  }
  MemorySource source;
  Uris uris;
};

std::string Number(int i) {
  std::string text = std::to_string(i);
  return std::string(4 - text.size(), '0') + text;
}

TEST(PageLister, NamesObjectsBetweenManyFoldersOnce) {
  // More folders than are asked for one by one, so they are listed in ranges; the
  // objects beside them lie inside those ranges.
  for (size_t page_items : {150, 300, 1000}) {
    Tree tree(page_items);
    for (int i = 0; i < 400; ++i) {
      tree.Put("d" + Number(i) + "/a");
      tree.Put("d" + Number(i) + "/sub/b");
      tree.Put("d" + Number(i) + ".txt");
      tree.Put("d" + Number(i) + "0");
    }
    EXPECT_EQ(Heard(tree.source), tree.uris) << page_items;
  }
}

TEST(PageLister, NamesWhatLiesAtTheEdgesOfRangesOnce) {
  // '.' sorts before '/', and '0' after it: both sides of every folder's end.
  Tree tree(200);
  for (int i = 0; i < 1000; ++i) {
    std::string folder = "d" + Number(i);
    tree.Put(folder + "/0");
    tree.Put(folder + "/\xff");
    if (i % 64 == 63 || i % 64 == 0) {
      tree.Put(folder + "./x");
      tree.Put(folder + "0/x");
    }
  }
  EXPECT_EQ(Heard(tree.source), tree.uris);
}

TEST(PageLister, NamesAFolderThatJustFitsAPageOnce) {
  for (int count : {9, 10, 11, 20, 21}) {
    Tree tree(10);
    for (int i = 0; i < count; ++i) tree.Put("f" + Number(i));
    EXPECT_EQ(Heard(tree.source), tree.uris) << count;
    EXPECT_EQ(Heard(tree.source, 1), tree.uris) << count;
  }
}

TEST(PageLister, AsksForFoldersOneByOneWhileTheyAreFew) {
  for (int folders : {127, 128, 129, 192, 193}) {
    Tree tree(250);
    for (int i = 0; i < folders; ++i) {
      for (int k = 0; k < 3; ++k) tree.Put("d" + Number(i) + "/" + Number(k));
    }
    EXPECT_EQ(Heard(tree.source), tree.uris) << folders;
  }
}

TEST(PageLister, NamesNothingTwiceWhenItGoesOnAfterAFailure) {
  for (int skip = 0; skip < 30; skip += 7) {
    Tree tree(20);
    for (int i = 0; i < 600; ++i) tree.Put("d" + Number(i % 30) + "/" + Number(i));
    auto memory = std::shared_ptr<MemorySource>(&tree.source, [](MemorySource*) {});
    source::FaultySource faulty(memory);
    faulty.Add({.call = source::Call::kList,
                .skip = skip,
                .times = 3,
                .status = Status::Unavailable("away")});
    Uris heard;
    PageLister lister(
        {.source = &faulty,
         .folder = kFolder,
         .thread_count = 4,
         .on_object = [&](const model::Object& o) { heard.insert(o.uri); }});
    int failures = 0;
    while (!lister.Run(Deadline::After(std::chrono::seconds(60))).ok()) ++failures;
    EXPECT_GE(failures, 1);
    EXPECT_EQ(faulty.fired(), 3);
    EXPECT_EQ(heard, tree.uris) << skip;
  }
}

}  // namespace
}  // namespace forebay::files
