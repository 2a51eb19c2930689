// Brings the bytes of one chunk of files from the source into the store.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "cache/files_version.h"
#include "cache/fill.h"
#include "cache/fill_buffer.h"
#include "storage/store.h"

namespace forebay::cache {

struct FileFillContext {
  storage::Store* store = nullptr;
  ThreadPool* ranges = nullptr;   // reads of parts of a large object
  ThreadPool* objects = nullptr;  // reads of small objects, hundreds at once
  FileMemory memory{};
  Deadline deadline = Deadline::Never();
  // Somebody waits for it now: several requests at once, rather than few copies.
  bool hurried = false;
};

struct FileFilled {
  storage::Chunk chunk;
  FillTimes times;
};

// The memory that such a fill takes.
uint64_t FillBytes(const FilesVersion& version, model::ChunkRef ref, bool hurried);

// One request per object, or one per 8 MiB of a large one. An extent that nobody waits
// for yet comes by one request, and its bytes go to the store as they arrive. An object
// that is no longer the pinned one is kChanged, by name, and nothing is stored.
Result<FileFilled> FillFileChunk(const FilesVersion& version, model::ChunkRef ref,
                                 const FileFillContext& context);

}  // namespace forebay::cache
