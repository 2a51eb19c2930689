// A table version as this host's node serves it: the manifest, and chunks mapped on
// demand. Goes on when the node dies (the next one is found or started and told the same
// version) and in a forked child. Thread-safe; one request at a time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/chunk.h"
#include "model/manifest.h"
#include "plan/order.h"
#include "reader/copy_helper.h"
#include "reader/mapped_chunk.h"
#include "reader/node_link.h"

namespace forebay::reader {

struct OpenOptions {
  NodeOptions node;
  std::map<std::string, std::string> source;        // "s3.endpoint", …
  milliseconds timeout = std::chrono::minutes(10);  // of every call that may wait
};

class RemoteTable {
 public:
  static Result<std::shared_ptr<RemoteTable>> Open(const std::string& uri,
                                                   OpenOptions options);
  // The same version on a connection of its own, for whoever must not wait while this one
  // waits. Nothing is listed again.
  Result<std::shared_ptr<RemoteTable>> Again() const;

  const std::string& uri() const { return uri_; }
  const std::shared_ptr<const model::Manifest>& manifest() const { return manifest_; }
  // For who names none; empty: all.
  const std::vector<std::string>& shown_columns() const { return shown_columns_; }
  milliseconds timeout() const { return options_.timeout; }
  CopyHelper* copy_helper() { return &copy_helper_; }

  // A number for a projection, the same for the same one.
  uint32_t ViewOf(const model::Projection& columns);

  // Where the time of a call went; added to what is there.
  struct Times {
    std::chrono::nanoseconds store{0};   // chunks that were there
    std::chrono::nanoseconds peer{0};    // fills: from another node
    std::chrono::nanoseconds source{0};  // fills: reading
    std::chrono::nanoseconds decode{0};  // fills: decoding and storing

    std::chrono::nanoseconds total() const { return store + peer + source + decode; }
    Times& operator+=(const Times& other);
  };
  struct MapOptions {
    Mapping::Mode mode = Mapping::Mode::kShared;
    Borrowed borrowed = Borrowed::kMap;
  };
  // The chunks in the order of `refs`. Shared mappings are kept and shared; private ones
  // (writable by their holder alone) and copies are made on each call.
  using ChunkPtr = std::shared_ptr<const MappedChunk>;
  Result<std::vector<ChunkPtr>> Acquire(uint32_t view,
                                        std::span<const model::ChunkRef> refs,
                                        MapOptions map, Times* times = nullptr);
  // After kFull: the same one chunk at a time, each copied if it is borrowed, so that
  // this holds no memory of the budget while it asks for more. Asks again for 30 s
  // or more while other readers have theirs; kFull after that.
  Result<std::vector<ChunkPtr>> AcquireOneByOne(uint32_t view,
                                                std::span<const model::ChunkRef> refs,
                                                Mapping::Mode mode,
                                                Times* times = nullptr);
  // Tells the node which order the reader of a view follows, now and after a node died.
  void Follow(uint32_t view, const plan::Order::Options& order, uint64_t position);
  // The node has no room to spare: keep nothing mapped for later.
  bool tight();
  // Lets go of mappings of a view that nobody uses now.
  void ForgetUnused(uint32_t view);

  // Hints, never waits and never fails.
  void Want(uint32_t view, std::span<const model::ChunkRef> refs);
  void ReportProgress(uint32_t view, uint64_t position, uint64_t position_count);

  // What this node, and its cluster, can hold of a view's version.
  Result<wire::Room> Room(uint32_t view);
  // Whether all rows of a view can be mapped at once, as far as its schema tells.
  Result<bool> Fits(uint32_t view);
  // Whether the rows of a global order come one by one from the node's peers, since the
  // node itself has no room for all of them and its cluster has.
  Result<bool> Gathers(uint32_t view);
  // They do from now on: whoever says so knows more about sizes than the schema tells.
  void SetGathers(uint32_t view);

