// How the store makes room: reserve, announce, look, evict.
//
// A draft's room is reserved in this process and announced to others by its temp name
// before anybody looks how full the tier is, so of several processes that take the last
// room at once, at least the last one sees all of them.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "storage/file_io.h"
#include "storage/store.h"
#include "storage/store_shelf.h"

namespace forebay::storage {
namespace {

// Of the room a scan found free this process may take one share before it scans again, so
// that this many processes together stay below the quota.
constexpr uint64_t kScanShare = 8;
// Freed space shows late on some file systems: measure again this often at most.
constexpr int kEvictRoundsMax = 3;
// Of a disk that is full when the store is opened, so that the store can be used once it
// is not; until then the free-space floor keeps chunks out.
constexpr uint64_t kShareQuotaMin = 64 * kMiB;
// Room for chunks below their limit in number is made in steps of one in this many.
constexpr uint64_t kCountShare = 16;

}  // namespace

Result<Draft> Store::OpenDraft(size_t tier, uint64_t reserve_bytes,
                               const SecondCopy* copy) {
  Shelf& shelf = *shelves_[tier];
  if (shelf.quota_bytes() != 0 && reserve_bytes > shelf.quota_bytes()) {
    return Status::Full(fmt::format("a chunk of {} does not fit a tier of {}",
                                    FormatSize(reserve_bytes),
                                    FormatSize(shelf.quota_bytes())));
  }
  {
    std::lock_guard lock(mutex_);
    shelf.reserved_bytes += reserve_bytes;
    shelf.unscanned_bytes += reserve_bytes;
    ++shelf.draft_count;
  }
  auto draft = shelf.tier->NewDraft(reserve_bytes);
  Status room = draft.ok() ? MakeRoom(tier, copy) : draft.status();
  if (room.ok()) return draft;
  Unreserve(tier, reserve_bytes);
  // What others must not go for is no failure of the tier.
  if (copy == nullptr || copy->evicts_all) NoteWriteFailure(tier, room);
  return room;
}

Status Store::GrowReservation(size_t tier, uint64_t more_bytes, const SecondCopy* copy) {
  Shelf& shelf = *shelves_[tier];
  {
    std::lock_guard lock(mutex_);
    shelf.reserved_bytes += more_bytes;
    shelf.unscanned_bytes += more_bytes;
  }
  Status room = MakeRoom(tier, copy);
  if (room.ok()) return room;
  std::lock_guard lock(mutex_);
  shelf.reserved_bytes -= more_bytes;
  return room;
}

void Store::Unreserve(size_t tier, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  shelves_[tier]->reserved_bytes -= bytes;
  --shelves_[tier]->draft_count;
}

void Store::NoteWriteFailure(size_t tier, const Status& cause) {
  std::lock_guard lock(mutex_);
  shelves_[tier]->write_status = cause;
}

void Store::NoteUnkept(uint64_t size) {
  std::lock_guard lock(mutex_);
  ++stats_.unkept;
  unkept_last_ = true;
  stats_.unkept_bytes += size;
}

void Store::AddPublished(size_t tier, IndexEntry entry, uint64_t reserved_bytes) {
  Shelf& shelf = *shelves_[tier];
  ChunkName name = entry.name;
  std::optional<IndexEntry> old;
  {
    std::lock_guard lock(mutex_);
    shelf.index.Pardon(name);
    old = shelf.index.Put(std::move(entry));
    if (old) ledger_.OnRemoved(name.key, tier);
    shelf.reserved_bytes -= reserved_bytes;
    --shelf.draft_count;
    shelf.write_status = Status::OK();
    ++stats_.published;
    unkept_last_ = false;
  }
  if (!old) return;
  if (old->name != name) (void)shelf.tier->Unlink(old->name);
  if (options_.on_evict) options_.on_evict(name.key);
}

// What the disk did not take can still be read, but only while the page cache holds it:
// it is given up, and readers are told to let go of it.
void Store::SettleLater(size_t tier, const ChunkName& name) {
  if (!shelves_[tier]->tier->settles_later()) return;
  settling_.Add(name.size, [this, tier, name] {
    if (NameOf(tier, name.key) != name) return;  // evicted meanwhile
    // Opened now: many wait, and descriptors are few.
    auto fd = shelves_[tier]->tier->Open(name);
    if (!fd.ok()) return;
    Status settled = shelves_[tier]->tier->Settle(name, *fd);
    if (settled.ok()) return;
    spdlog::warn("a chunk is given up, as its disk failed: {}", settled.ToString());
    NoteWriteFailure(tier, settled);
    (void)shelves_[tier]->tier->Unlink(name);
    Drop(tier, name);
  });
}

// The bytes that must go for the tier to be below this share of its quota and above its
// free-space floor.
uint64_t Store::Excess(size_t tier, double share) const {
  const Shelf& shelf = *shelves_[tier];
  uint64_t free = shelf.tier->free_bytes();
  std::lock_guard lock(mutex_);
  uint64_t excess = 0;
  if (shelf.quota_bytes() != 0) {
    auto limit = static_cast<uint64_t>(share * static_cast<double>(shelf.quota_bytes()));
    uint64_t used = shelf.committed_bytes() + ledger_.evicted_bytes(tier);
    excess = used > limit ? used - limit : 0;
  }
  uint64_t wanted_free = shelf.tier->free_floor_bytes() + shelf.reserved_bytes;
  if (free < wanted_free) excess = std::max(excess, wanted_free - free);
  uint64_t count = shelf.index.count() + shelf.draft_count;
  uint64_t count_max = shelf.tier->chunk_count_max();
  if (count > count_max) {
    uint64_t average = shelf.index.bytes() / std::max<uint64_t>(1, shelf.index.count());
    excess =
        std::max(excess, (average + 1) * (count - count_max + count_max / kCountShare));
  }
  return excess;
}

uint64_t Store::CapacityOf(size_t tier) const {
  const Shelf& shelf = *shelves_[tier];
  uint64_t free = shelf.tier->free_bytes();
  uint64_t floor = shelf.tier->free_floor_bytes();
  uint64_t room = free > floor ? free - floor : 0;
  uint64_t quota = shelf.quota_bytes() != 0 ? shelf.quota_bytes() : UINT64_MAX;
  std::lock_guard lock(mutex_);
  uint64_t used = shelf.index.bytes() + ledger_.evicted_bytes(tier);
  return room > quota - std::min(used, quota) ? quota : used + room;
}

// A quota that is a share becomes bytes once, when the store is opened: a limit that
// moved with what others write would evict for no reason of ours.
void Store::SetQuotaOfShare(size_t tier) {
  model::TierSpec& spec = shelves_[tier]->options.spec;
  if (spec.quota_percent == 0 || spec.quota_bytes != 0) return;
  uint64_t bytes = CapacityOf(tier) / 100 * spec.quota_percent;
  spec.quota_bytes = std::max(bytes, kShareQuotaMin);
}

uint64_t Store::CapacityBytes() const {
  uint64_t sum = 0;
  for (size_t tier = 0; tier < shelves_.size(); ++tier) sum += CapacityOf(tier);
  return sum;
}

uint64_t Store::MappableBytes() const {
  uint64_t sum = 0;
  bool any = false;
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    if (shelves_[tier]->remote) continue;
    sum += CapacityOf(tier);
    any = true;
  }
  return any ? sum : budget_.bytes_max();
}

