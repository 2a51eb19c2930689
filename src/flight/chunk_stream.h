// Chunks on their way to a peer: the bytes as they are mapped, cut into messages.
#pragma once

#include <arrow/flight/server.h>

#include <functional>
#include <memory>
#include <string>

#include "flight/chunk_provider.h"

namespace forebay::flight {

// What goes before the bytes of each chunk, as app_metadata.
struct ChunkHeader {
  uint32_t index = 0;  // in the request's refs
  uint64_t size = 0;
  Hash128 key{};
  Hash128 checksum{};

  std::string Encode() const;
  static Result<ChunkHeader> Decode(std::string_view bytes);
};

std::shared_ptr<arrow::Schema> ChunkBytesSchema();

// The stream of `count` chunks. `ended` tells that the client has gone.
std::unique_ptr<arrow::flight::FlightDataStream> MakeChunkStream(
    std::unique_ptr<ServedChunks> chunks, size_t count, std::function<bool()> ended);

}  // namespace forebay::flight
