#include "storage/reader_ledger.h"

#include <gtest/gtest.h>

#include "storage/store_testing.h"

namespace forebay::storage {
namespace {

TEST(ReaderLedger, CountsEvictedBytesUntilTheLastReaderLetsGo) {
  ReaderLedger ledger(2);
  ledger.Add(KeyOf(1), 100, 0);
  ledger.Add(KeyOf(1), 100, 0);
  EXPECT_TRUE(ledger.IsMapped(KeyOf(1), 0));
  EXPECT_FALSE(ledger.IsMapped(KeyOf(1), 1));
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
  ledger.OnRemoved(KeyOf(1), 0);
  EXPECT_FALSE(ledger.IsMapped(KeyOf(1), 0));
  EXPECT_EQ(ledger.evicted_bytes(0), 100u);
  ledger.Drop(KeyOf(1));
  EXPECT_EQ(ledger.evicted_bytes(0), 100u);
  ledger.Drop(KeyOf(1));
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
  ledger.Drop(KeyOf(1));  // one too many is harmless
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
}

TEST(ReaderLedger, KeepsOldAndNewCopiesOfAKeyApart) {
  ReaderLedger ledger(1);
  ledger.Add(KeyOf(1), 100, 0);
  ledger.OnRemoved(KeyOf(1), 0);
  ledger.Add(KeyOf(1), 100, 0);
  EXPECT_EQ(ledger.evicted_bytes(0), 100u);
  EXPECT_TRUE(ledger.IsMapped(KeyOf(1), 0));
  ledger.Drop(KeyOf(1));
  EXPECT_EQ(ledger.evicted_bytes(0), 0u);
  EXPECT_TRUE(ledger.IsMapped(KeyOf(1), 0));
}

TEST(ReaderLedger, CountsMappedChunksNoTierHolds) {
  ReaderLedger ledger(1);
  ledger.Add(KeyOf(1), 100, std::nullopt);
  EXPECT_EQ(ledger.evicted_bytes(0), 0u);
  EXPECT_EQ(ledger.evicted_bytes(), 100u);
  ledger.Drop(KeyOf(1));
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
}

TEST(ReaderLedger, KnowsCopiesThatNeverWereInATier) {
  ReaderLedger ledger(1);
  ledger.Add(KeyOf(1), 100, 0);
  EXPECT_FALSE(ledger.IsMappedOutside(KeyOf(1)));
  ledger.OnRemoved(KeyOf(1), 0);
  EXPECT_FALSE(ledger.IsMappedOutside(KeyOf(1))) << "it was in one, and was evicted";
  ledger.Add(KeyOf(2), 100, std::nullopt);
  ledger.Add(KeyOf(2), 100, std::nullopt);
  ledger.Drop(KeyOf(2));
  EXPECT_TRUE(ledger.IsMappedOutside(KeyOf(2))) << "one reader is left";
  ledger.Drop(KeyOf(2));
  EXPECT_FALSE(ledger.IsMappedOutside(KeyOf(2)));
  EXPECT_FALSE(ledger.IsMappedOutside(KeyOf(3)));
}

TEST(ReaderLedger, ChargesEachTierForItsOwnCopies) {
  ReaderLedger ledger(2);
  ledger.Add(KeyOf(1), 100, 0);
  ledger.Add(KeyOf(1), 100, 1);
  ledger.OnRemoved(KeyOf(1), 1);
  EXPECT_EQ(ledger.evicted_bytes(0), 0u);
  EXPECT_EQ(ledger.evicted_bytes(1), 100u);
  EXPECT_TRUE(ledger.IsMapped(KeyOf(1), 0));
  ledger.OnRemoved(KeyOf(1), 1);  // gone already
  EXPECT_EQ(ledger.evicted_bytes(), 100u);
  ledger.Drop(KeyOf(1));  // the evicted copy first
  EXPECT_EQ(ledger.evicted_bytes(), 0u);
  EXPECT_TRUE(ledger.IsMapped(KeyOf(1), 0));
}

}  // namespace
}  // namespace forebay::storage
