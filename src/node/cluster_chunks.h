// One fill from peers: chunks of a unit from whoever of its route has them or fills for
// us. A member that fails is replaced by the next; one that is silent is hedged: the
// next ones are asked for what they have stored too, and after a longer silence to fill.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <vector>

#include "node/cluster_peers.h"

namespace forebay::node {

class ClusterChunks {
 public:
  // All must outlive this.
  ClusterChunks(const ClusterPeers* peers, const cache::FillRequest* request,
                const cache::FillContext* context);
  ~ClusterChunks();

  // The chunks that did not come. An error is what the source would say too.
  Result<std::vector<cache::FillChunk>> Run();

 private:
  struct Leg;  // one question to one member
  struct Candidate {
    ClusterPeers::Candidate who;
    bool probed = false;  // was asked for what it has stored
    bool asked = false;   // to fill too, where it may
  };
  enum class Rights { kStored, kAll };

  // One look at how the legs are; false once nothing is left to wait for.
  bool Advance();
  bool StartNext(Rights rights);
  void Start(Candidate& candidate, Rights rights);
  void Ask(Leg& leg);
  void Judge(Leg& leg);
  bool AllSilent(milliseconds time) const;
  bool AllCame() const;
  Result<std::vector<cache::FillChunk>> Finish(std::unique_lock<std::mutex>& lock);

  const ClusterPeers& peers_;
  const cache::FillRequest& request_;
  const cache::FillContext& context_;
  Cluster& cluster_;
  const Hash128& unit_;
  std::vector<Candidate> candidates_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<uint8_t> came_;
  std::list<Leg> legs_;
  size_t running_ = 0;
  bool let_down_ = false;
  Status final_;
};

}  // namespace forebay::node
