// Scanning, sweeping, verifying and listing: what keeps a store in order.
#include "base/log.h"
#include "storage/file_io.h"
#include "storage/store.h"
#include "storage/store_shelf.h"

namespace forebay::storage {

uint64_t Store::Rescan(size_t tier) {
  Shelf& shelf = *shelves_[tier];
  if (!shelf.tier->shared()) return 0;
  uint64_t number = 0;
  {
    std::lock_guard lock(mutex_);
    number = shelf.index.BeginScan();
    shelf.unscanned_bytes = 0;
  }
  auto scan = shelf.tier->Scan();
  if (!scan.ok()) {
    NoteWriteFailure(tier, scan.status());
    return 0;
  }
  TierIndex::Changes changes;
  {
    std::lock_guard lock(mutex_);
    changes = shelf.index.Reconcile(scan->chunks, number);
    shelf.claimed_bytes = scan->claimed_bytes;
    shelf.quarantine_bytes = scan->quarantine_bytes;
    stats_.quarantined += scan->quarantined;
    for (const IndexEntry& entry : changes.gone) {
      ledger_.OnRemoved(entry.name.key, tier);
    }
  }
  for (const ChunkName& name : changes.duplicates) (void)shelf.tier->Unlink(name);
  if (options_.on_evict) {
    for (const IndexEntry& entry : changes.gone) options_.on_evict(entry.name.key);
  }
  return scan->quarantined;
}

SweepReport Store::Sweep() {
  SweepReport total;
  int64_t now = options_.clock->WallNanos();
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    SweepReport report = shelves_[tier]->tier->Sweep(now);
    total.temp_files += report.temp_files;
    total.temp_bytes += report.temp_bytes;
    total.quarantine_files_removed += report.quarantine_files_removed;
    total.quarantined += Rescan(tier);
  }
  return total;
}

size_t Store::Trim() {
  uint64_t before = 0;
  uint64_t after = 0;
  for (auto& shelf : shelves_) {
    std::lock_guard lock(mutex_);
    before += shelf->evictions;
  }
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    std::lock_guard evicting(shelves_[tier]->evicting);
    Rescan(tier);
    EvictToLow(tier, nullptr);
  }
  for (auto& shelf : shelves_) {
    std::lock_guard lock(mutex_);
    after += shelf->evictions;
  }
  return after - before;
}

VerifyReport Store::VerifyAll(
    const std::function<void(const ListedChunk&, const Status&)>& done) {
  VerifyReport report;
  List([&](const ListedChunk& listed) {
    Shelf& shelf = *shelves_[listed.tier];
    if (!shelf.tier->shared()) return;  // sealed memory cannot change
    Found found{.entry = {.name = listed.name, .fd = nullptr}, .must_verify = true};
    auto chunk = OpenFound(listed.tier, found);
    // What is remote is otherwise hashed with every copy of it, and none is made here.
    if (chunk.ok() && shelf.remote) chunk = CheckedInPlace(*chunk);
    StatusCode code = chunk.status().code();
    if (code == StatusCode::kNotFound) return;  // evicted meanwhile
    ++report.chunk_count;
    report.bytes += listed.name.size;
    if (chunk.ok()) {
      EndVerification(listed.tier, found, true);
    } else if (SaysBad(shelf, chunk.status())) {
      Condemn(listed.tier, listed.name);
      ++report.corrupt;
    }
    if (done) done(listed, chunk.status());
  });
  return report;
}

void Store::List(const std::function<void(const ListedChunk&)>& each) {
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    Rescan(tier);
    Shelf& shelf = *shelves_[tier];
    std::vector<IndexEntry> entries;
    {
      std::lock_guard lock(mutex_);
      entries = shelf.index.Entries();
    }
    for (const IndexEntry& entry : entries) {
      int64_t on_disk = shelf.tier->LastUse(entry.name);
      each({.tier = tier,
            .name = entry.name,
            .last_use_ns = std::max(entry.last_use_ns, on_disk)});
    }
  }
}

StoreStats Store::Stats() const {
  std::vector<uint64_t> capacities;  // asks the disks, so without the lock
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    capacities.push_back(CapacityOf(tier));
  }
  std::lock_guard lock(mutex_);
  StoreStats stats = stats_;
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    const Shelf& shelf = *shelves_[tier];
    stats.tiers.push_back({.spec = shelf.options.spec,
                           .remote = shelf.remote,
                           .capacity_bytes = capacities[tier],
                           .used_bytes = shelf.index.bytes(),
                           .reserved_bytes = shelf.reserved_bytes + shelf.claimed_bytes,
                           .mapped_evicted_bytes = ledger_.evicted_bytes(tier),
                           .quarantine_bytes = shelf.quarantine_bytes,
                           .chunk_count = shelf.index.count(),
                           .evictions = shelf.evictions,
                           .demotions = shelf.demotions,
                           .promotions = shelf.promotions,
                           .write_status = shelf.write_status});
  }
  stats.mapped_evicted_bytes = ledger_.evicted_bytes();
  stats.borrowed_bytes = budget_.used_bytes();
  stats.borrowed_bytes_max = budget_.bytes_max();
  return stats;
}

}  // namespace forebay::storage
