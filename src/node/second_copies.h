// Which chunks of this node's store are second copies: chunks of a cluster's dataset that
// another live member is the first to keep. They go before first copies when the store
// makes room, and first copies do not go for them as long as memory can be lent instead,
// so that the last copy in the cluster goes last (docs/adr/0023).
//
// By arithmetic over the newest roster, without asking anybody: a roster that is old, or
// a first member that has lost its copy, makes for a worse choice and nothing else.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
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

  // What a chunk belongs to.
  struct Origin {
    Hash128 unit{};  // the fill unit, or file, as it is placed
    Hash128 version{};
  };
  void Note(const Hash128& key, const Origin& origin);

  struct Copy {
    bool second = false;
    std::optional<Hash128> version{};  // none: of no dataset of the cluster
  };
  // Of each candidate.
  std::vector<Copy> Among(const std::vector<storage::EvictionCandidate>& candidates);
  bool IsSecond(const Hash128& key);
  size_t noted_count() const;

 private:
  struct Place {
    Origin origin{};
    uint64_t epoch = 0;  // of the roster by which `second` holds
    bool second = false;
  };
  static constexpr size_t kSweptMin = 4096;

  // The mutex is held.
  void Sweep();
  Copy CopyOf(const Hash128& key, const cluster::Roster& roster);

  mutable std::mutex mutex_;
  Options options_;
  std::unordered_map<Hash128, Place> places_;  // by key
  size_t swept_at_ = kSweptMin;  // places, when those of evicted chunks are forgotten
};

// Chunks of versions that are not in use go first, then second copies, then the rest,
// each kind in the order of another policy. For a second copy only the first two kinds
// go, and of second copies only those that are needed later than it, until there is no
// memory to lend: then first copies that are needed later go too.
class SecondCopiesFirst : public storage::EvictionPolicy {
 public:
  // A version is in use while any chunk of it was used within this time. Longer than
  // the pauses of a training job, whose validation set waits for the end of an epoch.
  static constexpr std::chrono::hours kIdleAfter{1};

  struct Options {
    std::unique_ptr<storage::EvictionPolicy> order{};
    std::shared_ptr<SecondCopies> copies{};
    // How many rows are read here before the chunk is needed, where a reader is known to.
    std::function<std::optional<uint64_t>(const Hash128& key)> rows_until{};
    const Clock* clock = &Clock::Real();
  };
  explicit SecondCopiesFirst(Options options) : options_(std::move(options)) {}

  void Order(std::vector<storage::EvictionCandidate>& candidates) const override;
  bool IsSecondCopy(const Hash128& key) const override {
    return options_.copies->IsSecond(key);
  }
  size_t OrderForSecondCopy(
      const Hash128& key,
      std::vector<storage::EvictionCandidate>& candidates) const override;

 private:
  enum class Kind : uint8_t { kIdle, kSecond, kFirst };

  std::vector<Kind> KindsOf(
      const std::vector<storage::EvictionCandidate>& candidates) const;

  const Options options_;
};

}  // namespace forebay::node