Store::Level Store::LevelOf(size_t tier) const {
  if (Excess(tier, 1.0) > 0) return Level::kAboveQuota;
  bool above = Excess(tier, shelves_[tier]->options.high_watermark) > 0;
  return above ? Level::kAboveHigh : Level::kBelowHigh;
}

bool Store::ScanIsDue(size_t tier) const {
  const Shelf& shelf = *shelves_[tier];
  if (!shelf.tier->shared() || shelf.quota_bytes() == 0) return false;
  std::lock_guard lock(mutex_);
  uint64_t used = shelf.committed_bytes() + ledger_.evicted_bytes(tier);
  uint64_t headroom = shelf.quota_bytes() - std::min(used, shelf.quota_bytes());
  return shelf.unscanned_bytes > headroom / kScanShare;
}

bool Store::HasUnscanned(size_t tier) const {
  std::lock_guard lock(mutex_);
  return shelves_[tier]->unscanned_bytes > 0;
}

// kFull when the tier stays above its quota or below its floor.
Status Store::MakeRoom(size_t tier, const SecondCopy* copy) {
  Shelf& shelf = *shelves_[tier];
  if (ScanIsDue(tier)) Rescan(tier);
  Level level = LevelOf(tier);
  if (level == Level::kBelowHigh) return Status::OK();
  std::unique_lock evicting(shelf.evicting, std::defer_lock);
  if (level == Level::kAboveQuota) {
    evicting.lock();
  } else if (!evicting.try_lock()) {
    return Status::OK();  // it fits, and another thread is at it
  }
  if (HasUnscanned(tier)) Rescan(tier);
  EvictToLow(tier, copy);
  if (Excess(tier, 1.0) == 0) return Status::OK();
  return Status::Full(fmt::format(
      "the tier {}:{} has no room; give it a larger quota or free space on its disk",
      model::MediumName(shelf.options.spec.medium), shelf.options.spec.path));
}