  // Rows that the node's peers gather ahead of need.
  struct GatherTicket {
    uint64_t number = 0;
    uint64_t generation = 0;  // of the connection that was told
  };
  struct RowParts {
    std::vector<uint32_t> part_of;  // of each row; wire::kRowInChunks: none has it
    std::vector<ChunkPtr> parts;    // with all columns of the view, rows in order
  };
  // A hint, at most wire::kGatherRowsMax rows.
  GatherTicket Gather(uint32_t view, std::span<const uint64_t> rows);
  // The rows of a ticket; a node that does not know it is told again.
  Result<RowParts> TakeGathered(uint32_t view, GatherTicket ticket,
                                std::span<const uint64_t> rows);
  void DropGathered(std::span<const GatherTicket> tickets);

  // Tells the node of unmapped chunks, unless a request is under way. Never waits long.
  void TellUnmappedIfIdle();
  // To be called between batches: hears of evictions, tells of unmapped chunks. Returns
  // how many evictions were heard of so far.
  uint64_t Poll();

  Result<wire::WarmupState> Warmup(
      uint32_t view, const std::function<void(const wire::WarmupState&)>& report);
  Result<wire::Coverage> Coverage(uint32_t view);
  Result<uint32_t> NodePid();
  // The node's, as model/store_spec.h writes it.
  Result<std::string> Store();

 private:
  struct View {
    model::Projection columns;
    uint64_t generation = 0;  // of the connection that knows it as `id`
    uint32_t id = 0;
    std::unordered_map<model::ChunkRef, std::shared_ptr<MappedChunk>> mapped;
    std::optional<wire::Follow> follow;
    std::optional<bool> gathers;
    // Of the fills that the last Fetch waited for.
    wire::FillTimes slowest{};  // of the chunks that are waited for
  };

  RemoteTable(std::string uri, OpenOptions options);
  void CheckFork();
  Status OpenFirst();
  Status OpenOnNode(Deadline deadline);
  Status EnsureView(View& view, Deadline deadline);
  Status TellHeld(View& view, Deadline deadline);
  Status Fetch(View& view, std::span<const model::ChunkRef> refs, MapOptions map,
               Deadline deadline, std::vector<std::shared_ptr<MappedChunk>>* out);
  Result<std::shared_ptr<MappedChunk>> MapChunk(const View& view,
                                                const wire::ChunkHandle& handle, int fd,
                                                MapOptions map);
  // Runs `attempt` on a connection that knows the view; again on a new one when the node
  // went away meanwhile, until the deadline.
  Status WithNode(View& view, Deadline deadline, const std::function<Status()>& attempt);
  static Times TimesOf(const wire::FillTimes& fill, std::chrono::nanoseconds waited);
  Result<wire::Room> AskRoom(View& view, Deadline deadline);
  Status SendGather(const View& view, uint64_t ticket, std::span<const uint64_t> rows,
                    Deadline deadline);
  Status ReceiveGathered(const View& view, uint64_t ticket, Deadline deadline,
                         RowParts* out);
  Status MapParts(const View& view, const Answer& answer, size_t first_fd, RowParts* out);
  void OnEvicted(const wire::Evicted& evicted);
  void Keep(View& view, const std::shared_ptr<MappedChunk>& chunk);
  void TellUnmapped();

  const std::string uri_;
  const OpenOptions options_;
  std::shared_ptr<const model::Manifest> manifest_;
  UniqueFd manifest_fd_;
  std::vector<std::string> shown_columns_;
  CopyHelper copy_helper_;

  std::mutex mutex_;  // of all below
  pid_t pid_;
  NodeLink link_;
  uint64_t opened_generation_ = 0;
  uint32_t dataset_id_ = 0;
  std::vector<std::unique_ptr<View>> views_;
  uint64_t next_ticket_ = 1;
  uint64_t evictions_ = 0;
  bool tight_ = false;
  std::shared_ptr<Unmapped> unmapped_;
};

}  // namespace forebay::reader
