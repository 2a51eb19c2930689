// Chunks of made-up bytes, for tests and benches.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "flight/chunk_provider.h"
#include "flight/peer_client.h"

namespace forebay::flight {

inline ServedChunk MakeFakeChunk(const std::string& bytes) {
  auto fd = std::make_shared<UniqueFd>(::memfd_create("fake-chunk", MFD_CLOEXEC));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::write(fd->get(), bytes.data() + done, bytes.size() - done);
    FB_CHECK(n > 0);
    done += static_cast<size_t>(n);
  }
  return {.key = HashBytes(bytes), .size = bytes.size(), .checksum = {}, .fd = fd};
}

// The i-th ref of a request gets the chunk with the number of its range. Ranges past the
// end are not found; the range `stuck`, if any, never comes.
class FakeChunks : public ChunkProvider {
 public:
  explicit FakeChunks(std::vector<ServedChunk> chunks) : chunks_(std::move(chunks)) {}

  uint32_t stuck = ~0U;
  std::atomic<uint32_t> cancelled{0};

  Result<std::unique_ptr<ServedChunks>> Serve(const ChunkRequest& request) override {
    std::unique_ptr<ServedChunks> served = std::make_unique<Served>(this, request);
    return served;
  }

 private:
  class Served : public ServedChunks {
   public:
    Served(FakeChunks* fake, ChunkRequest request)
        : fake_(fake), request_(std::move(request)) {}
    Result<ServedChunk> At(size_t i, const std::function<bool()>& ended) override {
      uint32_t range = request_.refs[i].range;
      while (range == fake_->stuck) {
        if (!ended()) {
          ::usleep(1000);
          continue;
        }
        ++fake_->cancelled;
        return Status::Cancelled("nobody waits any more");
      }
      if (range < fake_->chunks_.size()) return fake_->chunks_[range];
      return Status::NotFound("there is no such chunk here");
    }

   private:
    FakeChunks* fake_;
    ChunkRequest request_;
  };
  std::vector<ServedChunk> chunks_;
};

// Keeps what it is given.
class KeptChunks : public ChunkSink {
 public:
  std::vector<Chunk> headers;
  std::vector<std::string> bytes;
  size_t ended = 0;
  size_t heard = 0;
  bool silent = false;

  void Heard() override { ++heard; }
  void WillBeSilent() override { silent = true; }
  Status Begin(const Chunk& chunk) override {
    headers.push_back(chunk);
    bytes.emplace_back();
    bytes.back().reserve(chunk.size);
    return Status::OK();
  }
  Status Append(const void* data, size_t size) override {
    bytes.back().append(static_cast<const char*>(data), size);
    return Status::OK();
  }
  Status End() override {
    ++ended;
    return Status::OK();
  }
};

}  // namespace forebay::flight
