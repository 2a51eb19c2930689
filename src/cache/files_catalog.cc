#include "cache/files_catalog.h"

#include <utility>

#include "base/mapping.h"
#include "base/uri.h"
#include "model/brought_files.h"
#include "model/source_options.h"

namespace forebay::cache {
namespace {

constexpr size_t kIdleListingsMax = 64;
constexpr milliseconds kAdoptTime{30'000};
// A listing that was not finished is gone on with for this long after it began, so that a
// caller who tries again at once need not begin anew. What changes in the source
// meanwhile may be missed, which is why it is short.
constexpr milliseconds kListingAgeMax{2'000};

Status OutOfTime(const std::string& uri) {
  return Status::Deadline("time was up while listing " + RedactUri(uri) +
                          ": give a longer timeout");
}

std::shared_ptr<const void> Unowned(const std::string& bytes) {
  return {&bytes, [](const void*) {}};
}

}  // namespace

struct FilesCatalog::Listing {
  std::timed_mutex mutex;
  std::unique_ptr<files::Lister> lister;             // of a listing that was not finished
  TimePoint started;                                 // when `lister` asked first
  std::shared_ptr<const model::FilesManifest> last;  // of the state seen last
  std::shared_ptr<const model::FilesManifest> previous;  // and of the one before
};

Result<std::shared_ptr<const FilesVersion>> FilesCatalog::Open(
    const std::string& uri, const source::Options& options, Deadline deadline) {
  FB_RETURN_NOT_OK(model::CheckFilesOptions(options));
  deadline = deadline.StoppedBy(stop_.get_token());
  if (uri.starts_with(kNamedScheme)) {
    FB_ASSIGN_OR_RETURN(auto named, FindNamed(options_.named, {.uri = uri,
                                                               .options = options,
                                                               .is_files = true,
                                                               .deadline = deadline}));
    return AdoptNamed(uri, std::move(named));
  }
  FB_ASSIGN_OR_RETURN(auto source, options_.open_source(uri, options));
  auto listing = ListingOf({uri, options});
  std::unique_lock lock(listing->mutex, deadline.when());
  if (!lock.owns_lock()) return OutOfTime(uri);
  FB_ASSIGN_OR_RETURN(auto lister, List(source, uri, listing.get(), deadline));
  FB_ASSIGN_OR_RETURN(auto version,
                      Load(uri, lister->BuildManifest(), std::move(source), deadline));
  bool changed = listing->last == nullptr ||
                 listing->last->version() != version->manifest->version();
  if (changed) listing->previous = std::exchange(listing->last, version->manifest);
  version->previous = listing->previous;
  return std::shared_ptr<const FilesVersion>(std::move(version));
}

Deadline FilesCatalog::AdoptEnd() const {
  return Deadline::After(kAdoptTime).StoppedBy(stop_.get_token());
}

bool FilesCatalog::IsStale(const Listing& listing) const {
  return options_.clock->Now() - listing.started > kListingAgeMax;
}

// A finished lister. One that was not finished stays in `listing` for the next call.
Result<std::unique_ptr<files::Lister>> FilesCatalog::List(
    std::shared_ptr<source::Source> source, const std::string& uri, Listing* listing,
    Deadline deadline) {
  // What an older listing saw may have changed since.
  if (listing->lister == nullptr || IsStale(*listing)) {
    listing->lister = std::make_unique<files::Lister>(std::move(source), uri);
    listing->started = options_.clock->Now();
  }
  Status listed = listing->lister->Run(deadline);
  if (listed.code() == StatusCode::kDeadline) return OutOfTime(uri);
  if (IsRetryable(listed)) return listed;
  auto lister = std::move(listing->lister);
  FB_RETURN_NOT_OK(listed);
  return lister;
}

Result<std::shared_ptr<const FilesVersion>> FilesCatalog::Adopt(
    const std::string& uri, const source::Options& options, std::string manifest_bytes) {
  if (!uri.starts_with(kNamedScheme)) {
    FB_ASSIGN_OR_RETURN(auto version,
                        LoadBrought({uri, options, std::move(manifest_bytes), {}}));
    return std::shared_ptr<const FilesVersion>(std::move(version));
  }
  auto bytes = std::make_shared<const std::string>(std::move(manifest_bytes));
  FB_ASSIGN_OR_RETURN(auto manifest, model::FilesManifest::View(*bytes, bytes));
  FB_ASSIGN_OR_RETURN(auto named,
                      FindNamed(options_.named, {.uri = uri,
                                                 .options = options,
                                                 .version = manifest->version(),
                                                 .is_files = true,
                                                 .deadline = AdoptEnd()}));
  named.manifest = *bytes;
  return AdoptNamed(uri, std::move(named));
}

Result<std::shared_ptr<const FilesVersion>> FilesCatalog::AdoptNamed(
    const std::string& uri, NamedDataset named) {
  FB_ASSIGN_OR_RETURN(auto version, LoadBrought(named));
  version->uri = uri;
  version->peers = std::move(named.peers);
  return std::shared_ptr<const FilesVersion>(std::move(version));
}

Result<std::shared_ptr<FilesVersion>> FilesCatalog::LoadBrought(
    const NamedDataset& from) {
  FB_ASSIGN_OR_RETURN(auto source, options_.open_source(from.uri, from.options));
  FB_ASSIGN_OR_RETURN(auto manifest,
                      model::FilesManifest::View(from.manifest, Unowned(from.manifest)));
  FB_RETURN_NOT_OK(model::CheckBrought(*manifest));
  // A manifest names objects below its root: that must be a place that may be read.
  std::string root = std::string(manifest->root()) + "/";
  FB_RETURN_NOT_OK(options_.open_source(root, from.options).status());
  return Load(from.uri, from.manifest, std::move(source), AdoptEnd());
}

std::shared_ptr<FilesCatalog::Listing> FilesCatalog::ListingOf(const Key& key) {
  std::lock_guard lock(mutex_);
  for (auto& [other, idle] : listings_) {
    bool unused = idle.use_count() == 1;
    // It holds what it listed: millions of names, perhaps.
    if (unused && idle->lister != nullptr && IsStale(*idle)) idle->lister.reset();
  }
  if (listings_.size() >= kIdleListingsMax) {
    std::erase_if(listings_,
                  [](const auto& entry) { return entry.second.use_count() == 1; });
  }
  auto& listing = listings_[key];
  if (listing == nullptr) listing = std::make_shared<Listing>();
  return listing;
}

Result<std::shared_ptr<FilesVersion>> FilesCatalog::Load(
    const std::string& uri, const std::string& bytes,
    std::shared_ptr<source::Source> source, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto plain, model::FilesManifest::View(bytes, Unowned(bytes)));
  Hash128 key = model::FilesManifestKey(plain->version());
  auto version = std::make_shared<FilesVersion>();
  auto stored = options_.store->Get(key, deadline);
  if (!stored.ok() || stored->size != bytes.size()) {
    FB_ASSIGN_OR_RETURN(auto writer, options_.store->Create(
                                         key, model::ChunkKind::kManifest, bytes.size()));
    FB_RETURN_NOT_OK(writer->Append(bytes.data(), bytes.size()));
    stored = writer->Commit();
  }
  if (!stored.ok()) return stored.status();
  FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(stored->fd->get(), stored->size,
                                                 Mapping::Mode::kShared));
  FB_ASSIGN_OR_RETURN(version->manifest,
                      model::FilesManifest::View(mapping->bytes(), mapping));
  version->uri = uri;
  version->source = std::move(source);
  version->manifest_chunk = *std::move(stored);
  return version;
}

}  // namespace forebay::cache
