#include "node/row_requests.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/no_threads.h"

namespace forebay::node {
namespace {

using cache::GatheredRows;

// Every row is in one part of so many bytes.
class FakePeers : public cache::Peers {
 public:
  explicit FakePeers(uint64_t part_bytes) : part_bytes_(part_bytes) {}

  Result<std::vector<cache::FillChunk>> Bring(const cache::FillRequest&,
                                              const cache::FillContext&) override {
    return Status::Unsupported("only rows");
  }
  Result<GatheredRows> Gather(const cache::RowRequest& request) override {
    ++gathers;
    GatheredRows rows{.part_of = std::vector<uint32_t>(request.rows.size()), .parts = {}};
    if (request.budget->Take(part_bytes_)) {
      rows.parts.push_back({UniqueFd(), part_bytes_});
    } else {
      rows.part_of.assign(request.rows.size(), GatheredRows::kInChunks);
    }
    return rows;
  }

  std::atomic<int> gathers{0};

 private:
  const uint64_t part_bytes_;
};

class RowRequestsTest : public ::testing::Test {
 protected:
  cache::RowRequest Request() const {
    auto version = std::make_shared<cache::Version>();
    version->peers = peers_;
    cache::RowRequest request;
    request.view.version = version;
    request.rows = {1, 2, 3};
    return request;
  }
  static Result<GatheredRows> Take(RowRequests& requests, uint64_t ticket) {
    return requests.Take(ticket, Deadline::After(std::chrono::seconds(10)),
                         [] { return false; });
  }

  std::shared_ptr<FakePeers> peers_ = std::make_shared<FakePeers>(100);
};

TEST_F(RowRequestsTest, TicketsPastThoseUnderWayWaitForTheirTurn) {
  RowRequests requests({.under_way = 2});
  for (uint64_t ticket = 0; ticket < 5; ++ticket) {
    ASSERT_TRUE(requests.Start(ticket, Request()).ok());
  }
  // The last one first: it has not begun.
  for (uint64_t ticket : {4, 0, 1, 2, 3}) {
    auto rows = Take(requests, ticket);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->parts.size(), 1U);
  }
  EXPECT_EQ(peers_->gathers, 5);
  EXPECT_EQ(Take(requests, 4).status().code(), StatusCode::kNotFound);
}

TEST_F(RowRequestsTest, DroppedTicketsMakeRoomForOthers) {
  RowRequests requests({.tickets = 2, .under_way = 1});
  ASSERT_TRUE(requests.Start(1, Request()).ok());
  ASSERT_TRUE(requests.Start(2, Request()).ok());
  EXPECT_EQ(requests.Start(3, Request()).code(), StatusCode::kFull);
  requests.Drop({1, 2});
  EXPECT_TRUE(requests.Start(3, Request()).ok());
  EXPECT_TRUE(Take(requests, 3).ok());
}

TEST_F(RowRequestsTest, RowsPastTheirBytesAreLeftInChunks) {
  RowRequests requests({.bytes = 250});
  for (uint64_t ticket = 0; ticket < 3; ++ticket) {
    ASSERT_TRUE(requests.Start(ticket, Request()).ok());
  }
  while (peers_->gathers < 3) std::this_thread::yield();
  // Which one was too many is chance, and so is whether the last one came after the
  // first was taken.
  size_t parts = 0;
  requests.Drop({0});
  for (uint64_t ticket : {1, 2})
    parts += Take(requests, ticket).ValueOrDie().parts.size();
  EXPECT_GE(parts, 1U);
  ASSERT_TRUE(requests.Start(9, Request()).ok());
  EXPECT_EQ(Take(requests, 9).ValueOrDie().parts.size(), 1U) << "taken ones do not count";
  RowRequests tight({.bytes = 99});
  ASSERT_TRUE(tight.Start(1, Request()).ok());
  auto rows = Take(tight, 1).ValueOrDie();
  EXPECT_TRUE(rows.parts.empty());
  EXPECT_EQ(rows.part_of, std::vector<uint32_t>(3, GatheredRows::kInChunks));
}

TEST_F(RowRequestsTest, RowsAreLeftInChunksWhereNoThreadCanBeStarted) {
  RowRequests requests({.under_way = 2});
  {
    testing_support::NoThreads limit;
    ASSERT_TRUE(requests.Start(1, Request()).ok());
    ASSERT_TRUE(requests.Start(2, Request()).ok());
    auto rows = Take(requests, 1);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_TRUE(rows->parts.empty());
    EXPECT_EQ(rows->part_of, std::vector<uint32_t>(3, GatheredRows::kInChunks));
    EXPECT_EQ(Take(requests, 1).status().code(), StatusCode::kNotFound) << "used up";
    EXPECT_EQ(peers_->gathers, 0);
  }
  auto rows = Take(requests, 2);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->parts.size(), 1U) << "it was started once there were threads again";
  // What could not start does not count as under way.
  for (uint64_t ticket : {3, 4}) ASSERT_TRUE(requests.Start(ticket, Request()).ok());
  while (peers_->gathers < 3) std::this_thread::yield();
  requests.Drop({3, 4});
}

}  // namespace
}  // namespace forebay::node
