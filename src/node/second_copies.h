// Which chunks of this node's store are second copies: chunks of a cluster's dataset that
// another live member is the first to keep. They go before all others when the store
// makes room, so that the last copy in the cluster goes last.
//
// By arithmetic over the newest roster, without asking anybody: a roster that is old, or
// a first member that has lost its copy, makes for a worse choice and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/roster.h"
#include "storage/eviction_policy.h"

namespace forebay::node {

// Thread-safe.
class SecondCopies {
 public:
  struct Options {
    std::string self{};  // this node's id in rosters
    std::function<std::shared_ptr<const cluster::Roster>()> roster{};
    std::function<bool(const Hash128& key)> stored{};  // what is not is forgotten
  };
  // Before it, nothing is a second copy.
  void Join(Options options);

  // The chunk belongs to the fill unit (or file) that is placed by this hash.
  void Note(const Hash128& key, const Hash128& unit);
  // For each candidate, whether it is one.
  std::vector<bool> Among(const std::vector<storage::EvictionCandidate>& candidates);
  size_t noted_count() const;

 private:
  struct Place {
    Hash128 unit{};
    uint64_t epoch = 0;  // of the roster by which `second` holds
    bool second = false;
  };
  static constexpr size_t kSweptMin = 4096;

  void Sweep();  // the mutex is held

  mutable std::mutex mutex_;
  Options options_;
  std::unordered_map<Hash128, Place> places_;  // by key
  size_t swept_at_ = kSweptMin;  // places, when those of evicted chunks are forgotten
};

// Second copies first, each kind in the order of another policy. Others are kept this way
// only up to a share of all: a store that is full of first copies still has room for what
// its readers read.
class SecondCopiesFirst : public storage::EvictionPolicy {
 public:
  static constexpr double kKeptShare = 0.75;

  SecondCopiesFirst(std::unique_ptr<storage::EvictionPolicy> order,
                    std::shared_ptr<SecondCopies> copies)
      : order_(std::move(order)), copies_(std::move(copies)) {}
  void Order(std::vector<storage::EvictionCandidate>& candidates) const override;

 private:
  std::unique_ptr<storage::EvictionPolicy> order_;
  std::shared_ptr<SecondCopies> copies_;
};

}  // namespace forebay::node
