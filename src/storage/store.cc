#include "storage/store.h"

#include <fmt/format.h>

#include "base/log.h"
#include "storage/directory_tier.h"
#include "storage/file_io.h"
#include "storage/memory_tier.h"
#include "storage/store_shelf.h"

namespace forebay::storage {
namespace {

// Recency on disk need not be exact: one write of the inode a minute and chunk at most.
constexpr int64_t kRecordUseNanos = 60LL * 1'000'000'000;
// A key may have several files, of which some are bad or vanish while we look.
constexpr int kLooksMax = 4;

Status Miss(const Hash128& key) {
  return Status::NotFound("the store holds no chunk " + key.ToHex());
}

}  // namespace

std::vector<TierOptions> TiersOf(const std::vector<model::TierSpec>& specs) {
  std::vector<TierOptions> tiers;
  for (const model::TierSpec& spec : specs) {
    TierOptions options;
    options.spec = spec;
    tiers.push_back(options);
  }
  return tiers;
}

Store::Store(StoreOptions options)
    : options_(std::move(options)),
      memory_(std::make_unique<MemoryTier>()),
      budget_(options_.borrowed_bytes_max),
      ledger_(options_.tiers.size()) {
  if (!options_.policy) options_.policy = std::make_unique<LeastRecentUse>();
}

Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::Open(StoreOptions options) {
  std::unique_ptr<Store> store(new Store(std::move(options)));
  FB_RETURN_NOT_OK(store->OpenTiers());
  return store;
}

Status Store::OpenTiers() {
  for (const TierOptions& options : options_.tiers) {
    auto shelf = std::make_unique<Shelf>();
    shelf->options = options;
    if (options.spec.path.empty()) {
      shelf->tier = std::make_unique<MemoryTier>();
    } else {
      FB_ASSIGN_OR_RETURN(shelf->tier, DirectoryTier::Open(options, options_.mode));
    }
    shelf->remote = IsRemote(options.spec);
    shelves_.push_back(std::move(shelf));
  }
  Sweep();
  for (size_t tier = 0; tier < shelves_.size(); ++tier) SetQuotaOfShare(tier);
  return Status::OK();
}

Result<Chunk> Store::Get(const Hash128& key, Deadline deadline) {
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    auto chunk = GetFrom(tier, key, deadline);
    if (chunk.ok() || chunk.status().code() != StatusCode::kNotFound) return chunk;
  }
  if (auto borrowed = FindBorrowed(key)) return *std::move(borrowed);
  // Not in the index: another process may have published it since.
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    for (int look = 0; look < kLooksMax && FindOnDisk(tier, key); ++look) {
      auto chunk = GetFrom(tier, key, deadline);
      if (chunk.ok() || chunk.status().code() != StatusCode::kNotFound) return chunk;
    }
  }
  std::lock_guard lock(mutex_);
  ++stats_.misses;
  return Miss(key);
}

Result<Chunk> Store::GetFrom(size_t tier, const Hash128& key, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Found found, LookUp(tier, key, deadline));
  auto chunk = OpenFound(tier, found);
  StatusCode code = chunk.status().code();
  bool bad = SaysBad(*shelves_[tier], chunk.status());
  // Evicted, or out of reach: it can be had from its source. A scan finds it again.
  bool away = !chunk.ok() && !bad && code != StatusCode::kFull;
  if (away) Drop(tier, found.entry.name);
  if (bad) Condemn(tier, found.entry.name);
  if (found.must_verify) EndVerification(tier, found, chunk.ok());
  if (chunk.ok()) NoteUse(tier, *chunk, found.entry.name);
  if (bad || away) return Miss(key);
  return chunk.ok() ? ForReaders(tier, *chunk, deadline) : chunk;
}

// Whether a failure to open or to hash a chunk says that its bytes are bad. Want of
// descriptors says nothing of them, nor does a file that is gone, nor, of another
// machine's disk, anything but wrong bytes: its server may be away for a moment.
bool Store::SaysBad(const Shelf& shelf, const Status& status) {
  StatusCode code = status.code();
  if (status.ok() || code == StatusCode::kNotFound || code == StatusCode::kFull) {
    return false;
  }
  return !shelf.remote || code == StatusCode::kCorrupt;
}

// Copies the entry. One thread verifies a chunk; others that want it wait for the
// outcome.
Result<Store::Found> Store::LookUp(size_t tier, const Hash128& key, Deadline deadline) {
  std::unique_lock lock(mutex_);
  auto verified = [&] { return !verifying_.contains(key); };
  if (!verified_.wait_until(lock, deadline.when(), verified)) {
    return Status::Deadline(fmt::format(
        "chunk {} was not verified in time: the disk is slow; give a longer timeout",
        key.ToHex()));
  }
  const IndexEntry* entry = shelves_[tier]->index.Find(key);
  if (entry == nullptr) return Miss(key);
  Found found{.entry = *entry, .must_verify = !entry->verified};
  if (found.must_verify) verifying_.insert(key);
  return found;
}

