// The store of a host: chunks by key in an ordered list of tiers.
//
// Correct with no lock between processes: chunks are immutable, get their name in one
// step, and a file another process unlinked is a miss. Every byte is verified when it is
// published and once per opened store, before a descriptor is first handed out, and never
// on later reads (docs/formats/store.md). Thread-safe; no lock is held over file work
// except by threads that evict.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/later_work.h"
#include "base/status.h"
#include "storage/borrowed_memory.h"
#include "storage/chunk.h"
#include "storage/chunk_writer.h"
#include "storage/reader_ledger.h"
#include "storage/store_options.h"
#include "storage/tier.h"
#include "storage/tier_index.h"

namespace forebay::storage {

struct ListedChunk {
  size_t tier = 0;
  ChunkName name;
  int64_t last_use_ns = 0;
};

class Store {
 public:
  // A directory that cannot be written (read-only, full) is opened for reading; one of a
  // newer format is kUnsupported; one that holds something else is kInvalid.
  static Result<std::unique_ptr<Store>> Open(StoreOptions options);
  ~Store();

  // kNotFound on a miss; a corrupt chunk is quarantined and is a miss. Sees what other
  // processes published since. kDeadline when another thread has not verified the chunk
  // by then.
  Result<Chunk> Get(const Hash128& key, Deadline deadline = Deadline::Never());
  // What this process knows without looking at the disk.
  bool Contains(const Hash128& key) const;
  std::optional<uint64_t> SizeOf(const Hash128& key) const;
  // Makes room first. A chunk that no tier can take is kept by its handles alone, in
  // borrowed memory (StoreStats::unkept); kFull when that is used up as well. Manifests
  // are never refused: nothing can be read without them, and there are few. A second copy
  // (EvictionPolicy) is kept in borrowed memory before other chunks go for it.
  Result<std::unique_ptr<ChunkWriter>> Create(const Hash128& key, model::ChunkKind kind,
                                              uint64_t size_estimate);
  Status Remove(const Hash128& key);

  // A process maps the chunk, until DropReader. Mapped chunks are evicted last, and their
  // bytes count until the last reader lets go.
  void AddReader(const Chunk& chunk);
  // The same, by a reader that may keep the chunk mapped for ever. kFull, and nothing is
  // added, if the chunk is borrowed and the budget has no room for one more besides those
  // that readers map: whoever needs one chunk at a time must not wait for such readers.
  Status AddKeepingReader(const Chunk& chunk);
  // The same of a chunk that an earlier node handed out.
  void AddReader(const Hash128& key, uint64_t size);
  void DropReader(const Hash128& key);
  // The fastest tier is nearly full: what readers keep mapped for later costs others.
  bool tight() const { return unkept_last_ || Excess(0, kTightShare) > 0; }
  // How much can be mapped of the store at once: what its local tiers can hold, or the
  // borrowed memory where all tiers are remote.
  uint64_t MappableBytes() const;
  // What all tiers together can hold.
  uint64_t CapacityBytes() const;

  // Copies the chunk to the next faster (slower) tier and drops it here. Nothing to do
  // when there is no such tier or it is there already; kFull when that tier has no room.
  Status Promote(const Hash128& key);
  Status Demote(const Hash128& key);

  // Evicts until every tier is below its high watermark and above its free-space floor;
  // returns how many chunks left.
  size_t Trim();
  // Removes what dead writers left behind and moves foreign files aside.
  SweepReport Sweep();
  // Hashes every chunk of every directory again, bad ones to quarantine. `done` hears of
  // each; it may be empty.
  VerifyReport VerifyAll(
      const std::function<void(const ListedChunk&, const Status&)>& done);
  void List(const std::function<void(const ListedChunk&)>& each);
  StoreStats Stats() const;

 private:
  friend class ChunkWriter;
  struct Shelf;  // a tier with its index and accounts
  struct Found {
    IndexEntry entry;
    bool must_verify = false;
  };

  explicit Store(StoreOptions options);
  Status OpenTiers();

  // store.cc: the read path.
  Result<Chunk> GetFrom(size_t tier, const Hash128& key, Deadline deadline);
  Result<Chunk> OpenFound(size_t tier, const Found& found);
  static bool SaysBad(const Shelf& shelf, const Status& status);
  Result<Found> LookUp(size_t tier, const Hash128& key, Deadline deadline);
  bool FindOnDisk(size_t tier, const Hash128& key);
  void EndVerification(size_t tier, const Found& found, bool good);
  Result<Chunk> ForReaders(size_t tier, const Chunk& chunk, Deadline deadline);
  Result<Chunk> CopyOfRemote(size_t tier, const Chunk& chunk, Deadline deadline);
  Result<Chunk> CheckedInPlace(const Chunk& chunk);
  void NoteUse(size_t tier, const Chunk& chunk, const ChunkName& name);
  bool Drop(size_t tier, const ChunkName& name);
  void Condemn(size_t tier, const ChunkName& name);
  std::optional<size_t> TierOf(const Hash128& key) const;  // the mutex is held
  std::optional<ChunkName> NameOf(size_t tier, const Hash128& key) const;

