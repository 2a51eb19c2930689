// Takes one chunk of gathered rows into memory that a reader can map. kCorrupt where the
// bytes are not those that the peer sent.
#pragma once

#include <cstdint>
#include <limits>

#include "base/hash.h"
#include "base/unique_fd.h"
#include "cache/peers.h"
#include "node/peers/watched_sink.h"

namespace forebay::node {

class RowSink : public WatchedSink {
 public:
  struct Limits {
    // What the rows can be; more is not what was asked for.
    uint64_t bytes = std::numeric_limits<uint64_t>::max();
    cache::RowBudget* budget = nullptr;  // taken from when they begin to come
  };
  // All must outlive this.
  RowSink(PeerSigns* signs, Limits limits) : WatchedSink(signs), limits_(limits) {}
  ~RowSink() override;

  // With it go the bytes that were taken from the budget.
  UniqueFd TakeFd();
  uint64_t size() const { return size_; }

 private:
  Status Open(const Chunk& chunk) override;
  Status Take(const void* data, size_t size) override;
  Status Close() override;

  const Limits limits_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  Hash128 checksum_{};  // that the peer announced
  Hasher hasher_;       // of what came
  uint64_t written_ = 0;
  uint64_t budgeted_ = 0;
};

}  // namespace forebay::node
