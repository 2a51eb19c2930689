// The other nodes of a cluster as a fill sees them: a seam, since they live above.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/unique_fd.h"
#include "cache/file_fill.h"
#include "cache/fill.h"

namespace forebay::cache {

struct FileRequest {
  const FilesVersion* version = nullptr;
  model::ChunkRef ref{};
  storage::Store* store = nullptr;
  Deadline deadline = Deadline::Never();
};

// What the rows that one reader waits for may take together, those that are still coming
// counted. Thread-safe.
class RowBudget {
 public:
  explicit RowBudget(uint64_t bytes) : left_(bytes) {}

  // False, and nothing taken, where there is not so much left.
  bool Take(uint64_t bytes) {
    uint64_t left = left_;
    while (left >= bytes) {
      if (left_.compare_exchange_weak(left, left - bytes)) return true;
    }
    return false;
  }
  void Give(uint64_t bytes) { left_ += bytes; }

 private:
  std::atomic<uint64_t> left_;
};

// Rows of a view by number, in this order.
struct RowRequest {
  View view;
  std::vector<uint64_t> rows;
  storage::Store* store = nullptr;  // what is there need not be brought
  Deadline deadline = Deadline::Never();
  std::stop_token stop{};
  // What the parts take; nullptr: nobody counts. Whoever gets the rows gives it back.
  RowBudget* budget = nullptr;
};

// Rows that peers gathered: each part is a chunk (docs/formats/chunk.md) with all columns
// of the view, and has its rows in the order in which they were asked for.
struct GatheredRows {
  static constexpr uint32_t kInChunks = 0xFFFFFFFF;
  struct Part {
    UniqueFd fd;
    uint64_t size = 0;
  };
  std::vector<uint32_t> part_of;  // of each row; kInChunks: better read from its chunks
  std::vector<Part> parts;
};

// Thread-safe.
class Peers {
 public:
  virtual ~Peers() = default;
  // Publishes what peers have of a unit, or fill for us, and tells context.on_chunk of
  // it. Returns the chunks that did not come, sorted by range: they are the source's. An
  // error ends the fill, since the source would say the same: no permission, a changed
  // object.
  virtual Result<std::vector<FillChunk>> Bring(const FillRequest& request,
                                               const FillContext& context) = 0;
  // The same of one chunk of a tree of files; nullopt: it is the source's.
  virtual Result<std::optional<FileFilled>> BringFile(const FileRequest&) {
    return std::optional<FileFilled>();
  }
  // Whether Bring may wait until another node has filled the unit: such jobs must not
  // keep those waiting that others wait for.
  virtual bool WaitsForFills(const Hash128&) const { return false; }
  // Rows that are needed soon, where their chunks are not. What no peer gave is
  // kInChunks.
  virtual Result<GatheredRows> Gather(const RowRequest& request) {
    return GatheredRows{
        .part_of = std::vector<uint32_t>(request.rows.size(), GatheredRows::kInChunks),
        .parts = {}};
  }
  // What all nodes together can hold of such a version; 0: not known.
  virtual uint64_t RoomBytes() { return 0; }
};

}  // namespace forebay::cache
