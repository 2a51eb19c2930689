// A pinned version of a table, ready to be filled and read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/chunk.h"
#include "model/manifest.h"
#include "source/source.h"
#include "storage/store.h"

namespace forebay::cache {

class Peers;

struct Version {
  std::string uri;
  std::shared_ptr<const model::Manifest> manifest;
  std::shared_ptr<source::Source> source;
  storage::Chunk manifest_chunk;       // what readers are handed
  std::shared_ptr<Peers> peers{};      // null: this node is alone with the source
  std::vector<std::string> columns{};  // for readers who name none; empty: all
};

// A version seen through a projection: what chunks are asked for in.
struct View {
  std::shared_ptr<const Version> version;
  model::Projection columns;

  const model::Manifest& manifest() const { return *version->manifest; }
  Hash128 Key(model::ChunkRef ref) const {
    return model::ChunkKey(manifest(), ref, columns);
  }
};

}  // namespace forebay::cache
