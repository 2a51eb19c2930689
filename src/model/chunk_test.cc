#include "model/chunk.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace forebay::model {
namespace {

constexpr uint32_t kId = 0, kImage = 1, kLabel = 2, kText = 3;

// Everything a chunk key may depend on. Column 1 ("image") is wide.
struct Table {
  Object object{"file:///a",
                {.size = 100, .etag = "", .mtime_ns = 5, .ctime_ns = 6, .inode = 7}};
  std::string origin = "here";
  std::string version = "v1";
  uint32_t first_group = 0;
  uint32_t group_count = 2;
  std::vector<uint32_t> range_rows = {16, 14};
  std::vector<Field> fields = {{"id", "l", true, {}, {}},
                               {"image", "z", true, {}, {}},
                               {"label", "i", true, {}, {}},
                               {"text", "u", true, {}, {}}};
  std::string context;
  bool leading_unit = false;

  std::shared_ptr<const Manifest> Make() const {
    ManifestBuilder builder({.version = HashBytes(version),
                             .origin = origin,
                             .schema = {.fields = fields, .metadata = {}}});
    if (leading_unit) {
      uint32_t other = builder.AddObject({"file:///0", {}}, {.row_count = 5});
      builder.AddUnit({.pieces = {{other, 0, 1, 5}},
                       .range_rows = {5},
                       .wide_columns = {},
                       .context = {}});
    }
    uint32_t a = builder.AddObject(object, {.row_count = 30});
    uint64_t rows = 0;
    for (uint32_t n : range_rows) rows += n;
    builder.AddUnit({.pieces = {{a, first_group, group_count, rows}},
                     .range_rows = range_rows,
                     .wide_columns = {kImage},
                     .context = context});
    auto bytes = std::make_shared<std::string>(builder.Finish());
    return *Manifest::View(*bytes, bytes);
  }
};

Hash128 Key(const Table& table, ChunkRef ref, const Projection& projection) {
  return ChunkKey(*table.Make(), ref, projection);
}

Hash128 ImageKey(const Table& table) { return Key(table, {0, kImage}, {kId, kImage}); }
Hash128 NarrowKey(const Table& table) {
  return Key(table, {0, kNarrowGroup}, {kId, kLabel});
}

TEST(ChunkKey, DependsOnEverythingItsBytesDependOn) {
  const std::vector<std::pair<const char*, std::function<void(Table&)>>> changes = {
      {"nothing", [](Table&) {}},
      {"uri", [](Table& t) { t.object.uri = "file:///b"; }},
      {"origin", [](Table& t) { t.origin = "there"; }},
      {"size", [](Table& t) { t.object.identity.size = 101; }},
      {"mtime", [](Table& t) { t.object.identity.mtime_ns = 50; }},
      {"ctime", [](Table& t) { t.object.identity.ctime_ns = 60; }},
      {"inode", [](Table& t) { t.object.identity.inode = 70; }},
      {"etag", [](Table& t) { t.object.identity.etag = "e"; }},
      {"first group", [](Table& t) { t.first_group = 1; }},
      {"group count", [](Table& t) { t.group_count = 3; }},
      {"folder names", [](Table& t) { t.context = "day=1"; }},
      {"rows of the range",
       [](Table& t) {
         t.range_rows = {15, 15};
       }},
  };
  std::set<Hash128> image, narrow;
  for (const auto& [what, change] : changes) {
    Table table;
    change(table);
    EXPECT_TRUE(image.insert(ImageKey(table)).second) << what;
    EXPECT_TRUE(narrow.insert(NarrowKey(table)).second) << what;
  }
}

TEST(ChunkKey, DependsOnTheNameAndTypeOfItsOwnColumns) {
  std::set<Hash128> keys = {NarrowKey(Table())};
  Table table;
  table.fields[kLabel].format = "l";
  EXPECT_TRUE(keys.insert(NarrowKey(table)).second) << "type";
  EXPECT_EQ(ImageKey(table), ImageKey(Table())) << "type of another column";
  table = Table();
  table.fields[kLabel].name = "class";
  EXPECT_TRUE(keys.insert(NarrowKey(table)).second) << "name";
  EXPECT_EQ(ImageKey(table), ImageKey(Table())) << "name of another column";
  table = Table();
  table.fields[kLabel].children = {table.fields[kId]};
  EXPECT_TRUE(keys.insert(NarrowKey(table)).second) << "children";
}

TEST(ChunkKey, DiffersBetweenRangesAndGroups) {
  Table table;
  table.range_rows = {15, 15};
  Projection all = {kId, kImage, kLabel, kText};
  std::set<Hash128> keys;
  for (uint32_t range : {0, 1}) {
    for (uint32_t group : {kImage, kNarrowGroup}) {
      keys.insert(Key(table, {range, group}, all));
    }
  }
  EXPECT_EQ(keys.size(), 4U);
}

TEST(ChunkKey, OfAWideColumnIsTheSameInEveryProjection) {
  Table table;
  for (const Projection& projection : {Projection{kImage},
                                       {kId, kImage},
                                       {kImage, kText},
                                       {kId, kImage, kLabel, kText}}) {
    EXPECT_EQ(Key(table, {1, kImage}, projection), Key(table, {1, kImage}, {kImage}));
  }
}

TEST(ChunkKey, OfTheNarrowOnesDependsOnWhichAreProjectedButNotOnWideOnes) {
  Table table;
  Hash128 key = Key(table, {0, kNarrowGroup}, {kId, kLabel});
  EXPECT_EQ(Key(table, {0, kNarrowGroup}, {kId, kImage, kLabel}), key);
  EXPECT_NE(Key(table, {0, kNarrowGroup}, {kId}), key);
  EXPECT_NE(Key(table, {0, kNarrowGroup}, {kId, kLabel, kText}), key);
}

TEST(ChunkKey, SurvivesANewVersionThatOnlyAddsFilesOrColumns) {
  Table grown;
  grown.version = "v2";
  grown.fields.push_back({"added", "f", true, {}, {}});
  EXPECT_EQ(ImageKey(grown), ImageKey(Table()));
  EXPECT_EQ(NarrowKey(grown), NarrowKey(Table()));
  grown.leading_unit = true;  // the same rows are now in range 1, five rows further on
  EXPECT_EQ(Key(grown, {1, kImage}, {kImage}), ImageKey(Table()));
}

TEST(ChunkKey, LetsTheEtagDecideWhereThereIsOne) {
  Table table, touched;
  table.object.identity.etag = touched.object.identity.etag = "e";
  touched.object.identity.mtime_ns = 99;
  touched.object.identity.inode = 99;
  EXPECT_EQ(ImageKey(table), ImageKey(touched));
  EXPECT_EQ(table.object.identity, touched.object.identity);
}

TEST(Groups, AreTheWideColumnsAloneAndTheNarrowOnesTogether) {
  auto manifest = Table().Make();
  Projection all = {kId, kImage, kLabel, kText};
  EXPECT_EQ(Groups(*manifest, 0, all), (std::vector<uint32_t>{kImage, kNarrowGroup}));
  EXPECT_EQ(Groups(*manifest, 0, {kImage}), (std::vector<uint32_t>{kImage}));
  EXPECT_EQ(Groups(*manifest, 0, {kId}), (std::vector<uint32_t>{kNarrowGroup}));
  EXPECT_TRUE(Groups(*manifest, 0, {}).empty());
  EXPECT_EQ(GroupColumns(*manifest, 0, kNarrowGroup, all),
            (Projection{kId, kLabel, kText}));
  EXPECT_EQ(GroupColumns(*manifest, 0, kImage, all), (Projection{kImage}));
}

TEST(ManifestKey, DiffersByVersion) {
  EXPECT_NE(ManifestKey(HashBytes("v1")), ManifestKey(HashBytes("v2")));
  EXPECT_NE(ManifestKey(HashBytes("v1")), HashBytes("v1"));
}

}  // namespace
}  // namespace forebay::model
