#include "base/size.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(ParseSize, ReadsBinaryAndDecimalUnits) {
  const std::pair<const char*, uint64_t> kTable[] = {
      {"0", 0},           {"0B", 0},        {"17B", 17},         {"4K", 4096},
      {"4KiB", 4096},     {"4KB", 4000},    {"1.5M", 1572864},   {"500MB", 500'000'000},
      {"4GiB", 4 * kGiB}, {"2T", 2 * kTiB}, {"0.5TiB", kTiB / 2}};
  for (auto [text, bytes] : kTable) {
    auto size = ParseSize(text);
    ASSERT_TRUE(size.ok()) << text << ": " << size.status();
    EXPECT_EQ(*size, bytes) << text;
  }
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GiB", "-1", "-4GiB", "4 GiB", "4gib", "4GiBs", "nan",
                           "inf", "1e30B", "0x10", "4,5M", "99999999T"}) {
    auto size = ParseSize(text);
    ASSERT_FALSE(size.ok()) << text << " gave " << *size;
    EXPECT_EQ(size.status().message(),
              "not a size: '" + std::string(text) + "'; write it like 4GiB or 500MB");
  }
}

TEST(ParseSize, AsksForTheUnitOfABareNumber) {
  EXPECT_EQ(ParseSize("20").status().message(), "20 what? write 20GiB");
  EXPECT_EQ(ParseSize("1.5").status().message(), "1.5 what? write 1.5GiB");
  EXPECT_EQ(ParseSize("1").status().code(), StatusCode::kInvalid);
}

TEST(FormatSize, PicksTheUnitThatReadsBest) {
  EXPECT_EQ(FormatSize(0), "0 B");
  EXPECT_EQ(FormatSize(1023), "1023 B");
  EXPECT_EQ(FormatSize(1024), "1.0 KiB");
  EXPECT_EQ(FormatSize(kMiB - 1), "1.0 MiB");
  EXPECT_EQ(FormatSize(4 * kGiB + 512 * kMiB), "4.5 GiB");
  EXPECT_EQ(FormatSize(5000 * kTiB), "5000.0 TiB");
}

}  // namespace
}  // namespace forebay
