#include "base/bytes.h"

#include <gtest/gtest.h>

#include <random>

namespace forebay {
namespace {

std::string Message() {
  Encoder out;
  out.Put<uint8_t>(7);
  out.Put<uint64_t>(0x0102030405060708);
  out.PutString("hello");
  out.Put<double>(0.5);
  out.PutString("");
  return out.Take();
}

TEST(Bytes, GivesBackWhatWasPut) {
  std::string bytes = Message();
  Decoder in(bytes);
  EXPECT_EQ(in.Get<uint8_t>(), 7);
  EXPECT_EQ(in.Get<uint64_t>(), 0x0102030405060708U);
  EXPECT_EQ(in.GetString(), "hello");
  EXPECT_EQ(in.Get<double>(), 0.5);
  EXPECT_EQ(in.GetView(), "");
  EXPECT_TRUE(in.done());
  EXPECT_TRUE(in.Finish("the message").ok());
}

TEST(Bytes, AreLittleEndianWithoutPadding) {
  Encoder out;
  out.Put<uint8_t>(1);
  out.Put<uint32_t>(0x0A0B0C0D);
  out.PutString("x");
  EXPECT_EQ(out.bytes(), std::string("\x01\x0D\x0C\x0B\x0A\x01\x00\x00\x00x", 10));
}

TEST(Decoder, RefusesEveryTruncation) {
  std::string bytes = Message();
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own, so that a read past the end is one past an allocation.
    std::string cut = bytes.substr(0, size);
    Decoder in(cut);
    in.Get<uint8_t>();
    in.Get<uint64_t>();
    in.GetString();
    in.Get<double>();
    in.GetView();
    EXPECT_FALSE(in.ok()) << size;
    EXPECT_EQ(in.Finish("the message"), Status::Corrupt("the message is malformed"));
  }
}

TEST(Decoder, RefusesBytesLeftOver) {
  std::string bytes = Message() + "x";
  Decoder in(bytes);
  in.Get<uint8_t>();
  in.Get<uint64_t>();
  in.GetString();
  in.Get<double>();
  in.GetView();
  EXPECT_TRUE(in.ok());
  EXPECT_FALSE(in.Finish("the message").ok());
}

TEST(Decoder, GivesZeroesAfterAFailure) {
  std::string bytes("\xFF\xFF\xFF\xFFhijklmno", 12);
  Decoder in(bytes);
  EXPECT_EQ(in.GetView(), "");
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.Get<uint64_t>(), 0U);
  EXPECT_EQ(in.GetCount(1), 0U);
}

TEST(Decoder, BelievesACountOnlyWhenTheItemsFit) {
  Encoder out;
  out.Put<uint32_t>(3);
  std::string bytes = out.Take() + std::string(12, 'x');
  EXPECT_EQ(Decoder(bytes).GetCount(4), 3U);
  Decoder in(bytes);
  EXPECT_EQ(in.GetCount(5), 0U);
  EXPECT_FALSE(in.ok());
}

TEST(Decoder, NeverReadsOutsideRandomBytes) {
  constexpr uint32_t kSeed = 20;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 32, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 4);
    Decoder in(bytes);
    size_t read = 0;
    while (in.ok() && !in.done()) {
      switch (random() % 4) {
        case 0: read += in.GetView().size(); break;
        case 1: read += in.GetCount(1 + random() % 8); break;
        case 2: in.Get<uint8_t>(); break;
        default: in.Get<uint64_t>(); break;
      }
    }
    ASSERT_LE(read, 32U * 32U) << "seed " << kSeed << " round " << round;
  }
}

}  // namespace
}  // namespace forebay
