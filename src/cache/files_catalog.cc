#include "cache/files_catalog.h"

#include <utility>

#include "base/mapping.h"
#include "model/brought_files.h"

namespace forebay::cache {
namespace {

constexpr size_t kIdleListingsMax = 64;
constexpr milliseconds kAdoptTime{30'000};

std::shared_ptr<const void> Unowned(const std::string& bytes) {
  return {&bytes, [](const void*) {}};
}

}  // namespace

struct FilesCatalog::Listing {
  std::mutex mutex;
  std::unique_ptr<files::Lister> lister;             // of a listing that was not finished
  std::shared_ptr<const model::FilesManifest> last;  // of the state seen last
  std::shared_ptr<const model::FilesManifest> previous;  // and of the one before
};

Result<std::shared_ptr<const FilesVersion>> FilesCatalog::Open(
    const std::string& uri, const source::Options& options, Deadline deadline) {
  if (uri.starts_with(kNamedScheme)) {
    FB_ASSIGN_OR_RETURN(auto named, FindNamed(options_.named, {.uri = uri,
                                                               .options = options,
                                                               .is_files = true,
                                                               .deadline = deadline}));
    return AdoptNamed(uri, std::move(named));
  }
  FB_ASSIGN_OR_RETURN(auto source, options_.open_source(uri, options));
  auto listing = ListingOf({uri, options});
  std::lock_guard lock(listing->mutex);
  if (listing->lister == nullptr) {
    listing->lister = std::make_unique<files::Lister>(source, uri);
  }
  Status listed = listing->lister->Run(deadline);
  bool resumes = listed.code() == StatusCode::kDeadline || IsRetryable(listed);
  if (!listed.ok() && resumes) return listed;
  auto lister = std::move(listing->lister);
  FB_RETURN_NOT_OK(listed);
  FB_ASSIGN_OR_RETURN(auto version,
                      Load(uri, lister->BuildManifest(), std::move(source)));
  bool changed = listing->last == nullptr ||
                 listing->last->version() != version->manifest->version();
  if (changed) listing->previous = std::exchange(listing->last, version->manifest);
  version->previous = listing->previous;
  return std::shared_ptr<const FilesVersion>(std::move(version));
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
  FB_ASSIGN_OR_RETURN(
      auto named, FindNamed(options_.named, {.uri = uri,
                                             .options = options,
                                             .version = manifest->version(),
                                             .is_files = true,
                                             .deadline = Deadline::After(kAdoptTime)}));
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
  return Load(from.uri, from.manifest, std::move(source));
}

std::shared_ptr<FilesCatalog::Listing> FilesCatalog::ListingOf(const Key& key) {
  std::lock_guard lock(mutex_);
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
    std::shared_ptr<source::Source> source) {
  FB_ASSIGN_OR_RETURN(auto plain, model::FilesManifest::View(bytes, Unowned(bytes)));
  Hash128 key = model::FilesManifestKey(plain->version());
  auto version = std::make_shared<FilesVersion>();
  auto stored = options_.store->Get(key);
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
