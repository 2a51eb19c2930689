#include "node/peers/peer_patience.h"

#include <gtest/gtest.h>

namespace forebay::node {
namespace {

TEST(PeerPatience, WaitsLongWhileNothingIsKnown) {
  EXPECT_EQ(PeerPatience().Delay(), PeerPatience::kMost);
}

TEST(PeerPatience, IsThreeTimesWhatNearlyAllPeersNeed) {
  PeerPatience patience;
  for (int i = 1; i <= 100; ++i) patience.Record(milliseconds(i));
  EXPECT_EQ(patience.Delay(), milliseconds(3 * 95));
}

TEST(PeerPatience, StaysWithinItsBounds) {
  PeerPatience quick, slow;
  quick.Record(milliseconds(0));
  slow.Record(milliseconds(60'000));
  EXPECT_EQ(quick.Delay(), PeerPatience::kLeast);
  EXPECT_EQ(slow.Delay(), PeerPatience::kMost);
}

TEST(PeerPatience, ReadsTheSourceLaterWhereAllPeersAreBusy) {
  PeerPatience unknown, quick, busy, stuck;
  quick.Record(milliseconds(10));
  busy.Record(milliseconds(700));
  stuck.Record(milliseconds(60'000));
  EXPECT_EQ(unknown.FillDelay(), milliseconds(1'000));
  EXPECT_EQ(quick.FillDelay(), milliseconds(1'000));
  EXPECT_EQ(busy.FillDelay(), milliseconds(2'100));
  EXPECT_EQ(stuck.FillDelay(), milliseconds(5'000));
}

TEST(PeerPatience, ForgetsWhatWasLongAgo) {
  PeerPatience patience;
  for (int i = 0; i < 128; ++i) patience.Record(milliseconds(900));
  for (int i = 0; i < 128; ++i) patience.Record(milliseconds(100));
  EXPECT_EQ(patience.Delay(), milliseconds(300));
}

}  // namespace
}  // namespace forebay::node