Result<Chunk> Store::OpenFound(size_t tier, const Found& found) {
  const Shelf& shelf = *shelves_[tier];
  const ChunkName& name = found.entry.name;
  Chunk chunk{.key = name.key,
              .size = name.size,
              .kind = name.kind,
              .medium = shelf.options.spec.medium,
              .checksum = name.checksum,
              .fd = found.entry.fd};
  if (chunk.fd != nullptr) return chunk;
  FB_ASSIGN_OR_RETURN(UniqueFd fd, shelf.tier->Open(name));
  // Cheap, and what keeps a reader's mapping of a truncated file from a SIGBUS.
  FB_ASSIGN_OR_RETURN(uint64_t size, FileSize(fd.get()));
  if (size != name.size) return Status::Corrupt("chunk size mismatch");
  // What is remote is verified with every copy of it.
  if (found.must_verify && !shelf.remote) {
    FB_ASSIGN_OR_RETURN(Hash128 checksum,
                        HashFile(fd.get(), size, ChecksumSeed(name.key)));
    if (checksum != name.checksum) return Status::Corrupt("chunk checksum mismatch");
  }
  chunk.fd = std::make_shared<const UniqueFd>(std::move(fd));
  return chunk;
}

void Store::EndVerification(size_t tier, const Found& found, bool good) {
  std::lock_guard lock(mutex_);
  IndexEntry* entry = shelves_[tier]->index.Find(found.entry.name.key);
  if (good && entry != nullptr && entry->name == found.entry.name) entry->verified = true;
  stats_.verified += good;
  verifying_.erase(found.entry.name.key);
  verified_.notify_all();
}

void Store::NoteUse(size_t tier, const Chunk& chunk, const ChunkName& name) {
  int64_t now = options_.clock->WallNanos();
  bool record = false;
  {
    std::lock_guard lock(mutex_);
    ++stats_.hits;
    IndexEntry* entry = shelves_[tier]->index.Find(name.key);
    if (entry == nullptr) return;
    entry->last_use_ns = now;
    record = now - entry->recorded_ns >= kRecordUseNanos;
    if (record) entry->recorded_ns = now;
  }
  if (record) shelves_[tier]->tier->RecordUse(*chunk.fd, now);
}

bool Store::FindOnDisk(size_t tier, const Hash128& key) {
  Shelf& shelf = *shelves_[tier];
  if (!shelf.tier->shared()) return false;
  std::vector<ChunkName> names = shelf.tier->Find(key);
  std::lock_guard lock(mutex_);
  for (const ChunkName& name : names) {
    if (shelf.index.IsCondemned(name)) continue;
    if (shelf.index.Find(key) == nullptr) shelf.index.Put({.name = name, .fd = nullptr});
    return true;
  }
  return false;
}

// Takes the copy of that name from the index; false when it was not there.
bool Store::Drop(size_t tier, const ChunkName& name) {
  std::optional<IndexEntry> dropped;  // a last memfd is freed outside of the lock
  {
    std::lock_guard lock(mutex_);
    TierIndex& index = shelves_[tier]->index;
    const IndexEntry* entry = index.Find(name.key);
    if (entry == nullptr || entry->name != name) return false;
    dropped = index.Take(name.key);
    ledger_.OnRemoved(name.key, tier);
  }
  if (options_.on_evict) options_.on_evict(name.key);
  return true;
}

void Store::Condemn(size_t tier, const ChunkName& name) {
  Shelf& shelf = *shelves_[tier];
  Status moved = shelf.tier->Quarantine(name);
  {
    std::lock_guard lock(mutex_);
    if (moved.ok()) {
      shelf.quarantine_bytes += name.size;  // until the next scan looks
    } else if (!shelf.index.IsCondemned(name)) {
      shelf.index.Condemn(name);
    }
    ++stats_.quarantined;
  }
  spdlog::warn("a corrupt chunk was {}: {}",
               moved.ok() ? "moved to quarantine" : "set aside in place",
               name.ToString());
  Drop(tier, name);
}

bool Store::Contains(const Hash128& key) const {
  std::lock_guard lock(mutex_);
  return TierOf(key).has_value();
}

std::optional<uint64_t> Store::SizeOf(const Hash128& key) const {
  std::lock_guard lock(mutex_);
  for (const auto& shelf : shelves_) {
    const IndexEntry* entry = std::as_const(shelf->index).Find(key);
    if (entry != nullptr) return entry->name.size;
  }
  return std::nullopt;
}

std::optional<size_t> Store::TierOf(const Hash128& key) const {
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    if (shelves_[tier]->index.Find(key) != nullptr) return tier;
  }
  return std::nullopt;
}

