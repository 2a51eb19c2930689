#include "base/near_miss.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr std::string_view kNames[] = {"s3.endpoint", "s3.region", "columns", "column",
                                       "off"};

TEST(NearMiss, IsTheNameThatDiffersByOneEdit) {
  EXPECT_EQ(NearMiss("s3.endpont", kNames), "s3.endpoint");    // a letter is missing
  EXPECT_EQ(NearMiss("s3.endppoint", kNames), "s3.endpoint");  // one too many
  EXPECT_EQ(NearMiss("s3.endpiont", kNames), "s3.endpoint");   // two are swapped
  EXPECT_EQ(NearMiss("s3_region", kNames), "s3.region");       // one is another
}

TEST(NearMiss, PassesOverLetterCase) {
  EXPECT_EQ(NearMiss("S3.Region", kNames), "s3.region");
}

TEST(NearMiss, PrefersTheCloserName) {
  EXPECT_EQ(NearMiss("colums", kNames), "columns");
  EXPECT_EQ(NearMiss("colum", kNames), "column");
}

TEST(NearMiss, TakesOneEditForEveryThreeLettersAndNoMore) {
  EXPECT_EQ(NearMiss("s3.xegxon", kNames), "s3.region");  // 2 of 9
  EXPECT_EQ(NearMiss("s3.xxxion", kNames), "s3.region");  // 3 of 9
  EXPECT_EQ(NearMiss("s3.xxxxon", kNames), "");           // 4 of 9
  EXPECT_EQ(NearMiss("of", kNames), "off");
  EXPECT_EQ(NearMiss("on", kNames), "");
}

TEST(NearMiss, OfNothingOrOfAnEndlessNameIsNone) {
  EXPECT_EQ(NearMiss("", kNames), "");
  EXPECT_EQ(NearMiss(std::string(100'000, 'x'), kNames), "");
}

TEST(NearMiss, MakesTheEndOfAnError) {
  EXPECT_EQ(DidYouMean("colums", kNames), "; did you mean columns?");
  EXPECT_EQ(DidYouMean("verbose", kNames), "");
}

}  // namespace
}  // namespace forebay
