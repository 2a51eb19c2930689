#include "files/build_manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "files/packs.h"
#include "model/file_names.h"
#include "model/files_manifest.h"
#include "model/resolve_path.h"

namespace forebay::files {
namespace {

using model::FilesManifest;
using ManifestPtr = std::shared_ptr<const FilesManifest>;

model::ObjectIdentity Etag(int64_t size, std::string etag) {
  model::ObjectIdentity identity;
  identity.size = size;
  identity.etag = std::move(etag);
  return identity;
}

ManifestPtr View(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  return FilesManifest::View(*owner, owner).ValueOrDie();
}

ManifestPtr Build(FileList list) {
  return View(BuildFilesManifest({.root = "s3://b/p", .origin = "o"}, std::move(list)));
}

ManifestPtr BuildPaths(const std::vector<std::string>& paths) {
  FileList list;
  for (const std::string& path : paths) {
    list.Add(path, Etag(static_cast<int64_t>(path.size()), "e" + path));
  }
  return Build(std::move(list));
}

std::vector<std::string> NamesIn(const FilesManifest& manifest, std::string_view path) {
  std::vector<std::string> names;
  auto directory = manifest.FindDirectory(path);
  if (!directory) return {"(none)"};
  const auto& record = manifest.directories()[*directory];
  for (uint32_t i = 0; i < record.directory_count; ++i) {
    names.emplace_back(manifest.directory_name(record.first_directory + i));
    names.back() += '/';
  }
  for (uint32_t i = 0; i < record.file_count; ++i) {
    names.emplace_back(manifest.file_name(record.first_file + i));
  }
  return names;
}

TEST(FilesManifest, FindsEveryFileByItsPathAndNothingElse) {
  auto manifest = BuildPaths({"a/b/c.jpg", "a/b.jpg", "a.b/x", "z", "a/b/a", "a0"});
  for (const char* path : {"a/b/c.jpg", "a/b.jpg", "a.b/x", "z", "a/b/a", "a0"}) {
    auto file = manifest->FindFile(path);
    ASSERT_TRUE(file) << path;
    EXPECT_EQ(manifest->FilePath(*file), path);
    EXPECT_EQ(manifest->object(*file).uri, std::string("s3://b/p/") + path);
    EXPECT_EQ(manifest->etag(*file), std::string("e") + path);
  }
  for (const char* path : {"", "a", "a/", "/z", "a/b", "a/b/c", "a//b.jpg", "b.jpg",
                           "./z", "a/../z", "z/", "z/z"}) {
    EXPECT_FALSE(manifest->FindFile(path)) << path;
  }
}

TEST(FilesManifest, ListsADirectoryByName) {
  auto manifest = BuildPaths({"a/b/c.jpg", "a/b.jpg", "a.b/x", "z", "a/b/a", "a0"});
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesIn(*manifest, ""), (Names{"a/", "a.b/", "a0", "z"}));
  EXPECT_EQ(NamesIn(*manifest, "a"), (Names{"b/", "b.jpg"}));
  EXPECT_EQ(NamesIn(*manifest, "a/b"), (Names{"a", "c.jpg"}));
  EXPECT_EQ(NamesIn(*manifest, "a/c"), (Names{"(none)"}));
  auto inner = manifest->FindDirectoryIn(*manifest->FindDirectory("a"), "b");
  ASSERT_TRUE(inner);
  EXPECT_EQ(manifest->directory_path(*inner), "a/b");
  EXPECT_EQ(manifest->directory_path(manifest->directories()[*inner].parent), "a");
}

TEST(FilesManifest, LeavesOutNamesThatNoFileCanHave) {
  auto manifest = BuildPaths({"../up", "a/../../b", "a//b", "/x", "y/", ".", "ok/./z", "",
                              std::string("n\0l", 3), std::string(256, 'x'), "fine",
                              "both", "both/below"});
  EXPECT_EQ(NamesIn(*manifest, ""), (std::vector<std::string>{"both/", "fine"}));
  EXPECT_EQ(NamesIn(*manifest, "both"), (std::vector<std::string>{"below"}));
  EXPECT_EQ(manifest->files().size(), 2);
  EXPECT_EQ(manifest->left_out_count(), 11);
  EXPECT_EQ(manifest->left_out().size(), 11);
  EXPECT_TRUE(model::WhyNoFileName(std::string(255, 'x') + "/..x/...").empty());
}

TEST(FilesManifest, IsTheSameWhateverOrderItWasListedIn) {
  std::vector<std::string> paths;
  for (int i = 0; i < 3000; ++i) {
    paths.push_back("d" + std::to_string(i % 17) + "/f" + std::to_string(i));
  }
  auto one = BuildPaths(paths);
  std::ranges::shuffle(paths, std::mt19937(7));
  auto other = BuildPaths(paths);
  EXPECT_EQ(one->bytes(), other->bytes());
  paths.pop_back();
  EXPECT_NE(BuildPaths(paths)->version(), one->version());
}

TEST(FilesManifest, KeepsWhatIdentifiesALocalFile) {
  FileList list;
  model::ObjectIdentity identity;
  identity.size = 5;
  identity.mtime_ns = 6;
  identity.ctime_ns = 7;
  identity.inode = 8;
  list.Add("x/y", identity);
  auto manifest = Build(std::move(list));
  EXPECT_EQ(manifest->object(*manifest->FindFile("x/y")).identity, identity);
  EXPECT_EQ(manifest->etag(0), "");
}

TEST(FilesManifest, EveryPartOfAnIdentityMakesAnotherVersion) {
  auto version = [](const std::function<void(model::ObjectIdentity&)>& change) {
    model::ObjectIdentity identity;
    identity.size = 5;
    identity.mtime_ns = 6;
    identity.ctime_ns = 7;
    identity.inode = 8;
    change(identity);
    FileList list;
    list.Add("x", identity);
    return Build(std::move(list))->version();
  };
  using Identity = model::ObjectIdentity;
  std::set<Hash128> versions = {version([](Identity&) {}),
                                version([](Identity& i) { i.size = 4; }),
                                version([](Identity& i) { i.mtime_ns = 5; }),
                                version([](Identity& i) { i.ctime_ns = 6; }),
                                version([](Identity& i) { i.inode = 9; }),
                                version([](Identity& i) { i.etag = "e"; })};
  EXPECT_EQ(versions.size(), 6);
}

TEST(FilesManifest, OfAnObjectWithAnEtagIsTheSameWhateverItsTime) {
  auto version = [](const std::string& etag, int64_t mtime_ns) {
    model::ObjectIdentity identity = Etag(5, etag);
    identity.mtime_ns = mtime_ns;
    FileList list;
    list.Add("x", identity);
    return Build(std::move(list))->version();
  };
  EXPECT_EQ(version("e", 1), version("e", 2));
  EXPECT_NE(version("e", 1), version("f", 1));
}

TEST(FilesManifest, DependsOnItsPlace) {
  auto version = [](const Place& place) {
    FileList list;
    list.Add("x", Etag(5, "e"));
    return View(BuildFilesManifest(place, std::move(list)))->version();
  };
  std::set<Hash128> versions = {version({.root = "s3://b/p", .origin = ""}),
                                version({.root = "s3://b/q", .origin = ""}),
                                version({.root = "s3://b/p", .origin = "o"})};
  EXPECT_EQ(versions.size(), 3);
}

TEST(FilesManifest, HasAFileThatWasListedTwiceOnce) {
  FileList list;
  for (const char* path : {"a", "b", "a", "c/d", "c/d", "c/d"}) {
    list.Add(path, Etag(1, "e"));
  }
  auto manifest = Build(std::move(list));
  EXPECT_EQ(manifest->files().size(), 3);
  EXPECT_EQ(manifest->file_bytes(), 3);
  EXPECT_EQ(manifest->left_out_count(), 3);
}

TEST(FilesManifest, LeavesOutWhatHasAnEtagTooLongToSend) {
  FileList list;
  list.Add("fits", Etag(1, std::string(1023, 'e')));
  list.Add("long", Etag(1, std::string(1024, 'e')));
  auto manifest = Build(std::move(list));
  EXPECT_EQ(manifest->files().size(), 1);
  EXPECT_EQ(manifest->etag(0).size(), 1023);
  EXPECT_EQ(manifest->left_out_count(), 1);
}

// The promise of docs/formats/files-manifest.md.
TEST(FilesManifest, TakesAtMostSixtyBytesAFileBesidesItsNameAndEtag) {
  for (bool local : {false, true}) {
    FileList list;
    uint64_t text = 0;
    constexpr int kFiles = 200'000;
    for (int i = 0; i < kFiles; ++i) {
      std::string name = "image-" + std::to_string(i) + ".jpg";
      model::ObjectIdentity identity = Etag(20'000, local ? "" : std::string(32, 'e'));
      identity.inode = static_cast<uint64_t>(i);
      list.Add("train/" + std::to_string(i / 1000) + "/" + name, identity);
      text += name.size() + identity.etag.size();
    }
    auto manifest = Build(std::move(list));
    double bytes = static_cast<double>(manifest->bytes().size() - text) / kFiles;
    EXPECT_LE(bytes, 60) << "local=" << local;
    RecordProperty(local ? "local" : "etag", std::to_string(bytes));
  }
}

TEST(FilesManifest, CutsFilesBySize) {
  FileList list;
  auto add = [&](const char* name, uint64_t size) {
    list.Add(name, Etag(static_cast<int64_t>(size), "e"));
  };
  add("empty", 0);
  add("small", kKiB);
  add("limit", 64 * kKiB);
  add("whole", 64 * kMiB);
  add("large", 64 * kMiB + 1);
  auto m = Build(std::move(list));
  auto file = [&](const char* name) { return *m->FindFile(name); };
  EXPECT_EQ(m->ChunkCount(file("empty")), 0);
  EXPECT_EQ(m->PlaceOf(file("small"), 10).ref.group, model::kPackGroup);
  EXPECT_EQ(m->PlaceOf(file("limit"), 0).ref, (model::ChunkRef{file("limit"), 0}));
  EXPECT_EQ(m->ChunkCount(file("whole")), 1);
  EXPECT_EQ(m->ChunkCount(file("large")), 5);
  auto last = m->PlaceOf(file("large"), 64 * kMiB);
  EXPECT_EQ(last.ref.group, 4);
  EXPECT_EQ(last.size, 1);
  EXPECT_EQ(m->ChunkBytes(last.ref), 1);
  EXPECT_EQ(m->ChunkBytes({file("large"), 0}), 16 * kMiB);
  EXPECT_FALSE(m->Contains({file("large"), 5}));
  EXPECT_FALSE(m->Contains({file("empty"), 0}));
  EXPECT_FALSE(m->Contains({1, model::kPackGroup}));
}

std::map<std::string, Hash128> PackOfEachFile(const FilesManifest& manifest) {
  std::map<std::string, Hash128> packs;
  for (uint32_t i = 0; i < manifest.files().size(); ++i) {
    uint32_t pack = manifest.files()[i].pack;
    packs[manifest.FilePath(i)] = FileChunkKey(manifest, {pack, model::kPackGroup});
  }
  return packs;
}

TEST(Packs, ChangeOneAtATimeWhenAFileComesOrGoes) {
  auto paths = [](int skip) {
    FileList list;
    for (int i = 0; i < 20'000; ++i) {
      if (i != skip) list.Add("f" + std::to_string(i), Etag(20'000, "e"));
    }
    return list;
  };
  auto all = Build(paths(-1));
  EXPECT_GE(all->packs().size(), 16);
  uint64_t in_packs = 0;
  for (const auto& pack : all->packs()) {
    EXPECT_LE(pack.size, kPackBytesMax);
    EXPECT_GE(pack.size, kPackBytesMax / 3);
    in_packs += pack.member_count;
  }
  EXPECT_EQ(in_packs, 20'000);
  auto before = PackOfEachFile(*all);
  for (int gone : {0, 777, 19'999}) {
    auto after = PackOfEachFile(*Build(paths(gone)));
    std::set<Hash128> changed;
    for (const auto& [path, key] : after) {
      if (before.at(path) != key) changed.insert(before.at(path));
    }
    // The pack it was in; two when one that was just cut becomes whole again.
    EXPECT_LE(changed.size(), 2) << gone;
  }
}

TEST(Packs, PlaceTheirFilesOneAfterTheOther) {
  FileList list;
  for (int i = 1; i < 500; ++i) list.Add("f" + std::to_string(i), Etag(i, "e"));
  auto manifest = Build(std::move(list));
  ASSERT_EQ(manifest->packs().size(), 1);
  uint64_t at = 0;
  for (uint32_t file : manifest->members(manifest->packs()[0])) {
    EXPECT_EQ(manifest->files()[file].pack_offset, at);
    at += static_cast<uint64_t>(manifest->files()[file].size);
  }
  EXPECT_EQ(at, manifest->packs()[0].size);
}

TEST(FilesManifest, KeepsLinksAsTheyAreAndEmptyFolders) {
  FileList list;
  list.Add("a/f", Etag(7, "e"));
  list.AddLink("a/l", "../no where", 5'000'000'000);
  list.AddLink("long", std::string(4095, 'x'), 0);
  list.AddLink("too long", std::string(4096, 'x'), 0);
  list.AddLink("../out", "a", 0);
  list.AddFolder("e/f");
  list.AddFolder("a");
  list.AddFolder("../x");
  auto manifest = Build(std::move(list));
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesIn(*manifest, ""), (Names{"a/", "e/", "long"}));
  EXPECT_EQ(NamesIn(*manifest, "a"), (Names{"f", "l"}));
  EXPECT_EQ(NamesIn(*manifest, "e/f"), Names{});
  EXPECT_EQ(manifest->left_out_count(), 3);
  uint32_t link = *manifest->FindFile("a/l");
  EXPECT_EQ(manifest->link_target(link), "../no where");
  EXPECT_EQ(manifest->files()[link].mtime_ns, 5'000'000'000);
  EXPECT_EQ(manifest->link_target(*manifest->FindFile("long")), std::string(4095, 'x'));
  EXPECT_EQ(manifest->link_target(*manifest->FindFile("a/f")), "");
  // Nobody takes it for bytes.
  EXPECT_EQ(manifest->etag(link), "");
  EXPECT_EQ(manifest->ChunkCount(link), 0);
  EXPECT_FALSE(manifest->PackOf(link));
  EXPECT_EQ(manifest->file_bytes(), 7);
}

TEST(FilesManifest, LinksAndEmptyFoldersMakeAnotherVersion) {
  auto version = [](const std::function<void(FileList&)>& add) {
    FileList list;
    list.Add("a/f", Etag(7, "e"));
    add(list);
    return Build(std::move(list))->version();
  };
  std::set<Hash128> versions = {
      version([](FileList&) {}),
      version([](FileList& list) { list.AddLink("x", "a", 1); }),
      version([](FileList& list) { list.AddLink("x", "b", 1); }),
      version([](FileList& list) { list.Add("x", Etag(0, "a")); }),
      version([](FileList& list) { list.AddFolder("x"); })};
  EXPECT_EQ(versions.size(), 5);
  EXPECT_EQ(version([](FileList& list) { list.AddFolder("a"); }),
            version([](FileList&) {}))
      << "it is not empty";
}

TEST(FilesManifest, OfATreeWithoutLinksIsAsItAlwaysWas) {
  auto format = [](const FilesManifest& manifest) { return manifest.bytes()[8]; };
  auto plain = BuildPaths({"a/b"});
  EXPECT_EQ(format(*plain), 1);
  FileList list;
  list.AddLink("x", "a", 1);
  EXPECT_EQ(format(*Build(std::move(list))), 2);
}

TEST(FilesManifest, OfBadBytesIsAnErrorOrFindsNothing) {
  FileList list;
  for (const char* path : {"a/b", "c", "d/e/f"}) list.Add(path, Etag(3, "e"));
  list.AddLink("x", "a/b", 1);
  auto good = Build(std::move(list));
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(good->bytes());
    for (int i = 0; i < 3; ++i)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    auto manifest = FilesManifest::View(*owner, owner);
    if (!manifest.ok()) continue;
    for (const char* path : {"a/b", "c", "d/e/f", "x"}) {
      auto file = (*manifest)->FindFile(path);
      if (file) (void)(*manifest)->object(*file);
      (void)model::ResolvePath(**manifest, path);
    }
  }
}

}  // namespace
}  // namespace forebay::files
