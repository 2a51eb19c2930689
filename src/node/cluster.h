// The cluster of one head as this node knows it: who is in it, how to call them, what was
// counted. Shared by all versions that come from that head. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/thread_pool.h"
#include "cluster/head_link.h"
#include "flight/peer_client.h"
#include "node/peers/peer_calls.h"
#include "node/peers/peer_patience.h"
#include "node/peers/peer_rates.h"
#include "node/second_copies.h"

namespace forebay::node {

struct PeerCounters {
  std::atomic<uint64_t> chunks{0};  // that came from peers
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> failed_calls{0};
  std::atomic<uint64_t> fallbacks{0};  // units read from the source for want of an owner
  std::atomic<uint64_t> rows{0};       // that came from peers one by one
  std::atomic<uint64_t> hedges{0};     // calls made since another one was silent or slow
  std::atomic<uint64_t> damaged{0};  // answers whose bytes were not those that were sent
};

// How often a peer is asked the same where its answer, or the question, was damaged.
constexpr int kAskedMax = 2;

class Cluster {
 public:
  struct Options {
    cluster::HeadLink::Options link;
    // Hears where chunks are placed; null: this node is no member.
    std::shared_ptr<SecondCopies> second_copies{};
  };
  static Result<std::unique_ptr<Cluster>> Join(Options options);

  cluster::HeadLink& link() { return *link_; }
  flight::PeerClient& client() { return client_; }
  PeerCalls& calls() { return calls_; }
  PeerCounters& counters() { return counters_; }
  PeerPatience& patience() { return patience_; }
  PeerRates& rates() { return rates_; }
  SecondCopies* second_copies() { return second_copies_.get(); }
  // Runs calls that others wait for. Each kind may wait for those after it, here and on
  // other nodes, so each has threads of its own: nodes that ask each other would wait in
  // circles otherwise.
  enum class CallKind { kRows, kFills, kStored };
  ThreadPool& callers(CallKind kind);
  // True when this node is the member.
  bool IsSelf(const cluster::Member& member) const { return member.id == self_; }

 private:
  Cluster(std::string self, std::shared_ptr<SecondCopies> second_copies)
      : self_(self), second_copies_(std::move(second_copies)), calls_(self) {}

  void OnRoster(const cluster::Roster& roster);

  const std::string self_;
  const std::shared_ptr<SecondCopies> second_copies_;
  PeerCalls calls_;
  flight::PeerClient client_;
  PeerCounters counters_;
  PeerPatience patience_;
  PeerRates rates_;
  struct Callers {
    std::once_flag once;
    std::unique_ptr<ThreadPool> threads;
  };
  std::array<Callers, 3> callers_;           // by kind
  std::unique_ptr<cluster::HeadLink> link_;  // its thread uses the above: ends first
};

}  // namespace forebay::node
