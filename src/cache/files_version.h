// A pinned version of a tree of files, ready to be filled and read.
#pragma once

#include <memory>
#include <string>

#include "model/files_manifest.h"
#include "source/source.h"
#include "storage/chunk.h"

namespace forebay::cache {

class Peers;

struct FilesVersion {
  std::string uri;
  std::shared_ptr<const model::FilesManifest> manifest;
  std::shared_ptr<source::Source> source;
  storage::Chunk manifest_chunk;  // what readers are handed
  // The state before, where one was seen: a pack that changed is made of what is left of
  // the old one, and only new files are read.
  std::shared_ptr<const model::FilesManifest> previous;
  std::shared_ptr<Peers> peers;  // in a cluster

  Hash128 Key(model::ChunkRef ref) const { return model::FileChunkKey(*manifest, ref); }
};

}  // namespace forebay::cache
