#include "plan/cursor.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay::plan {
namespace {

const Hash128 kVersion{0x0123456789abcdef, 0xfedcba9876543210};

Order WindowOrderOf(const std::vector<uint64_t>& counts) {
  auto layout = RangeLayout::Of(counts);
  return Order::Make({.mode = OrderMode::kWindow,
                      .rows = layout->rows(),
                      .seed = ~uint64_t{0},
                      .epoch = 3,
                      .window_ranges = 16,
                      .layout = layout})
      .ValueOrDie();
}

Cursor GlobalCursor() {
  Order order =
      Order::Make({.mode = OrderMode::kGlobal, .rows = 1000, .seed = 7, .epoch = 2})
          .ValueOrDie();
  Cursor cursor{.sources = {SourceCursor::Of(order, kVersion)}};
  cursor.sources[0].position = 512;
  return cursor;
}

Cursor MixedCursor() {
  Cursor cursor = GlobalCursor();
  cursor.sources[0].name = "web";
  cursor.sources.push_back(SourceCursor::Of(WindowOrderOf({5, 0, 7}), kVersion));
  cursor.sources[1].name = "books, \"rare\"";
  cursor.mixture = MixtureCursor{.seed = 9,
                                 .epoch = 1,
                                 .position = 700,
                                 .until = Until::kAllExhausted,
                                 .weights = {0.7, 1.0 / 3},
                                 .weights_since = 100,
                                 .taken_before = {60, 40}};
  return cursor;
}

std::string Refusal(std::string_view text) {
  return Cursor::FromJson(text).status().message();
}

// Cursors are kept in checkpoints for years: this text must be read for ever.
TEST(Cursor, IsThisText) {
  EXPECT_EQ(GlobalCursor().ToJson(),
            R"({"forebay_cursor":1,"dataset":"0123456789abcdeffedcba9876543210",)"
            R"("rows":1000,"order":"global","seed":7,"epoch":2,"position":512})");
  EXPECT_EQ(
      MixedCursor().ToJson(),
      R"({"forebay_cursor":1,"seed":9,"epoch":1,"position":700,"until":"all_exhausted",)"
      R"("weights":[0.7,0.3333333333333333],"weights_since":100,"sources":[)"
      R"({"name":"web","dataset":"0123456789abcdeffedcba9876543210","rows":1000,)"
      R"("order":"global","seed":7,"epoch":2,"position":512,"taken_before":60},)"
      R"({"name":"books, \"rare\"","dataset":"0123456789abcdeffedcba9876543210",)"
      R"("rows":12,"order":"window","seed":18446744073709551615,"epoch":3,"position":0,)"
      R"("window_ranges":16,"layout":"72205162ace1f4f0ae395049a80bb2d9",)"
      R"("taken_before":40}]})");
}

TEST(Cursor, ComesBackAsItWas) {
  Cursor window{.sources = {SourceCursor::Of(WindowOrderOf({5, 0, 7}), kVersion)}};
  for (const Cursor& cursor : {GlobalCursor(), MixedCursor(), window}) {
    auto back = Cursor::FromJson(cursor.ToJson());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, cursor);
    EXPECT_LT(cursor.ToJson().size(), 600U);
  }
}

TEST(Cursor, OfALaterFormatIsRefusedByName) {
  Status status = Cursor::FromJson(R"({"forebay_cursor":2,"new":[]})").status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(
      status.message(),
      "The cursor has format 2, and this release reads 1: use the release that saved "
      "it, or a later one.");
}

