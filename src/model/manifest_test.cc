#include "model/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace forebay::model {
namespace {

Field Column(std::string name) {
  return {.name = std::move(name),
          .format = "l",
          .nullable = true,
          .metadata = {},
          .children = {}};
}

Object LocalFile(std::string uri) {
  return {std::move(uri),
          {.size = 100, .etag = "", .mtime_ns = 5, .ctime_ns = 6, .inode = 7}};
}

// Two files; three units of 30, 20 and 0 rows. 70 columns: two words of wide bits.
std::string Sample() {
  Schema schema;
  for (int i = 0; i < 70; ++i) schema.fields.push_back(Column("c" + std::to_string(i)));
  ManifestBuilder builder(
      {.version = HashBytes("v"), .origin = "here", .schema = schema});
  uint32_t a = builder.AddObject(LocalFile("file:///a"), {.row_count = 40});
  uint32_t b =
      builder.AddObject({"s3://b/b", {.size = 9, .etag = "\"e\""}}, {.row_count = 10});
  builder.AddUnit({.pieces = {{a, 0, 3, 30}},
                   .range_rows = {16, 14},
                   .wide_columns = {69},
                   .context = {}});
  builder.AddUnit({.pieces = {{a, 3, 1, 10}, {b, 0, 1, 10}},
                   .range_rows = {20},
                   .wide_columns = {0},
                   .context = {}});
  builder.AddUnit({.pieces = {}, .range_rows = {}, .wide_columns = {}, .context = {}});
  return builder.Finish();
}

// An allocation of exactly these bytes, so that AddressSanitizer sees one step outside.
Result<std::shared_ptr<const Manifest>> View(std::string_view bytes) {
  std::shared_ptr<char[]> owner(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), owner.get());
  return Manifest::View({owner.get(), bytes.size()}, owner);
}

// Touches everything a reader of the manifest may touch; the sum only keeps it alive.
uint64_t ReadEverything(const Manifest& manifest) {
  uint64_t sum = manifest.origin().size() + manifest.version().low;
  for (uint32_t i = 0; i < manifest.objects().size(); ++i) {
    Object object = manifest.object(i);
    EXPECT_EQ(object.uri.size(), manifest.objects()[i].uri_size);
    EXPECT_EQ(object.identity.etag.size(), manifest.objects()[i].etag_size);
    sum += object.uri.size() + object.identity.etag.size();
  }
  for (uint32_t u = 0; u < manifest.units().size(); ++u) {
    const UnitRecord& unit = manifest.units()[u];
    for (uint32_t p = 0; p < unit.piece_count; ++p) {
      sum += manifest.objects()[manifest.pieces()[unit.first_piece + p].object].size;
    }
    for (uint32_t r = 0; r < unit.range_count; ++r) {
      sum += manifest.ranges()[unit.first_range + r].row_count;
    }
    for (uint32_t c = 0; c < manifest.schema().fields.size(); ++c) {
      sum += manifest.IsWide(u, c) ? 1 : 0;
    }
  }
  for (uint64_t row = 0; row < manifest.row_count(); row += 7) {
    sum += manifest.ranges()[manifest.RangeOf(row)].first_row;
  }
  return sum;
}

TEST(Manifest, GivesBackWhatWasBuilt) {
  auto view = View(Sample());
  ASSERT_TRUE(view.ok()) << view.status();
  const Manifest& manifest = **view;
  EXPECT_EQ(manifest.version(), HashBytes("v"));
  EXPECT_EQ(manifest.origin(), "here");
  EXPECT_EQ(manifest.row_count(), 50U);
  EXPECT_EQ(manifest.schema().fields.size(), 70U);
  EXPECT_EQ(manifest.units().size(), 3U);
  EXPECT_EQ(manifest.object(0).identity, LocalFile("").identity);
  EXPECT_EQ(manifest.object(1).uri, "s3://b/b");
  EXPECT_EQ(manifest.object(1).identity.etag, "\"e\"");
  EXPECT_EQ(manifest.pieces()[2].object, 1U);
}

