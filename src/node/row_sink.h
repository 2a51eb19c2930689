// Takes one chunk of gathered rows into memory that a reader can map.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "flight/peer_client.h"
#include "node/silence.h"

namespace forebay::node {

class RowSink : public flight::ChunkSink {
 public:
  explicit RowSink(Silence* silence) : silence_(silence) {}

  Status Begin(const Chunk& chunk) override;
  Status Append(const void* data, size_t size) override;
  Status End() override;
  void Heard() override { silence_->Heard(); }
  void WillBeSilent() override { silence_->Expect(); }

  UniqueFd TakeFd() { return std::move(fd_); }
  uint64_t size() const { return size_; }

 private:
  Silence* silence_;
  UniqueFd fd_;
  uint64_t size_ = 0;
  uint64_t written_ = 0;
};

}  // namespace forebay::node
