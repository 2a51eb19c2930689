#include "node/held_versions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/mapping.h"
#include "base/start_thread.h"
#include "cache/unit_chunks.h"

namespace forebay::node {
namespace {

constexpr milliseconds kTick{500};
// Of each tick: 4 % of one core.
constexpr milliseconds kCountTime{20};
constexpr uint64_t kUnitsBetweenLooks = 256;  // at the clock
// Datasets that nobody opens here are heard of so late.
constexpr milliseconds kNamesTime{10'000};
constexpr milliseconds kRetryPause{1'000};
constexpr milliseconds kNamesTimeout{5'000};
constexpr milliseconds kStoreTime{5'000};

Result<model::AnyManifest> FromStore(storage::Store& store, const Hash128& version) {
  for (const Hash128& key :
       {model::ManifestKey(version), model::FilesManifestKey(version)}) {
    if (!store.Contains(key)) continue;
    FB_ASSIGN_OR_RETURN(storage::Chunk chunk,
                        store.Get(key, Deadline::After(kStoreTime)));
    FB_ASSIGN_OR_RETURN(
        auto mapping, Mapping::Map(chunk.fd->get(), chunk.size, Mapping::Mode::kShared));
    return model::AnyManifest::View(mapping->bytes(), mapping);
  }
  return Status::NotFound("the manifest is not in the store");
}

}  // namespace

HeldVersions::HeldVersions(cache::Engine* engine, HeadDatasets* datasets)
    : engine_(engine), datasets_(datasets) {}

Result<std::unique_ptr<HeldVersions>> HeldVersions::Start(cache::Engine* engine,
                                                          HeadDatasets* datasets) {
  std::unique_ptr<HeldVersions> started(new HeldVersions(engine, datasets));
  FB_ASSIGN_OR_RETURN(started->thread_,
                      StartThread([raw = started.get()] { raw->Run(); }));
  return started;
}

HeldVersions::~HeldVersions() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<cluster::VersionReport> HeldVersions::Reports() {
  std::lock_guard lock(mutex_);
  return reports_;
}

void HeldVersions::Run() {
  TimePoint names_due{};
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    {
      std::lock_guard counting(counting_);
      TimePoint now = Clock::Real().Now();
      if (now >= names_due || datasets_->found_count() != found_before_) {
        Status learned = Learn();
        if (!learned.ok()) spdlog::debug("no names: {}", learned.message());
        now = Clock::Real().Now();
        names_due = now + (learned.ok() ? kNamesTime : kRetryPause);
      }
      // Another one first each time, or a large one that changes would take all the time.
      if (!known_.empty()) std::ranges::rotate(known_, known_.begin() + 1);
      for (Known& known : known_) Count(&known, now + kCountTime);
      Publish();
    }
    lock.lock();
    wake_.wait_for(lock, kTick, [this] { return stopping_; });
  }
}

void HeldVersions::Recount(const std::string& dataset, const std::string& version) {
  std::lock_guard counting(counting_);
  auto find = [&] {
    return std::ranges::find_if(known_, [&](const Known& known) {
      return known.dataset.name == dataset && known.dataset.version == version;
    });
  };
  if (find() == known_.end() && !Learn().ok()) return;
  auto known = find();
  if (known == known_.end()) return;
  known->counted.reset();
  known->next = 0;
  Count(&*known, TimePoint::max());
  Publish();
}

HeldVersions::State HeldVersions::Now() const {
  storage::StoreStats stats = engine_->store().Stats();
  State state{.published = stats.published,
              .roster_epoch = datasets_->home()->link().roster()->epoch()};
  for (const auto& tier : stats.tiers) {
    state.chunk_count += tier.chunk_count;
    state.used_bytes += tier.used_bytes;
  }
  return state;
}

Status HeldVersions::Learn() {
  found_before_ = datasets_->found_count();
  FB_ASSIGN_OR_RETURN(auto datasets, datasets_->FindHome(Deadline::After(kNamesTimeout)));
  std::vector<Known> known;
  for (HomeDataset& dataset : datasets) {
    auto before = std::ranges::find(known_, dataset, &Known::dataset);
    if (before != known_.end()) {
      known.push_back(std::move(*before));
    } else {
      known.push_back({.dataset = std::move(dataset)});
    }
  }
  known_ = std::move(known);
  return Status::OK();
}

bool HeldVersions::Prepare(Known* known) {
  if (known->manifest.has_value()) return true;
  auto version = Hash128::FromHex(known->dataset.version);
  if (!version) return false;
  auto manifest = FromStore(engine_->store(), *version);
  if (!manifest.ok()) return false;
  if (manifest->files() != nullptr) {
    model::EachChunk(*manifest->files(), [&](model::ChunkRef ref) {
      known->chunks.push_back(ref);
      return true;
    });
  } else {
    auto columns = model::Project(manifest->table()->schema(), known->dataset.columns);
    if (!columns.ok()) return false;
    known->columns = *std::move(columns);
  }
  known->manifest = *std::move(manifest);
  return true;
}

void HeldVersions::Count(Known* known, TimePoint until) {
  State now = Now();
  if (known->counted == now) return;
  if (known->next == 0) {
    known->begun = now;
    known->counting = {.dataset = known->dataset.name, .version = known->dataset.version};
  }
  // A store with nothing in it holds nothing, whatever there is to hold.
  uint64_t units = 0;
  if (now.chunk_count > 0 && Prepare(known)) units = known->manifest->unit_count();
  auto roster = datasets_->home()->link().roster();
  for (; known->next < units; ++known->next) {
    bool look = known->next % kUnitsBetweenLooks == kUnitsBetweenLooks - 1;
    if (look && Clock::Real().Now() >= until) return;
    auto bytes = StoredBytes(*known, known->next);
    if (bytes) NoteOrigins(*known, known->next);
    if (!bytes || !IsOurs(*known, *roster, known->next)) continue;
    ++known->counting.cached_units;
    known->counting.cached_bytes += *bytes;
  }
  known->next = 0;
  known->counted = known->begun;
  known->held = known->counting;
}

std::optional<uint64_t> HeldVersions::StoredBytes(const Known& known,
                                                  uint64_t unit) const {
  const auto& files = known.manifest->files();
  if (files != nullptr) {
    return engine_->store().SizeOf(model::FileChunkKey(*files, known.chunks[unit]));
  }
  const model::Manifest& table = *known.manifest->table();
  uint64_t bytes = 0;
  for (model::ChunkRef ref :
       cache::UnitChunks(table, static_cast<uint32_t>(unit), known.columns)) {
    auto size = engine_->store().SizeOf(model::ChunkKey(table, ref, known.columns));
    if (!size) return std::nullopt;
    bytes += *size;
  }
  return bytes;
}

Hash128 HeldVersions::PlacementOf(const Known& known, uint64_t unit) {
  const auto& files = known.manifest->files();
  return files != nullptr ? model::FilePlacement(*files, known.chunks[unit])
                          : known.manifest->table()->units()[unit].content;
}

// Chunks that were here when the node started came by no fill.
void HeldVersions::NoteOrigins(const Known& known, uint64_t unit) const {
  SecondCopies* copies = datasets_->home()->second_copies();
  if (copies == nullptr) return;
  SecondCopies::Origin origin{.unit = PlacementOf(known, unit)};
  const auto& files = known.manifest->files();
  if (files != nullptr) {
    origin.version = files->version();
    return copies->Note(model::FileChunkKey(*files, known.chunks[unit]), origin);
  }
  const model::Manifest& table = *known.manifest->table();
  origin.version = table.version();
  for (model::ChunkRef ref :
       cache::UnitChunks(table, static_cast<uint32_t>(unit), known.columns)) {
    copies->Note(model::ChunkKey(table, ref, known.columns), origin);
  }
}

bool HeldVersions::IsOurs(const Known& known, const cluster::Roster& roster,
                          uint64_t unit) const {
  Hash128 placement = PlacementOf(known, unit);
  return std::ranges::any_of(roster.Route(placement, known.dataset.replicas),
                             [&](uint32_t member) {
                               return datasets_->home()->IsSelf(roster.members()[member]);
                             });
}

void HeldVersions::Publish() {
  std::vector<cluster::VersionReport> reports;
  for (const Known& known : known_) {
    if (known.held.cached_units > 0) reports.push_back(known.held);
  }
  std::lock_guard lock(mutex_);
  reports_ = std::move(reports);
}

}  // namespace forebay::node
