#include "cache/catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mapping.h"
#include "base/uri.h"

namespace forebay::cache {
namespace {

// Versions kept in memory though nobody reads them; they are also in the store.
constexpr size_t kIdleVersionsMax = 64;
// Upper bound on idle sources, which are kept for their connections and credentials.
constexpr size_t kIdleSourcesMax = 64;
// A catalog may have to be asked where an adopted version is.
constexpr milliseconds kAdoptTime{60'000};
constexpr const char* kFilter = "forebay.filter";

std::optional<std::string> OnlyFilter(const source::Options& options) {
  if (options.size() != 1 || options.begin()->first != kFilter) return std::nullopt;
  return options.begin()->second;
}

Result<source::Options> WithFilter(const NamedDataset& named, const std::string& filter) {
  source::Options options = named.options;
  if (options.emplace(kFilter, filter).second) return options;
  return Status::Invalid("the dataset has a filter of its own, and takes no other");
}

Status OutOfTime(const std::string& uri) {
  return Status::Deadline("time was up while another reader planned " + RedactUri(uri) +
                          ": give a longer timeout");
}

std::shared_ptr<const Version> Showing(std::shared_ptr<const Version> version,
                                       const std::vector<std::string>& columns) {
  if (columns.empty()) return version;
  auto shown = std::make_shared<Version>(*version);
  shown->columns = columns;
  return shown;
}

}  // namespace

struct Catalog::Slot {
  std::timed_mutex mutex;
  std::shared_ptr<const Version> version;
};

Catalog::Catalog(Options options)
    : options_(std::move(options)), allowed_(options_.allowed) {}

Result<std::shared_ptr<const Version>> Catalog::Open(const std::string& uri,
                                                     const source::Options& options,
                                                     Deadline deadline) {
  deadline = deadline.StoppedBy(stop_.get_token());
  if (uri.starts_with(kNamedScheme)) {
    if (auto filter = OnlyFilter(options)) return OpenFiltered(uri, *filter, deadline);
    FB_ASSIGN_OR_RETURN(
        auto named, FindNamed(options_.named,
                              {.uri = uri, .options = options, .deadline = deadline}));
    return AdoptPlanned({uri, options, std::move(named)}, deadline);
  }
  FB_RETURN_NOT_OK(allowed_.Check(uri, options));
  FB_ASSIGN_OR_RETURN(auto dataset, PinDataset(Request(uri, options, deadline)));
  auto slot = SlotFor(dataset->version(), options);
  std::unique_lock lock(slot->mutex, deadline.when());
  if (!lock.owns_lock()) return OutOfTime(uri);
  if (slot->version != nullptr) return slot->version;
  Hash128 key = model::ManifestKey(dataset->version());
  auto stored = options_.store->Get(key, deadline);
  if (stored.status().code() == StatusCode::kDeadline) return stored.status();
  if (stored.ok()) {
    auto version = Load(*stored, uri, dataset->source());
    if (version.ok()) return slot->version = *version;
    spdlog::warn("planning again, the stored manifest of {} is of no use: {}",
                 RedactUri(uri), version.status().message());
  }
  table::PlanOptions plan{.pool = options_.pool,
                          .range_bytes = options_.range_bytes,
                          .wide_bytes = options_.range_bytes / 16,
                          .memory_pool = options_.memory,
                          .budget = options_.budget,
                          .deadline = deadline,
                          .footers = options_.footers};
  FB_ASSIGN_OR_RETURN(std::string bytes, dataset->Plan(plan, Shelf(deadline)));
  FB_ASSIGN_OR_RETURN(storage::Chunk chunk, Publish(key, bytes));
  FB_ASSIGN_OR_RETURN(slot->version, Load(chunk, uri, dataset->source()));
  return slot->version;
}

Result<std::shared_ptr<const Version>> Catalog::Adopt(const std::string& uri,
                                                      const source::Options& options,
                                                      std::string manifest_bytes) {
  if (!uri.starts_with(kNamedScheme)) {
    return AdoptPlanned({uri, options, {uri, options, std::move(manifest_bytes), {}}},
                        AdoptEnd());
  }
  if (auto filter = OnlyFilter(options)) {
    return AdoptFiltered(uri, *filter, std::move(manifest_bytes));
  }
  auto bytes = std::make_shared<const std::string>(std::move(manifest_bytes));
  FB_ASSIGN_OR_RETURN(auto manifest, model::Manifest::View(*bytes, bytes));
  FB_ASSIGN_OR_RETURN(auto named,
                      FindNamed(options_.named, {.uri = uri,
                                                 .options = options,
                                                 .version = manifest->version(),
                                                 .deadline = AdoptEnd()}));
  named.manifest = *bytes;
  return AdoptPlanned({uri, options, std::move(named)}, AdoptEnd());
}

Result<std::shared_ptr<const Version>> Catalog::AdoptPlanned(Planned planned,
                                                             Deadline deadline) {
  const NamedDataset& dataset = planned.dataset;
  FB_RETURN_NOT_OK(allowed_.Check(dataset.uri, dataset.options));
  auto bytes = std::make_shared<const std::string>(std::move(planned.dataset.manifest));
  FB_ASSIGN_OR_RETURN(auto manifest, model::Manifest::View(*bytes, bytes));
  FB_ASSIGN_OR_RETURN(
      auto source, SourceOf(Request(dataset.uri, dataset.options, deadline), *manifest));
  std::string shown = fmt::format("{}", fmt::join(dataset.columns, "\n"));
  // Named versions have peers, and so slots of their own.
  auto slot = SlotFor(manifest->version(),
                      dataset.peers == nullptr
                          ? planned.options
                          : source::Options{{"", planned.uri}, {"columns", shown}});
  std::unique_lock lock(slot->mutex, deadline.when());
  if (!lock.owns_lock()) return OutOfTime(planned.uri);
  if (slot->version != nullptr) return slot->version;
  Hash128 key = model::ManifestKey(manifest->version());
  auto chunk = options_.store->Get(key, deadline);
  if (!chunk.ok()) chunk = Publish(key, *bytes);
  if (!chunk.ok()) return chunk.status();
  FB_ASSIGN_OR_RETURN(auto version, Load(*chunk, planned.uri, source));
  if (dataset.peers == nullptr) return slot->version = version;
  auto shared = std::make_shared<Version>(*version);
  shared->peers = dataset.peers;
  shared->columns = dataset.columns;
  slot->version = std::move(shared);
  return slot->version;
}

Result<std::shared_ptr<const Version>> Catalog::OpenFiltered(const std::string& uri,
                                                             const std::string& filter,
                                                             Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto named,
                      FindNamed(options_.named, {.uri = uri, .deadline = deadline}));
  FB_RETURN_NOT_OK(allowed_.Check(named.uri, named.options));
  FB_ASSIGN_OR_RETURN(auto options, WithFilter(named, filter));
  FB_ASSIGN_OR_RETURN(auto manifest, model::Manifest::View(named.manifest, nullptr));
  FB_ASSIGN_OR_RETURN(auto now, PinDataset(Request(named.uri, named.options, deadline)));
  if (now->version() != manifest->version()) {
    return Status::Changed(uri +
                           " has changed at its source since its version was made: "
                           "refresh it, then filter it");
  }
  FB_ASSIGN_OR_RETURN(auto version, Open(named.uri, options, deadline));
  return Showing(std::move(version), named.columns);
}

Result<std::shared_ptr<const Version>> Catalog::AdoptFiltered(const std::string& uri,
                                                              const std::string& filter,
                                                              std::string manifest) {
  FB_ASSIGN_OR_RETURN(auto view, model::Manifest::View(manifest, nullptr));
  FB_ASSIGN_OR_RETURN(auto named, FindNamed(options_.named, {.uri = uri,
                                                             .version = view->version(),
                                                             .deadline = AdoptEnd()}));
  FB_ASSIGN_OR_RETURN(auto options, WithFilter(named, filter));
  FB_ASSIGN_OR_RETURN(
      auto version,
      AdoptPlanned({named.uri, options, {named.uri, options, std::move(manifest), {}}},
                   AdoptEnd()));
  return Showing(std::move(version), named.columns);
}

Deadline Catalog::AdoptEnd() const {
  return Deadline::After(kAdoptTime).StoppedBy(stop_.get_token());
}

table::DatasetRequest Catalog::Request(const std::string& uri,
                                       const source::Options& options,
                                       Deadline deadline) {
  return {
      .uri = uri,
      .options = options,
      .open_source = [this](const std::string& at,
                            const source::Options& with) { return SourceFor(at, with); },
      .deadline = deadline};
}

// Layouts are kept in the store like manifests: what is lost is read again.
table::LayoutShelf Catalog::Shelf(Deadline deadline) {
  auto find = [this, deadline](const Hash128& key) -> std::optional<std::string> {
    auto chunk = options_.store->Get(key, deadline);
    if (!chunk.ok()) return std::nullopt;
    auto mapping = Mapping::Map(chunk->fd->get(), chunk->size, Mapping::Mode::kShared);
    if (!mapping.ok()) return std::nullopt;
    return std::string((*mapping)->bytes());
  };
  auto keep = [this](const Hash128& key, const std::string& bytes) {
    auto chunk = Publish(key, bytes);
    if (!chunk.ok()) spdlog::debug("layouts were not kept: {}", chunk.status().message());
  };
  return {.find = find, .keep = keep};
}

Result<std::shared_ptr<source::Source>> Catalog::SourceFor(
    const std::string& uri, const source::Options& options) {
  FB_RETURN_NOT_OK(allowed_.Check(uri));
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  Encoder key;
  key.PutString(parsed.scheme);
  key.PutString(parsed.authority);
  for (const auto& [name, value] : options) {
    key.PutString(name);
    key.PutString(value);
  }
  std::vector<std::shared_ptr<source::Source>> dropped;  // closed outside of the lock
  std::lock_guard lock(mutex_);
  auto known = sources_.find(key.bytes());
  if (known == sources_.end()) {
    FB_ASSIGN_OR_RETURN(auto source, options_.open_source(uri, options));
    dropped = TakeIdleSources();
    known = sources_.emplace(key.bytes(), KeptSource{.source = std::move(source)}).first;
  }
  known->second.last_use = ++source_uses_;
  return known->second.source;
}

// Makes room for one more idle source. Those in use stay, so that others share them.
std::vector<std::shared_ptr<source::Source>> Catalog::TakeIdleSources() {
  std::vector<std::shared_ptr<source::Source>> taken;
  std::vector<decltype(sources_)::iterator> idle;
  for (auto it = sources_.begin(); it != sources_.end(); ++it) {
    if (it->second.source.use_count() == 1) idle.push_back(it);
  }
  if (idle.size() < kIdleSourcesMax) return taken;
  std::ranges::sort(idle, {}, [](const auto& it) { return it->second.last_use; });
  idle.resize(idle.size() - kIdleSourcesMax + 1);
  for (auto it : idle) {
    dropped_source_bytes_ += it->second.source->stats().bytes;
    taken.push_back(std::move(it->second.source));
    sources_.erase(it);
  }
  return taken;
}

uint64_t Catalog::SourceBytes() const {
  std::lock_guard lock(mutex_);
  uint64_t bytes = dropped_source_bytes_;
  for (const auto& [key, kept] : sources_) bytes += kept.source->stats().bytes;
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

Result<storage::Chunk> Catalog::Publish(const Hash128& key, const std::string& bytes) {
  FB_ASSIGN_OR_RETURN(auto writer, options_.store->Create(
                                       key, model::ChunkKind::kManifest, bytes.size()));
  FB_RETURN_NOT_OK(writer->Append(bytes.data(), bytes.size()));
  return writer->Commit();
}

}  // namespace forebay::cache