void Store::EvictToLow(size_t tier, const SecondCopy* copy) {
  Shelf& shelf = *shelves_[tier];
  if (LevelOf(tier) == Level::kBelowHigh || !CanMakeRoom(tier)) return;
  for (int round = 0; round < kEvictRoundsMax; ++round) {
    uint64_t excess = Excess(tier, shelf.options.low_watermark);
    if (excess == 0) return;
    EvictBytes(tier, excess, Mapped::kNo, copy);
  }
  // What is mapped frees nothing yet, but its readers are told to let go, so that the
  // chunks to come find room. For a second copy they would only ask for theirs again.
  if (copy != nullptr && !copy->evicts_all) return;
  uint64_t excess = Excess(tier, 1.0);
  if (excess > 0) EvictBytes(tier, excess, Mapped::kYes, copy);
}

// False when not even an empty tier would do (others fill the disk, say): then what is
// cached is worth more than nothing.
bool Store::CanMakeRoom(size_t tier) const {
  uint64_t excess = Excess(tier, 1.0);
  std::lock_guard lock(mutex_);
  return excess <= shelves_[tier]->index.bytes();
}

void Store::EvictBytes(size_t tier, uint64_t bytes, Mapped mapped,
                       const SecondCopy* copy) {
  uint64_t evicted = 0;
  for (const EvictionCandidate& victim : Victims(tier, mapped, copy)) {
    if (evicted >= bytes) return;
    if (WasUsedElsewhere(tier, victim)) continue;  // a later round sees its new place
    EvictOne(tier, victim.key);
    evicted += victim.size;
  }
}

std::vector<EvictionCandidate> Store::Victims(size_t tier, Mapped mapped,
                                              const SecondCopy* copy) {
  std::vector<EvictionCandidate> candidates;
  {
    std::lock_guard lock(mutex_);
    candidates = shelves_[tier]->index.Candidates();
    std::erase_if(candidates, [&](const EvictionCandidate& candidate) {
      return ledger_.IsMapped(candidate.key, tier) != (mapped == Mapped::kYes);
    });
  }
  LearnLastUse(tier, candidates);
  bool leaves_store = tier + 1 == shelves_.size();
  for (EvictionCandidate& candidate : candidates) candidate.leaves_store = leaves_store;
  if (copy == nullptr) {
    options_.policy->Order(candidates);
    return candidates;
  }
  size_t free_count = options_.policy->OrderForSecondCopy(copy->key, candidates);
  if (!copy->evicts_all) candidates.resize(free_count);
  return candidates;
}

