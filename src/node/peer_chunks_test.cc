#include "node/peer_chunks.h"

#include <gtest/gtest.h>

#include "node/fake_cluster.h"

namespace forebay::node {
namespace {

class PeerChunksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    storage::StoreOptions store;
    store.tiers = storage::TiersOf(
        {{.medium = model::Medium::kMem, .path = {}, .quota_bytes = uint64_t{64} << 20}});
    cache::Engine::Options options;
    options.named = &datasets_;
    engine_ =
        cache::Engine::Make(storage::Store::Open(std::move(store)).ValueOrDie(), options)
            .ValueOrDie();
    chunks_ = std::make_unique<PeerChunks>(engine_.get(), &datasets_);
    request_.table.dataset = "events";
    request_.table.version = Hash128{1, 2};
    request_.columns = {0};
    request_.refs = {{0, model::kNarrowGroup}};
  }
  Status Serve() { return chunks_->Serve(request_).status(); }

  FakeHead head_;
  HeadDatasets datasets_;
  std::unique_ptr<cache::Engine> engine_;
  std::unique_ptr<PeerChunks> chunks_;
  flight::ChunkRequest request_;
};

TEST_F(PeerChunksTest, APeerThatAsksBeforeTheNodeHasJoinedIsToldToAskAgain) {
  for (bool stored_only : {true, false}) {
    request_.stored_only = stored_only;
    Status status = Serve();
    EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
    EXPECT_NE(status.message().find("has not joined its cluster yet"), std::string::npos);
  }
  EXPECT_EQ(datasets_.FindHome(Deadline::Never()).status().code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(datasets_.home(), nullptr);
}

TEST_F(PeerChunksTest, APeerIsServedOnceTheNodeHasJoined) {
  head_.SetRoster(RosterOf({"127.0.0.1:1"}));
  datasets_.Join(JoinFake(&head_, "a"), {"head:7070"});
  EXPECT_EQ(datasets_.HomeUri("events"), "forebay://head:7070/events");
  // The head knows no such version.
  EXPECT_EQ(Serve().code(), StatusCode::kNotFound);
  head_.Put("/v1/versions/" + Hash128{1, 2}.ToHex() + "/manifest", "no manifest");
  EXPECT_EQ(Serve().code(), StatusCode::kCorrupt);
}

TEST_F(PeerChunksTest, APeerAsksForAVersionOfADatasetAndNothingElse) {
  head_.SetRoster(RosterOf({"127.0.0.1:1"}));
  datasets_.Join(JoinFake(&head_, "a"), {"head:7070"});
  request_.table.version.reset();
  EXPECT_EQ(Serve().code(), StatusCode::kInvalid);
  request_.table.version = Hash128{1, 2};
  request_.table.dataset.clear();
  request_.table.uri = "/etc";
  EXPECT_EQ(Serve().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace forebay::node
