#include "table/dataset/find_metadata.h"

#include <gtest/gtest.h>

#include "source/memory_source.h"
#include "table/dataset/table_options.h"

namespace forebay::table {
namespace {

const std::string kTable = "mem://lake/events";

class FindMetadataTest : public ::testing::Test {
 protected:
  void Put(const std::string& name, const std::string& text = "{}") {
    source_.Put(kTable + "/metadata/" + name, text);
  }
  std::string Find() {
    auto found = FindMetadata(source_, kTable, Deadline::Never());
    EXPECT_TRUE(found.ok()) << found.status();
    if (!found.ok() || !*found) return "none";
    return (*found)->substr(kTable.size() + 10);
  }
  source::MemorySource source_;
};

TEST_F(FindMetadataTest, FollowsTheHint) {
  for (int i = 1; i <= 3; ++i) Put("v" + std::to_string(i) + ".metadata.json");
  Put("version-hint.text", "3\n");
  EXPECT_EQ(Find(), "v3.metadata.json");
}

TEST_F(FindMetadataTest, GoesOnWhereTheHintLags) {
  for (int i = 1; i <= 12; ++i) Put("v" + std::to_string(i) + ".gz.metadata.json");
  Put("version-hint.text", "9");
  EXPECT_EQ(Find(), "v12.gz.metadata.json");
}

TEST_F(FindMetadataTest, TakesTheHighestNumberWithoutAHint) {
  Put("00009-aaaa.metadata.json");
  Put("00010-0000.metadata.json");
  Put("00002-ffff.metadata.json");
  EXPECT_EQ(Find(), "00010-0000.metadata.json");
}

TEST_F(FindMetadataTest, AHintThatMeansNothingIsPassedOver) {
  Put("00001-aaaa.metadata.json");
  Put("version-hint.text", "seven");
  EXPECT_EQ(Find(), "00001-aaaa.metadata.json");
}

TEST_F(FindMetadataTest, AFolderOfOtherThingsIsNoTable) {
  EXPECT_EQ(Find(), "none");
  Put("notes.json");
  EXPECT_EQ(Find(), "none");
}

TEST(ReadWhole, RefusesMoreThanSuchAFileCanHave) {
  source::MemorySource source;
  source.Put("mem://a/b", std::string(100, 'x'));
  EXPECT_EQ(ReadWhole(source, "mem://a/b", 100, Deadline::Never())->size(), 100U);
  EXPECT_EQ(ReadWhole(source, "mem://a/b", 99, Deadline::Never()).status().code(),
            StatusCode::kCorrupt);
}

TEST(TableOptions, TakesItsOwnAndLeavesTheRest) {
  auto options = ParseTableOptions({{"forebay.snapshot", "17"},
                                    {"forebay.filter", "a > 1"},
                                    {"forebay.remap.s3://old/", "s3://new/"},
                                    {"forebay.allow.0", "s3://shared/"},
                                    {"s3.region", "eu"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->choice.snapshot, 17);
  EXPECT_EQ(options->filter, "a > 1");
  EXPECT_EQ(options->locations.remap.at("s3://old/"), "s3://new/");
  EXPECT_EQ(options->locations.allowed, std::vector<std::string>{"s3://shared/"});
  EXPECT_EQ(options->rest, (source::Options{{"s3.region", "eu"}}));
  EXPECT_EQ(options->ChoiceText(), "snapshot 17");
}

TEST(TableOptions, RefusesTwoChoicesAndUnknownNames) {
  EXPECT_FALSE(ParseTableOptions({{"forebay.tag", "a"}, {"forebay.branch", "b"}}).ok());
  EXPECT_FALSE(ParseTableOptions({{"forebay.snapshot", "12x"}}).ok());
  EXPECT_FALSE(ParseTableOptions({{"forebay.color", "red"}}).ok());
}

}  // namespace
}  // namespace forebay::table
