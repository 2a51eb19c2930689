// How fast bytes came from peers lately. Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace forebay::node {

class PeerRates {
 public:
  // At or above this a peer is never slow: a chunk of the usual size takes 2 s.
  static constexpr uint64_t kEnough = uint64_t{8} << 20;  // bytes a second
  // What is taken for usual until this many were measured.
  static constexpr uint64_t kUsualAtFirst = uint64_t{4} << 20;
  static constexpr size_t kFew = 8;

  // Of a transfer, or of part of one that lasts. Slow ones count too: where all are slow,
  // none is.
  void Record(uint64_t bytes_per_s);
  // Far below the median of recent ones.
  bool IsSlow(uint64_t bytes_per_s) const;

 private:
  static constexpr uint64_t kFar = 16;

  mutable std::mutex mutex_;
  std::array<uint64_t, 64> recent_{};
  size_t count_ = 0;
};

}  // namespace forebay::node
