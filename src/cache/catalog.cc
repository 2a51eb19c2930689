#include "cache/catalog.h"

#include "base/bytes.h"
#include "base/log.h"
#include "base/mapping.h"
#include "base/uri.h"
#include "source/identity.h"
#include "table/listing.h"
#include "table/plan_table.h"

namespace forebay::cache {
namespace {

// Versions kept in memory though nobody reads them; they are also in the store.
constexpr size_t kIdleVersionsMax = 64;

}  // namespace

struct Catalog::Slot {
  std::mutex mutex;
  std::shared_ptr<const Version> version;
};

Catalog::Catalog(Options options) : options_(std::move(options)) {}

Result<std::shared_ptr<const Version>> Catalog::Open(const std::string& uri,
                                                     const source::Options& options,
                                                     Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto source, SourceFor(uri, options));
  FB_ASSIGN_OR_RETURN(table::Listing listing, table::ListTable(*source, uri, deadline));
  FB_RETURN_NOT_OK(source::WaitUntilSettled(listing.objects, Clock::Real(), deadline));
  auto slot = SlotFor(listing.version, options);
  std::lock_guard lock(slot->mutex);
  if (slot->version != nullptr) return slot->version;
  auto stored = options_.store->Get(model::ManifestKey(listing.version));
  if (stored.ok()) {
    auto version = Load(*stored, uri, source);
    if (version.ok()) return slot->version = *version;
    spdlog::warn("planning again, the stored manifest of {} is of no use: {}",
                 RedactUri(uri), version.status().message());
  }
  table::PlanOptions plan{
      .pool = options_.pool, .memory_pool = options_.memory, .deadline = deadline};
  FB_ASSIGN_OR_RETURN(std::string bytes, table::PlanTable(source, listing, plan));
  FB_ASSIGN_OR_RETURN(storage::Chunk chunk, Publish(listing.version, bytes));
  FB_ASSIGN_OR_RETURN(slot->version, Load(chunk, uri, source));
  return slot->version;
}

Result<std::shared_ptr<const Version>> Catalog::Adopt(const std::string& uri,
                                                      const source::Options& options,
                                                      std::string manifest_bytes) {
  auto bytes = std::make_shared<const std::string>(std::move(manifest_bytes));
  FB_ASSIGN_OR_RETURN(auto manifest, model::Manifest::View(*bytes, bytes));
  FB_ASSIGN_OR_RETURN(auto source, SourceFor(uri, options));
  auto slot = SlotFor(manifest->version(), options);
  std::lock_guard lock(slot->mutex);
  if (slot->version != nullptr) return slot->version;
  auto chunk = options_.store->Get(model::ManifestKey(manifest->version()));
  if (!chunk.ok()) chunk = Publish(manifest->version(), *bytes);
  if (!chunk.ok()) return chunk.status();
  FB_ASSIGN_OR_RETURN(slot->version, Load(*chunk, uri, source));
  return slot->version;
}

Result<std::shared_ptr<source::Source>> Catalog::SourceFor(
    const std::string& uri, const source::Options& options) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  Encoder key;
  key.PutString(parsed.scheme);
  key.PutString(parsed.authority);
  for (const auto& [name, value] : options) {
    key.PutString(name);
    key.PutString(value);
  }
  std::lock_guard lock(mutex_);
  auto& source = sources_[key.bytes()];
  if (source == nullptr) {
    FB_ASSIGN_OR_RETURN(source, options_.open_source(uri, options));
  }
  return source;
}

uint64_t Catalog::SourceBytes() const {
  std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& [key, source] : sources_) {
    if (source != nullptr) bytes += source->stats().bytes;
  }
  return bytes;
}

std::shared_ptr<Catalog::Slot> Catalog::SlotFor(const Hash128& version,
                                                const source::Options& options) {
  std::lock_guard lock(mutex_);
  if (slots_.size() >= kIdleVersionsMax) {
    std::erase_if(slots_,
                  [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  auto& slot = slots_[{version, options}];
  if (slot == nullptr) slot = std::make_shared<Slot>();
  return slot;
}

Result<std::shared_ptr<const Version>> Catalog::Load(
    const storage::Chunk& chunk, const std::string& uri,
    std::shared_ptr<source::Source> source) {
  FB_ASSIGN_OR_RETURN(auto mapping,
                      Mapping::Map(chunk.fd->get(), chunk.size, Mapping::Mode::kShared));
  FB_ASSIGN_OR_RETURN(auto manifest, model::Manifest::View(mapping->bytes(), mapping));
  auto version = std::make_shared<Version>();
  version->uri = uri;
  version->manifest = std::move(manifest);
  version->source = std::move(source);
  version->manifest_chunk = chunk;
  return std::shared_ptr<const Version>(std::move(version));
}

Result<storage::Chunk> Catalog::Publish(const Hash128& version,
                                        const std::string& bytes) {
  FB_ASSIGN_OR_RETURN(auto writer,
                      options_.store->Create(model::ManifestKey(version),
                                             model::ChunkKind::kManifest, bytes.size()));
  FB_RETURN_NOT_OK(writer->Append(bytes.data(), bytes.size()));
  return writer->Commit();
}

}  // namespace forebay::cache