TEST(Manifest, KnowsWideColumnsPerUnit) {
  auto manifest = *View(Sample());
  EXPECT_TRUE(manifest->IsWide(0, 69));
  EXPECT_FALSE(manifest->IsWide(0, 0));
  EXPECT_TRUE(manifest->IsWide(1, 0));
  EXPECT_FALSE(manifest->IsWide(1, 69));
}

TEST(Manifest, FindsTheRangeOfEveryRow) {
  auto manifest = *View(Sample());
  for (uint64_t row = 0; row < 50; ++row) {
    EXPECT_EQ(manifest->RangeOf(row), row < 16 ? 0U : row < 30 ? 1U : 2U) << row;
  }
}

TEST(Manifest, OfNoRowsIsWhole) {
  auto view = View(ManifestBuilder({.version = {}, .origin = {}, .schema = {}}).Finish());
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ((*view)->row_count(), 0U);
  EXPECT_TRUE((*view)->ranges().empty());
}

TEST(Manifest, TellsUnknownVersionsFromForeignBytes) {
  std::string newer = Sample();
  newer[8] = Manifest::kFormatVersion + 1;
  EXPECT_EQ(View(newer).status().code(), StatusCode::kUnsupported);
  std::string foreign = Sample();
  foreign[0] = 'X';
  EXPECT_EQ(View(foreign).status().code(), StatusCode::kCorrupt);
}

TEST(Manifest, RefusesEveryTruncationAndAnythingAdded) {
  std::string bytes = Sample();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(View(bytes.substr(0, size)).status().code(), StatusCode::kCorrupt) << size;
  }
  EXPECT_FALSE(View(bytes + '\0').ok());
}

TEST(Manifest, RefusesBytesThatAreNotAligned) {
  std::string bytes = "xxxx" + Sample();
  EXPECT_FALSE(Manifest::View(std::string_view(bytes).substr(4), nullptr).ok());
}

TEST(Manifest, IsSafeToReadWhateverBitIsFlipped) {
  std::string bytes = Sample();
  int accepted = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string other = bytes;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    auto view = View(other);
    if (!view.ok()) continue;
    ++accepted;
    ReadEverything(**view);
    EXPECT_EQ((*view)->row_count(), 50U) << bit;
  }
  // Names, identities and wide bits may hold anything; the store's checksum covers them.
  EXPECT_GT(accepted, 0);
}

TEST(Manifest, IsSafeToReadWhateverIsOverwritten) {
  constexpr uint32_t kSeed = 5;
  std::mt19937 random(kSeed);
  std::string bytes = Sample();
  constexpr uint64_t kNasty[] = {0,          1,          7,          0x7FFFFFFF,
                                 0xFFFFFFFF, 1ULL << 32, 1ULL << 63, UINT64_MAX};
  for (int round = 0; round < 20'000; ++round) {
    std::string other = bytes;
    for (uint32_t n = 1 + random() % 3; n > 0; --n) {
      size_t width = random() % 2 == 0 ? 4 : 8;
      size_t at = random() % (other.size() / width) * width;
      uint64_t value = kNasty[random() % std::size(kNasty)];
      if (random() % 4 == 0) value = random() % (2 * other.size());
      std::memcpy(other.data() + at, &value, width);
    }
    auto view = View(other);
    if (view.ok()) ReadEverything(**view);
  }
}

// Sample() with the nth 64-bit word of value `from` made `to`.
std::string Replaced(uint64_t from, uint64_t to, int nth) {
  std::string bytes = Sample();
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t value;
    std::memcpy(&value, bytes.data() + at, 8);
    if (value != from || nth-- > 0) continue;
    std::memcpy(bytes.data() + at, &to, 8);
    return bytes;
  }
  ADD_FAILURE() << "no such word";
  return bytes;
}

TEST(Manifest, RefusesRowsThatDoNotAddUp) {
  EXPECT_TRUE(View(Replaced(50, 50, 0)).ok());
  EXPECT_FALSE(View(Replaced(50, 49, 0)).ok());  // of the header
  EXPECT_FALSE(View(Replaced(30, 29, 0)).ok());  // of a piece
  EXPECT_FALSE(View(Replaced(30, 29, 1)).ok());  // of a unit
  EXPECT_FALSE(View(Replaced(30, 29, 2)).ok());  // where the next unit starts
}

}  // namespace
}  // namespace forebay::model
