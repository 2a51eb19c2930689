#include "reader/files/link_pool.h"

#include <gtest/gtest.h>

namespace forebay::reader {
namespace {

Deadline In(int ms) { return Deadline::After(milliseconds(ms)); }

TEST(LinkPool, KeepsTheLastLinksForWhoWaitsBriefly) {
  LinkPool pool({});
  std::vector<LinkPool::Lent> patient;
  for (size_t i = 0; i < LinkPool::kPatientMax; ++i) {
    patient.push_back(pool.Take(In(60'000)).ValueOrDie());
  }
  std::vector<LinkPool::Lent> brisk;
  for (size_t i = 0; i < LinkPool::kBriskMax; ++i) {
    brisk.push_back(pool.Take(In(10)).ValueOrDie());
  }
  EXPECT_EQ(pool.Take(In(10)).status().code(), StatusCode::kDeadline);
  brisk.pop_back();
  EXPECT_TRUE(pool.Take(In(10)).ok());
  patient.pop_back();
  brisk.clear();
  EXPECT_TRUE(pool.Take(In(60'000)).ok());
}

TEST(LinkPool, WhoWaitsForALinkWaitsNoLongerThanItsDeadline) {
  LinkPool pool({});
  std::vector<LinkPool::Lent> all;
  for (size_t i = 0; i < LinkPool::kPatientMax; ++i) {
    all.push_back(pool.Take(In(60'000)).ValueOrDie());
  }
  // It becomes one who waits briefly near its end, and no link is left for those either.
  for (size_t i = 0; i < LinkPool::kBriskMax; ++i) {
    all.push_back(pool.Take(In(10)).ValueOrDie());
  }
  EXPECT_EQ(pool.Take(In(120)).status().code(), StatusCode::kDeadline);
}

TEST(LinkPool, LinksAreUsedAgain) {
  LinkPool pool({});
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(pool.Take(In(1000)).ok());
  EXPECT_EQ(pool.count(), 1);
  pool.Poll();
  EXPECT_EQ(pool.count(), 1);
}

}  // namespace
}  // namespace forebay::reader
