#include "fuse/waiting_requests.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

#include "fuse/kernel_protocol.h"

namespace forebay::fuse {
namespace {

// The kernel's end of a channel is a pipe here.
class WaitingRequestsTest : public ::testing::Test {
 protected:
  WaitingRequestsTest() { EXPECT_EQ(::pipe(ends_), 0); }
  ~WaitingRequestsTest() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  fuse_out_header Answer() {
    fuse_out_header header{};
    EXPECT_EQ(::read(ends_[0], &header, sizeof(header)), ssize_t{sizeof(header)});
    return header;
  }
  int ends_[2];
  std::set<uint32_t> dying_;
  WaitingRequests waiting_{[this](uint32_t thread) { return dying_.contains(thread); }};
};

TEST_F(WaitingRequestsTest, WhoIsKilledIsAnsweredAtOnceAndOnlyOnce) {
  dying_.insert(5);
  auto ticket = waiting_.Begin(77, {Channel(ends_[1]), 5});
  waiting_.OnSignal(77);
  fuse_out_header answer = Answer();
  EXPECT_EQ(answer.unique, 77);
  EXPECT_EQ(answer.error, -EINTR);
  EXPECT_FALSE(ticket->Take());
}

TEST_F(WaitingRequestsTest, OtherSignalsAreLeftAloneUntilOneKills) {
  auto ticket = waiting_.Begin(77, {Channel(ends_[1]), 5});
  waiting_.OnSignal(77);
  dying_.insert(5);
  waiting_.Check();
  EXPECT_EQ(Answer().unique, 77);
}

TEST_F(WaitingRequestsTest, WhatWasAnsweredIsNotInterrupted) {
  dying_.insert(5);
  auto ticket = waiting_.Begin(77, {Channel(ends_[1]), 5});
  EXPECT_TRUE(ticket->Take());
  waiting_.OnSignal(77);
  ticket.reset();
  waiting_.OnSignal(77);
  waiting_.Begin(78, {Channel(ends_[1]), 5});
  auto last = waiting_.Begin(79, {Channel(ends_[1]), 5});
  waiting_.OnSignal(79);
  EXPECT_EQ(Answer().unique, 79);  // the first answer that was sent
}

TEST_F(WaitingRequestsTest, ASignalThatComesBeforeItsRequestIsNotLost) {
  dying_.insert(5);
  waiting_.OnSignal(77);
  auto ticket = waiting_.Begin(77, {Channel(ends_[1]), 5});
  waiting_.Check();
  EXPECT_EQ(Answer().unique, 77);
  EXPECT_FALSE(ticket->Take());
}

TEST(IsDying, ALivingThreadIsNot) {
  EXPECT_FALSE(IsDying(static_cast<uint32_t>(::gettid())));
  EXPECT_FALSE(IsDying(0));
}

}  // namespace
}  // namespace forebay::fuse
