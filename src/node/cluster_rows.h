// One gather: rows of a view from the peers that own them, one question to each. A peer
// that fails is replaced by the next in the route; one that is silent or slow is too, and
// whoever is first with the rows wins. What nobody gave is left to be read from whole
// chunks, whose fills have the source as their last resort.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "node/cluster_peers.h"

namespace forebay::node {

class ClusterRows {
 public:
  // Both must outlive this.
  ClusterRows(const ClusterPeers* peers, const cache::RowRequest* request);
  ~ClusterRows();

  Result<cache::GatheredRows> Run();

 private:
  struct Leg;    // one question to one peer
  struct Group;  // the rows of one question, and who else was asked for them
  using Rows = std::vector<uint32_t>;  // indices into the request's

  // Whom to ask for which of these rows; those that are left out are in their chunks.
  std::list<Leg> Plan(const Rows& rows, const std::string& without) const;
  std::vector<uint8_t> RangesInChunks(const Rows& rows) const;
  bool Stored(uint32_t range) const;
  void Start(Leg& leg);
  void Ask(Leg& leg);
  void AskOthers(Group& group);
  bool Settled(Group& group);
  void GiveUp(Group& group);
  void Judge(const Leg& leg);
  bool InTrouble(const Leg& leg, milliseconds time) const;
  milliseconds HedgeDelay() const;
  milliseconds GiveUpDelay() const;
  void StopAll(std::unique_lock<std::mutex>& lock);
  Result<cache::GatheredRows> Assemble();

  const ClusterPeers& peers_;
  const cache::RowRequest& request_;
  Cluster& cluster_;
  flight::RowsRequest asked_;
  std::vector<uint32_t> range_of_;  // of each row
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t running_ = 0;
  std::list<Group> groups_;
};

}  // namespace forebay::node