  // store_lending.cc: memory of the budget.
  std::optional<Chunk> FindBorrowed(const Hash128& key);
  Chunk Lend(Chunk chunk, BorrowedMemory::Loan loan);
  void AddReaderLocked(const Chunk& chunk);
  Status CheckRoomForOneMore(const Chunk& chunk) const;  // the mutex is held
  Status Borrow(uint64_t bytes, BorrowedMemory::Loan* loan);
  void RetainLent(const Chunk& chunk);
  bool DropOldestRetained();
  Result<Chunk> CopyToMemory(const Chunk& chunk);

  // store_room.cc: reserving, evicting, moving between tiers.
  enum class Level { kBelowHigh, kAboveHigh, kAboveQuota };
  // `copy` is null where room is made for a chunk that is no second copy.
  Result<Draft> OpenDraft(size_t tier, uint64_t reserve_bytes, const SecondCopy* copy);
  Status GrowReservation(size_t tier, uint64_t more_bytes, const SecondCopy* copy);
  void Unreserve(size_t tier, uint64_t bytes);
  void NoteWriteFailure(size_t tier, const Status& cause);
  void NoteUnkept(uint64_t size);
  void AddPublished(size_t tier, IndexEntry entry, uint64_t reserved_bytes);
  static constexpr milliseconds kSettleRest{2000};  // fills and readers come first
  void SettleLater(size_t tier, const ChunkName& name);
  Status MakeRoom(size_t tier, const SecondCopy* copy);
  void EvictToLow(size_t tier, const SecondCopy* copy);
  static constexpr double kTightShare = 0.9;
  uint64_t Excess(size_t tier, double share) const;
  uint64_t CapacityOf(size_t tier) const;
  void SetQuotaOfShare(size_t tier);
  Level LevelOf(size_t tier) const;
  bool ScanIsDue(size_t tier) const;
  bool HasUnscanned(size_t tier) const;
  bool CanMakeRoom(size_t tier) const;
  enum class Mapped { kNo, kYes };
  void EvictBytes(size_t tier, uint64_t bytes, Mapped mapped, const SecondCopy* copy);
  std::vector<EvictionCandidate> Victims(size_t tier, Mapped mapped,
                                         const SecondCopy* copy);
  void LearnLastUse(size_t tier, std::vector<EvictionCandidate>& candidates);
  bool WasUsedElsewhere(size_t tier, const EvictionCandidate& victim);
  void EvictOne(size_t tier, const Hash128& key);
  bool DemoteBeforeEviction(size_t tier, const Hash128& key);
  Status CopyToTier(size_t from, size_t to, const Hash128& key,
                    Deadline deadline = Deadline::Never());
  Status Move(const Hash128& key, int step);

  // store_upkeep.cc
  uint64_t Rescan(size_t tier);  // returns how many foreign files it moved

  StoreOptions options_;
  std::unique_ptr<Tier> memory_;  // takes what no tier can…
  BorrowedMemory budget_;         // …within this
  std::vector<std::unique_ptr<Shelf>> shelves_;

  mutable std::mutex mutex_;  // guards what follows and each shelf's index and accounts
  ReaderLedger ledger_;
  std::unordered_set<Hash128> verifying_;
  struct Borrowed {
    Chunk chunk;                                  // without its descriptor
    std::weak_ptr<const UniqueFd> fd;             // while a handle lives…
    std::shared_ptr<const UniqueFd> for_readers;  // …or a reader maps it
  };
  std::unordered_map<Hash128, Borrowed> borrowed_;
  // Second copies that no tier took, oldest first: readers that said they will need them
  // come for them soon. They go when the memory is needed.
  std::deque<std::shared_ptr<const UniqueFd>> retained_;
  uint64_t largest_loan_bytes_ = 0;  // that was asked for
  std::condition_variable verified_;
  StoreStats stats_;
  std::atomic<bool> unkept_last_{false};  // no tier took the latest chunk
  LaterWork settling_{kSettleRest};       // ends first: it works on all of the above
};

}  // namespace forebay::storage
