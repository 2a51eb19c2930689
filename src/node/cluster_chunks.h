// Chunks of one fill from peers: from whoever of a unit's route has them or fills for us.
// A member that fails is replaced by the next; one that is silent, or far slower than
// others, is hedged: the next ones are asked for what they have stored too, and after a
// longer time to fill.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

#include "node/cluster_peers.h"

namespace forebay::node {

// Chunks of a table's unit or of a tree of files that this node lacks.
struct WantedChunks {
  struct Wanted {
    model::ChunkRef ref;
    Hash128 key;
    std::optional<uint64_t> size{};  // where that is known before it comes
  };
  flight::ChunkRequest request{};  // but for what is asked of whom
  std::vector<Wanted> chunks{};
  Hash128 unit{};  // whose route it is
  model::ChunkKind kind = model::ChunkKind::kTable;
  storage::Store* store = nullptr;
  Deadline deadline = Deadline::Never();
  // Hears of each chunk, by its index, once it is stored.
  std::function<void(size_t, storage::Chunk, cache::FillTimes)> on_chunk{};
};

class ClusterChunks {
 public:
  // Both must outlive this.
  ClusterChunks(const ClusterPeers* peers, const WantedChunks* wanted);
  ~ClusterChunks();

  // Indices of the chunks that did not come. An error is what the source would say too,
  // or kFull: this node has no room for what came.
  Result<std::vector<size_t>> Run();

 private:
  struct Leg;  // one question to one member
  class StoringSink;
  struct Candidate {
    ClusterPeers::Candidate who;
    bool probed = false;  // was asked for what it has stored
    bool asked = false;   // to fill too, where it may
  };
  enum class Rights { kStored, kAll };

  void NoteOrigins();
  // One look at how the legs are; false once nothing is left to wait for.
  bool Advance();
  bool StartNext(Rights rights);
  void Start(Candidate& candidate, Rights rights);
  void Ask(Leg& leg);
  Status Fetch(Leg& leg);
  void Came(size_t index, storage::Chunk chunk, std::chrono::nanoseconds took);
  void Judge(Leg& leg);
  void MakeRoomFor(const Leg& leg);
  bool InTrouble(const Leg& leg, milliseconds time) const;
  bool AllInTrouble(milliseconds time) const;
  bool AllCame() const;
  Result<std::vector<size_t>> Finish(std::unique_lock<std::mutex>& lock);

  const ClusterPeers& peers_;
  const WantedChunks& wanted_;
  Cluster& cluster_;
  std::vector<Candidate> candidates_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<uint8_t> came_;
  std::list<Leg> legs_;
  size_t running_ = 0;
  bool let_down_ = false;
  Status final_;
};

}  // namespace forebay::node