// Chunks found by a scan are not looked at until somebody asks how old they are.
void Store::LearnLastUse(size_t tier, std::vector<EvictionCandidate>& candidates) {
  Shelf& shelf = *shelves_[tier];
  if (!shelf.tier->shared()) return;
  for (EvictionCandidate& candidate : candidates) {
    if (candidate.last_use_ns != 0) continue;
    auto name = NameOf(tier, candidate.key);
    if (!name) continue;
    candidate.last_use_ns = std::max<int64_t>(1, shelf.tier->LastUse(*name));
    std::lock_guard lock(mutex_);
    IndexEntry* entry = shelf.index.Find(candidate.key);
    if (entry != nullptr && entry->last_use_ns == 0) {
      entry->last_use_ns = candidate.last_use_ns;
    }
  }
}

// True when another process used the chunk since this one did; then it is no victim yet.
bool Store::WasUsedElsewhere(size_t tier, const EvictionCandidate& victim) {
  Shelf& shelf = *shelves_[tier];
  auto name = NameOf(tier, victim.key);
  if (!name) return false;
  int64_t on_disk = shelf.tier->LastUse(*name);
  std::lock_guard lock(mutex_);
  IndexEntry* entry = shelf.index.Find(victim.key);
  if (entry == nullptr) return false;
  entry->last_use_ns = std::max(entry->last_use_ns, on_disk);
  return entry->last_use_ns > victim.last_use_ns;
}

void Store::EvictOne(size_t tier, const Hash128& key) {
  bool demoted = DemoteBeforeEviction(tier, key);
  Shelf& shelf = *shelves_[tier];
  auto name = NameOf(tier, key);
  if (!name) return;
  if (!shelf.tier->Unlink(*name).ok()) return;
  if (!Drop(tier, *name)) return;
  std::lock_guard lock(mutex_);
  ++shelf.evictions;
  shelf.demotions += demoted;
}

bool Store::DemoteBeforeEviction(size_t tier, const Hash128& key) {
  for (size_t to = tier + 1; to < shelves_.size(); ++to) {
    if (NameOf(to, key)) return false;  // it has a copy there
  }
  for (size_t to = tier + 1; to < shelves_.size(); ++to) {
    if (CopyToTier(tier, to, key).ok()) return true;
  }
  return false;
}

Status Store::CopyToTier(size_t from, size_t to, const Hash128& key, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Found found, LookUp(from, key, deadline));
  auto chunk = OpenFound(from, found);
  if (found.must_verify) EndVerification(from, found, chunk.ok());
  if (!chunk.ok()) return chunk.status();
  ChunkWriter writer({.store = this,
                      .key = key,
                      .kind = chunk->kind,
                      .size_estimate = chunk->size,
                      .first_tier = to,
                      .tier_end = to + 1,
                      .memory_last = false,
                      .hand_out = false,
                      .second_copy = options_.policy->IsSecondCopy(key)});
  FB_RETURN_NOT_OK(writer.Start(chunk->size));
  FB_RETURN_NOT_OK(ReadThrough(chunk->fd->get(), [&](const char* data, size_t size) {
    return writer.Append(data, size);
  }));
  if (writer.hasher_.Digest() != found.entry.name.checksum) {
    return Status::Corrupt("a chunk changed after it was verified: " +
                           found.entry.name.ToString());
  }
  return writer.Commit().status();
}

Status Store::Promote(const Hash128& key) { return Move(key, -1); }
Status Store::Demote(const Hash128& key) { return Move(key, +1); }

Status Store::Move(const Hash128& key, int step) {
  std::optional<size_t> from;
  {
    std::lock_guard lock(mutex_);
    from = TierOf(key);
  }
  if (!from) return Status::NotFound("the store holds no chunk " + key.ToHex());
  size_t to = *from + static_cast<size_t>(step);  // wraps below the first tier
  if (to >= shelves_.size()) return Status::OK();
  auto name = NameOf(*from, key);
  if (!NameOf(to, key)) FB_RETURN_NOT_OK(CopyToTier(*from, to, key));
  if (!name) return Status::OK();
  FB_RETURN_NOT_OK(shelves_[*from]->tier->Unlink(*name));
  Drop(*from, *name);
  std::lock_guard lock(mutex_);
  ++(step < 0 ? shelves_[to]->promotions : shelves_[*from]->demotions);
  return Status::OK();
}

}  // namespace forebay::storage
