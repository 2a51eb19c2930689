// When chunks are needed next: what readers said about the orders they follow, and the
// eviction that goes by it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cache/fill_queue.h"
#include "cache/version.h"
#include "plan/look_ahead.h"
#include "storage/eviction_policy.h"

namespace forebay::cache {

// Thread-safe.
class NextUse {
 public:
  // A reader goes through a view in this order from this position on; its next epoch is
  // expected to follow. Replaces what the client said of the view before.
  Status Follow(ClientId client, const View& view, plan::Order::Options order,
                uint64_t position);
  // The client is at this position of its order of the view.
  void Advance(ClientId client, const View& view, uint64_t position);
  void Forget(ClientId client);

  // How many rows are read before the chunk is needed, by the reader that is next;
  // nothing where no reader is known to need it.
  std::optional<uint64_t> RowsUntil(const Hash128& key) const;
  // The same for many, under one lock.
  std::vector<std::optional<uint64_t>> RowsUntil(
      const std::vector<storage::EvictionCandidate>& candidates) const;

 private:
  struct Follower {
    plan::LookAhead ahead;
    uint64_t position = 0;
  };
  // The chunks of a view, and who reads them.
  struct Track {
    std::unordered_map<Hash128, uint32_t> range_of;
    std::map<ClientId, Follower> followers;
  };
  using TrackKey = std::pair<Hash128, model::Projection>;  // version, columns

  static TrackKey KeyOf(const View& view) {
    return {view.manifest().version(), view.columns};
  }
  std::optional<uint64_t> RowsUntilLocked(const Hash128& key) const;

  mutable std::mutex mutex_;
  std::map<TrackKey, Track> tracks_;
};

// What nobody is known to need goes first, the least recently used of it before the rest;
// then what is needed last.
class FarthestNextUse : public storage::EvictionPolicy {
 public:
  explicit FarthestNextUse(std::shared_ptr<const NextUse> next_use)
      : next_use_(std::move(next_use)) {}
  void Order(std::vector<storage::EvictionCandidate>& candidates) const override;

 private:
  std::shared_ptr<const NextUse> next_use_;
};

}  // namespace forebay::cache
