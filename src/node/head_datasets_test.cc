#include "node/head_datasets.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "http/server.h"
#include "node/cluster_peers.h"
#include "node/fake_cluster.h"

namespace forebay::node {
namespace {

// A head with one dataset, over HTTP.
class HeadDatasetsTest : public ::testing::Test {
 protected:
  static http::Reply Answer(const http::Received& request) {
    if (request.target.starts_with(cluster::kRosterPath)) {
      return {.body = ToJson(cluster::HeartbeatAnswer{.roster = RosterOf({})})};
    }
    if (request.target == "/v1/datasets/events/source") {
      return {.body = R"({"source": "mem://events", "options": {}, "columns": [],
                          "replicas": 1, "version": "aa"})"};
    }
    bool known = request.target == "/v1/versions/aa/manifest";
    return known ? http::Reply{.body = "manifest"} : http::Reply{.status = 404};
  }

  // Each number is another name of the head.
  std::shared_ptr<Cluster> Open(int number) {
    std::string head = fmt::format("127.0.0.1:{}", server_->port());
    std::string heads = head;
    for (int i = 0; i < number; ++i) heads += "," + head;
    auto dataset = datasets_.Find("forebay://" + heads + "/events", std::nullopt,
                                  Deadline::After(std::chrono::minutes(1)));
    auto peers = std::static_pointer_cast<ClusterPeers>(dataset.ValueOrDie().peers);
    auto cluster = peers->options().cluster;
    opened_.emplace_back(cluster);
    return cluster;
  }
  size_t alive() const {
    return static_cast<size_t>(std::ranges::count_if(
        opened_, [](const auto& cluster) { return !cluster.expired(); }));
  }

  std::unique_ptr<http::Server> server_ = http::Server::Start({}, Answer).ValueOrDie();
  HeadDatasets datasets_;
  std::vector<std::weak_ptr<Cluster>> opened_;
};

TEST_F(HeadDatasetsTest, OfManyHeadsThatNobodyUsesTheLatestAreKept) {
  for (int i = 0; i < 20; ++i) (void)Open(i);
  EXPECT_EQ(alive(), 8U);
  EXPECT_FALSE(opened_[12].expired()) << "it was used last but seven";
  auto again = Open(12);
  EXPECT_EQ(again, opened_[12].lock());
}

TEST_F(HeadDatasetsTest, AClusterThatADatasetUsesIsKeptAndShared) {
  std::vector<std::shared_ptr<Cluster>> used;
  for (int i = 0; i < 10; ++i) used.push_back(Open(i));
  for (int i = 10; i < 30; ++i) (void)Open(i);
  EXPECT_EQ(alive(), 18U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Open(i), used[i]) << i;
}

}  // namespace
}  // namespace forebay::node