void Store::AddReader(const Chunk& chunk) {
  std::lock_guard lock(mutex_);
  AddReaderLocked(chunk);
}

Status Store::AddKeepingReader(const Chunk& chunk) {
  std::lock_guard lock(mutex_);
  if (chunk.borrowed) FB_RETURN_NOT_OK(CheckRoomForOneMore(chunk));
  AddReaderLocked(chunk);
  return Status::OK();
}

void Store::AddReaderLocked(const Chunk& chunk) {
  ledger_.Add(chunk.key, chunk.size, chunk.borrowed ? std::nullopt : TierOf(chunk.key));
  if (!chunk.borrowed) return;
  auto found = borrowed_.find(chunk.key);
  if (found != borrowed_.end()) found->second.for_readers = chunk.fd;
}

void Store::AddReader(const Hash128& key, uint64_t size) {
  std::lock_guard lock(mutex_);
  ledger_.Add(key, size, TierOf(key));
}

void Store::DropReader(const Hash128& key) {
  std::shared_ptr<const UniqueFd> freed;  // outside of the lock
  std::lock_guard lock(mutex_);
  ledger_.Drop(key);
  auto found = borrowed_.find(key);
  if (found == borrowed_.end() || ledger_.IsMappedOutside(key)) return;
  freed = std::move(found->second.for_readers);
}

Status Store::Remove(const Hash128& key) {
  for (size_t tier = 0; tier < shelves_.size(); ++tier) {
    std::vector<ChunkName> names = shelves_[tier]->tier->Find(key);
    if (auto known = NameOf(tier, key)) names.push_back(*known);
    for (const ChunkName& name : names) {
      FB_RETURN_NOT_OK(shelves_[tier]->tier->Unlink(name));
      Drop(tier, name);
    }
  }
  return Status::OK();
}

std::optional<ChunkName> Store::NameOf(size_t tier, const Hash128& key) const {
  std::lock_guard lock(mutex_);
  const IndexEntry* entry = shelves_[tier]->index.Find(key);
  return entry != nullptr ? std::optional(entry->name) : std::nullopt;
}

Result<std::unique_ptr<ChunkWriter>> Store::Create(const Hash128& key,
                                                   model::ChunkKind kind,
                                                   uint64_t size_estimate) {
  bool second_copy = options_.policy->IsSecondCopy(key);
  std::unique_ptr<ChunkWriter> writer(new ChunkWriter({.store = this,
                                                       .key = key,
                                                       .kind = kind,
                                                       .size_estimate = size_estimate,
                                                       .tier_end = shelves_.size(),
                                                       .second_copy = second_copy}));
  FB_RETURN_NOT_OK(writer->Start(size_estimate));
  return writer;
}

// Chunks on tiers of other machines (NFS, SMB): readers get a copy, in a local tier where
// there is one with room, else in borrowed memory. A mapping of the file itself would
// turn a hiccup of its server into a SIGBUS.
Result<Chunk> Store::ForReaders(size_t tier, const Chunk& chunk, Deadline deadline) {
  if (!shelves_[tier]->remote) return chunk;
  auto copy = CopyOfRemote(tier, chunk, deadline);
  if (copy.status().code() == StatusCode::kFull) copy = CheckedInPlace(chunk);
  if (copy.ok() || copy.status().code() == StatusCode::kDeadline) return copy;
  auto name = NameOf(tier, chunk.key);
  if (copy.status().code() == StatusCode::kCorrupt && name) {
    Condemn(tier, *name);
  } else if (name) {
    Drop(tier, *name);
  }
  // As if it were not there: it can be had from its source.
  return Status::NotFound("a chunk on a remote tier cannot be read: " +
                          copy.status().message());
}

Result<Chunk> Store::CopyOfRemote(size_t tier, const Chunk& chunk, Deadline deadline) {
  for (size_t to = 0; to < tier; ++to) {
    if (shelves_[to]->remote) continue;
    Status copied = CopyToTier(tier, to, chunk.key, deadline);
    if (copied.code() == StatusCode::kCorrupt) return copied;
    if (copied.code() == StatusCode::kDeadline) return copied;
    auto found = copied.ok() ? GetFrom(to, chunk.key, deadline) : copied;
    if (found.ok()) return found;
  }
  return CopyToMemory(chunk);
}

Result<Chunk> Store::CheckedInPlace(const Chunk& chunk) {
  FB_ASSIGN_OR_RETURN(Hash128 checksum,
                      HashFile(chunk.fd->get(), chunk.size, ChecksumSeed(chunk.key)));
  if (checksum != chunk.checksum) return Status::Corrupt("chunk checksum mismatch");
  Chunk checked = chunk;
  checked.remote = true;
  return checked;
}

}  // namespace forebay::storage
