#include "node/cluster.h"

#include <gtest/gtest.h>

#include <thread>

#include "node/fake_cluster.h"
#include "support/open_descriptors.h"

namespace forebay::node {
namespace {

using testing_support::OpenDescriptors;

bool Soon(const std::function<bool()>& condition) {
  Deadline deadline = Deadline::After(milliseconds(10'000));
  while (!condition()) {
    if (deadline.passed()) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Cluster, ClosesItsConnectionsToMembersThatHaveLeft) {
  FakePeer stays({"x"}), leaves({"x"});
  FakeHead head;
  head.SetRoster(RosterOf({stays.address(), leaves.address()}));
  auto cluster = JoinFake(&head, "self");
  flight::ChunkRequest request;
  request.table.uri = "/t";
  request.table.version = Hash128{1, 2};
  request.columns = {0};
  request.refs = {{0, model::kNarrowGroup}};
  auto fetch = [&](const FakePeer& peer) {
    flight::KeptChunks kept;
    return cluster->client().FetchChunks(peer.address(), request, kept, {});
  };
  ASSERT_TRUE(fetch(stays).ok());
  size_t before = OpenDescriptors();
  ASSERT_TRUE(fetch(leaves).ok());
  // Both ends are here, of one connection by Flight and one for bulk.
  ASSERT_GE(OpenDescriptors(), before + 4);
  head.SetRoster(RosterOf({stays.address()}, 2));
  cluster->link().BeatSoon();
  EXPECT_TRUE(Soon([&] { return OpenDescriptors() <= before; }))
      << before << " descriptors before, now " << OpenDescriptors();
  EXPECT_TRUE(fetch(stays).ok());
}

}  // namespace
}  // namespace forebay::node