TEST(Cursor, ReadsNothingThatIsNotExactlyACursor) {
  EXPECT_EQ(Refusal("{"), "The cursor is not JSON.");
  EXPECT_EQ(Refusal("[1]"),
            "This is not a cursor of Forebay: it has no number \"forebay_cursor\".");
  EXPECT_EQ(Refusal("{}"), Refusal("[1]"));
  EXPECT_EQ(Refusal(R"({"forebay_cursor":1})"), "The cursor lacks \"dataset\".");
  std::string good = GlobalCursor().ToJson();
  auto changed = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return Refusal(text);
  };
  EXPECT_EQ(changed("512", "-1"),
            "\"position\" of the cursor is not a whole number of 0 or more.");
  EXPECT_EQ(changed("512", "1.5"), changed("512", "-1"));
  EXPECT_EQ(changed("512", "true"), changed("512", "-1"));
  EXPECT_EQ(changed("512", "1001"),
            "The cursor's position 1001 lies past its 1000 rows.");
  EXPECT_EQ(changed("0123", "xyz"),
            "\"dataset\" of the cursor is not 32 hexadecimal digits.");
  EXPECT_EQ(changed("global", "frob"),
            "There is no order \"frob\": use \"sequential\", \"window\" or \"global\".");
  EXPECT_EQ(changed("global", "window"), "The cursor lacks \"window_ranges\".");
  EXPECT_EQ(changed("\"seed\":7", "\"seed\":7,\"speed\":1"),
            "The cursor has a field that cursors do not have: was it edited?");
  good = MixedCursor().ToJson();
  EXPECT_EQ(changed("[0.7,", "["), "The cursor has 2 sources and 1 weights.");
  EXPECT_EQ(changed("[0.7,", "[\"a\","),
            "\"weights\" of the cursor is not a list of numbers.");
  EXPECT_EQ(changed(",\"taken_before\":60", ""), "The cursor lacks \"taken_before\".");
  EXPECT_EQ(changed(":100,", ":701,"), "The cursor's weights begin after its position.");
  EXPECT_EQ(Refusal(std::string(size_t{2} << 20, ' ')), "This is too long for a cursor.");
}

TEST(Cursor, GoesOnOnlyInTheSameJob) {
  Cursor saved = GlobalCursor(), job = GlobalCursor();
  job.sources[0].epoch = 0;
  job.sources[0].position = 0;
  EXPECT_TRUE(saved.Matches(job).ok());
  job.sources[0].version.low = 1;
  Status other_version = saved.Matches(job);
  EXPECT_EQ(other_version.code(), StatusCode::kChanged);
  EXPECT_EQ(
      other_version.message(),
      "The cursor was saved with version 0123456789abcdeffedcba9876543210, and this is "
      "version 0123456789abcdef0000000000000001: open that version, or begin a new "
      "epoch.");
  job = saved;
  job.sources[0].seed = 8;
  job.sources[0].mode = OrderMode::kSequential;
  Status other_order = saved.Matches(job);
  EXPECT_EQ(other_order.code(), StatusCode::kInvalid);
  EXPECT_EQ(other_order.message(),
            "The cursor follows the global order, and this job the sequential one. The "
            "cursor has seed 7, and this job 8.");
  EXPECT_EQ(saved.Matches(MixedCursor()).message(),
            "The cursor is of one dataset, and this job reads a mixture.");
}

TEST(Cursor, OfAWindowOrderNeedsTheSameRangesAndWindow) {
  Cursor saved{.sources = {SourceCursor::Of(WindowOrderOf({5, 0, 7}), kVersion)}};
  Cursor job{.sources = {SourceCursor::Of(WindowOrderOf({6, 6}), kVersion)}};
  EXPECT_EQ(saved.Matches(job).message(),
            "The rows are cut into other ranges than when the cursor was saved, so their "
            "window order is another one.");
  job = saved;
  job.sources[0].window_ranges = 17;
  EXPECT_EQ(saved.Matches(job).message(),
            "The cursor shuffles windows of 16 ranges, and this job of 17.");
  // Ranges without rows are no part of the order.
  job = {.sources = {SourceCursor::Of(WindowOrderOf({5, 7, 0}), kVersion)}};
  EXPECT_TRUE(saved.Matches(job).ok());
}

TEST(Cursor, OfAMixtureNeedsTheSameSources) {
  Cursor saved = MixedCursor(), job = MixedCursor();
  job.mixture->weights = {1, 1};
  job.mixture->position = job.mixture->weights_since = 0;
  EXPECT_TRUE(saved.Matches(job).ok());
  job.sources[1].name = "code";
  job.mixture->until = Until::kForever;
  EXPECT_EQ(saved.Matches(job).message(),
            "The cursor's mixture lasts until all_exhausted, and this one until forever. "
            "Source 1 of the cursor is \"books, \"rare\"\", and of this job \"code\".");
  job.sources.pop_back();
  EXPECT_EQ(saved.Matches(job).message(), "The cursor has 2 sources, and this job 1.");
}

}  // namespace
}  // namespace forebay::plan
