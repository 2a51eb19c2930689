// A sink of what a peer sends that hears what there is to hear of the peer itself.
#pragma once

#include "flight/peer_client.h"
#include "node/peers/peer_signs.h"

namespace forebay::node {

class WatchedSink : public flight::ChunkSink {
 public:
  explicit WatchedSink(PeerSigns* signs) : signs_(*signs) {}

  Status Begin(const Chunk& chunk) final {
    PeerSigns::OwnTime busy(&signs_);
    FB_RETURN_NOT_OK(Open(chunk));
    signs_.BodyBegins();
    return Status::OK();
  }
  Status Append(const void* data, size_t size) final {
    PeerSigns::OwnTime busy(&signs_);
    FB_RETURN_NOT_OK(Take(data, size));
    signs_.Took(size);
    return Status::OK();
  }
  Status End() final {
    PeerSigns::OwnTime busy(&signs_);
    signs_.BodyEnds();
    return Close();
  }
  void Heard() final { signs_.Heard(); }
  void WillBeSilent() final { signs_.Expect(); }

 private:
  // As Begin, Append and End.
  virtual Status Open(const Chunk& chunk) = 0;
  virtual Status Take(const void* data, size_t size) = 0;
  virtual Status Close() = 0;

  PeerSigns& signs_;
};

}  // namespace forebay::node
