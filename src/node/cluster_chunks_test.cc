#include "node/cluster_chunks.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "node/fake_cluster.h"

namespace forebay::node {
namespace {

// Chunks that this process asks members "a" and "b" for.
class ClusterChunksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("forebay-cluster-chunks-" + std::to_string(::getpid()));
    storage::StoreOptions store;
    store.tiers = storage::TiersOf({{.medium = model::Medium::kSsd, .path = directory_}});
    store.tiers[0].durable = false;
    store_ = storage::Store::Open(std::move(store)).ValueOrDie();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Join(uint32_t replicas, std::vector<FakePeer*> peers) {
    std::vector<std::string> addresses;
    for (FakePeer* peer : peers) addresses.push_back(peer->address());
    head_.SetRoster(RosterOf(addresses));
    cluster_ = JoinFake(&head_);
    peers_ = std::make_unique<ClusterPeers>(ClusterPeers::Options{
        .cluster = cluster_, .dataset = "events", .replicas = replicas});
    // The first member in the unit's route is the first of `peers`.
    auto roster = cluster_->link().roster();
    for (wanted_.unit = {}; roster->Route(wanted_.unit, 1)[0] != 0;) ++wanted_.unit.low;
  }
  // These chunks, by number.
  Result<std::vector<size_t>> Run(const std::vector<std::string>& chunks) {
    wanted_.request.table.dataset = "events";
    wanted_.request.table.version = Hash128{1, 2};
    wanted_.request.columns = {0};
    wanted_.store = store_.get();
    wanted_.deadline = Deadline::After(std::chrono::seconds(30));
    for (uint32_t i = 0; i < chunks.size(); ++i) {
      wanted_.chunks.push_back({{i, model::kNarrowGroup}, HashBytes(chunks[i])});
    }
    wanted_.on_chunk = [this](size_t i, const storage::Chunk&, cache::FillTimes) {
      came_.push_back(i);
    };
    return ClusterChunks(peers_.get(), &wanted_).Run();
  }
  PeerCounters& counters() { return cluster_->counters(); }

