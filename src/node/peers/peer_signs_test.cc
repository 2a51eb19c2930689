#include "node/peers/peer_signs.h"

#include <gtest/gtest.h>

namespace forebay::node {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

class PeerSignsTest : public ::testing::Test {
 protected:
  PeerSignsTest() {
    for (int i = 0; i < 64; ++i) rates_.Record(200 * kMiB);
  }
  // One piece of a chunk's bytes, after so long.
  void Piece(PeerSigns& signs, milliseconds after, uint64_t bytes) {
    clock_.Advance(after);
    signs.Heard();
    PeerSigns::OwnTime busy(&signs);
    signs.Took(bytes);
  }
  void Open(PeerSigns& signs) {
    PeerSigns::OwnTime busy(&signs);
    signs.BodyBegins();
  }

  FakeClock clock_;
  PeerRates rates_;
};

TEST_F(PeerSignsTest, SilenceIsTroubleUnlessItIsExpected) {
  PeerSigns signs(&rates_, &clock_);
  clock_.Advance(milliseconds(300));
  EXPECT_EQ(signs.Trouble(), milliseconds(300));
  signs.Heard();
  EXPECT_EQ(signs.Trouble(), milliseconds(0));
  EXPECT_EQ(signs.longest_silence(), milliseconds(300));
  clock_.Advance(milliseconds(100));
  signs.Expect();
  EXPECT_EQ(signs.Trouble(), milliseconds(0));
}

TEST_F(PeerSignsTest, WhatThisNodeDoesWithTheBytesIsNobodysSilence) {
  PeerSigns signs(&rates_, &clock_);
  Open(signs);
  for (int i = 0; i < 100; ++i) {
    clock_.Advance(milliseconds(1));
    signs.Heard();
    PeerSigns::OwnTime busy(&signs);
    clock_.Advance(milliseconds(900));  // a slow disk
    EXPECT_EQ(signs.Trouble(), milliseconds(0));
    signs.Took(kMiB);
  }
  EXPECT_EQ(signs.Trouble(), milliseconds(0));
  EXPECT_FALSE(signs.slow());
}

TEST_F(PeerSignsTest, TimeInWhichThisHostStoodStillIsNoSilence) {
  PeerSigns signs(&rates_, &clock_);
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(milliseconds(20));
    signs.Look();
  }
  EXPECT_EQ(signs.Trouble(), milliseconds(200));
  clock_.Advance(std::chrono::seconds(30));  // the host was suspended
  signs.Look();
  EXPECT_EQ(signs.Trouble(), milliseconds(200) + PeerSigns::kLookGap);
  // However slow this host is, a peer that says nothing is found out in the end.
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(milliseconds(700));
    signs.Look();
  }
  EXPECT_EQ(signs.Trouble(), milliseconds(200) + 11 * PeerSigns::kLookGap);
  signs.Heard();
  clock_.Advance(milliseconds(50));
  signs.Look();
  EXPECT_EQ(signs.Trouble(), milliseconds(50));
}

TEST_F(PeerSignsTest, BytesThatTrickleAreTroubleThatCountsHalf) {
  PeerSigns signs(&rates_, &clock_);
  Open(signs);
  for (int i = 0; i < 4; ++i) Piece(signs, milliseconds(100), 4096);
  EXPECT_FALSE(signs.slow()) << "it has only begun";
  for (int i = 0; i < 16; ++i) Piece(signs, milliseconds(100), 4096);
  EXPECT_TRUE(signs.slow());
  EXPECT_EQ(signs.Trouble(), milliseconds(1'000));
}

TEST_F(PeerSignsTest, OneThatIsFastAgainIsForgiven) {
  PeerSigns signs(&rates_, &clock_);
  Open(signs);
  for (int i = 0; i < 10; ++i) Piece(signs, milliseconds(100), 4096);
  ASSERT_TRUE(signs.slow());
  for (int i = 0; i < 5; ++i) Piece(signs, milliseconds(100), 20 * kMiB);
  EXPECT_FALSE(signs.slow());
}

TEST_F(PeerSignsTest, WaitingForAFillIsNotSlow) {
  PeerSigns signs(&rates_, &clock_);
  Open(signs);
  Piece(signs, milliseconds(1), kMiB);
  signs.BodyEnds();
  for (int i = 0; i < 300; ++i) {  // it says that it is at work
    clock_.Advance(milliseconds(30));
    signs.Heard();
  }
  Open(signs);
  Piece(signs, milliseconds(1), kMiB);
  EXPECT_FALSE(signs.slow());
  EXPECT_EQ(signs.Trouble(), milliseconds(0));
}

TEST(PeerRates, NobodyIsSlowWhereAllAre) {
  PeerRates rates;
  for (int i = 0; i < 64; ++i) rates.Record(200 * kMiB);
  EXPECT_TRUE(rates.IsSlow(kMiB));
  EXPECT_FALSE(rates.IsSlow(PeerRates::kEnough));
  for (int i = 0; i < 40; ++i) rates.Record(kMiB);
  EXPECT_FALSE(rates.IsSlow(kMiB));
  EXPECT_TRUE(rates.IsSlow(kMiB / 20));
}

TEST(PeerRates, WithoutAnyOnlyATrickleIsSlow) {
  PeerRates rates;
  EXPECT_FALSE(rates.IsSlow(kMiB));
  EXPECT_TRUE(rates.IsSlow(100'000));
}

}  // namespace
}  // namespace forebay::node