  const std::vector<std::string> three_{"one", "two", "three"};
  std::string directory_;
  std::unique_ptr<storage::Store> store_;
  FakeHead head_;
  std::shared_ptr<Cluster> cluster_;
  std::unique_ptr<ClusterPeers> peers_;
  WantedChunks wanted_;
  std::vector<size_t> came_;
};

TEST_F(ClusterChunksTest, BringsWhatTheFirstMemberHasIntoTheStore) {
  FakePeer a(three_), b(three_);
  Join(1, {&a, &b});
  auto rest = Run(three_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_TRUE(rest->empty());
  EXPECT_EQ(came_, (std::vector<size_t>{0, 1, 2}));
  for (const std::string& bytes : three_) EXPECT_TRUE(store_->Contains(HashBytes(bytes)));
  EXPECT_EQ(counters().chunks, 3U);
  EXPECT_EQ(counters().bytes, 11U);
  EXPECT_EQ(counters().damaged, 0U);
  ASSERT_EQ(a.asked().size(), 1U);
  EXPECT_FALSE(a.asked()[0].stored_only);
  EXPECT_TRUE(b.asked().empty());
}

TEST_F(ClusterChunksTest, ADamagedChunkIsFetchedAgainFromTheSamePeerAndCounted) {
  FakePeer a(three_), b(three_);
  a.Damage(1, 1);
  Join(1, {&a, &b});
  auto rest = Run(three_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_TRUE(rest->empty());
  EXPECT_EQ(came_, (std::vector<size_t>{0, 1, 2})) << "each once";
  EXPECT_EQ(counters().damaged, 1U);
  EXPECT_EQ(counters().failed_calls, 0U);
  EXPECT_EQ(counters().fallbacks, 0U);
  ASSERT_EQ(a.asked().size(), 2U);
  ASSERT_EQ(a.asked()[1].refs.size(), 2U) << "only what is missing is asked for again";
  EXPECT_EQ(a.asked()[1].refs[0].range, 1U);
  EXPECT_TRUE(b.asked().empty());
}

TEST_F(ClusterChunksTest, AChunkThatStaysDamagedComesFromTheNextMember) {
  FakePeer a(three_), b(three_);
  a.Damage(0, 1'000);
  Join(2, {&a, &b});
  auto rest = Run(three_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_TRUE(rest->empty());
  EXPECT_EQ(counters().damaged, 2U);
  EXPECT_EQ(counters().failed_calls, 1U);
  EXPECT_EQ(counters().fallbacks, 0U);
  EXPECT_EQ(a.asked().size(), 2U);
  EXPECT_EQ(b.asked().size(), 1U);
}

TEST_F(ClusterChunksTest, WhatNobodyGivesUndamagedIsLeftToTheSource) {
  FakePeer a(three_), b(three_);
  a.Damage(2, 1'000);
  b.Damage(2, 1'000);
  Join(2, {&a, &b});
  auto rest = Run(three_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(*rest, std::vector<size_t>{2});
  EXPECT_FALSE(store_->Contains(HashBytes("three")));
  EXPECT_EQ(counters().damaged, 4U);
  EXPECT_EQ(counters().fallbacks, 1U);
}

TEST_F(ClusterChunksTest, AMemberPastTheReplicasIsOnlyAskedForWhatItHas) {
  FakePeer a(three_), b(three_);
  a.Script({Status::Unavailable("not now")});
  Join(1, {&a, &b});
  auto rest = Run(three_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_TRUE(rest->empty());
  ASSERT_EQ(b.asked().size(), 1U);
  EXPECT_TRUE(b.asked()[0].stored_only);
  EXPECT_EQ(counters().failed_calls, 1U);
}

TEST_F(ClusterChunksTest, WhatTheSourceWouldRefuseTooIsAnError) {
  FakePeer a(three_), b(three_);
  a.Script({Status::Permission("not yours")});
  Join(2, {&a, &b});
  EXPECT_EQ(Run(three_).status().code(), StatusCode::kPermission);
  EXPECT_TRUE(b.asked().empty());
}

TEST_F(ClusterChunksTest, WithoutRoomForWhatCameNobodyElseIsAsked) {
  storage::StoreOptions options;
  options.tiers = storage::TiersOf(
      {{.medium = model::Medium::kMem, .path = {}, .quota_bytes = 4096}});
  options.borrowed_bytes_max = 100'000;
  store_ = storage::Store::Open(std::move(options)).ValueOrDie();
  auto draft = store_->Create({7, 7}, model::ChunkKind::kTable, 80'000).ValueOrDie();
  ASSERT_EQ(draft->Append(std::string(80'000, 'x').data(), 80'000), Status::OK());
  std::vector<std::string> large{std::string(50'000, 'y')};
  FakePeer a(large), b(large);
  Join(2, {&a, &b});
  auto rest = Run(large);
  EXPECT_EQ(rest.status().code(), StatusCode::kFull) << rest.status();
  EXPECT_EQ(a.asked().size(), 1U);
  EXPECT_TRUE(b.asked().empty());
  EXPECT_EQ(counters().failed_calls, 0U) << "the peer did well";
  EXPECT_EQ(counters().fallbacks, 0U);
}

TEST_F(ClusterChunksTest, MoreThanOneQuestionHoldsIsAskedInSeveral) {
  std::vector<std::string> many;
  for (int i = 0; i < 4'097; ++i) many.push_back("chunk " + std::to_string(i));
  // One descriptor each, as far as the limit of this process goes.
  std::vector<std::string> few(many.begin(), many.begin() + 3);
  FakePeer a(few);
  Join(1, {&a});
  a.Script({Status::NotFound("nothing")});
  auto rest = Run(many);
  ASSERT_TRUE(rest.ok()) << rest.status();
  ASSERT_GE(a.asked().size(), 1U);
  EXPECT_EQ(a.asked()[0].refs.size(), 4'096U) << "the peer understood the question";
}

}  // namespace
}  // namespace forebay::node
