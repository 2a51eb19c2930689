#include "cache/files_catalog.h"

#include <utility>

#include "base/mapping.h"
#include "base/size.h"
#include "files/names.h"

namespace forebay::cache {
namespace {

constexpr size_t kIdleListingsMax = 64;
// Packs are cut far below this.
constexpr uint64_t kPackBytesMax = 64 * kMiB;

// A manifest that a reader brings was made by some node, or so it says: what the engine
// takes for granted is looked at, names above all, which must not lead out of the root.
Status CheckBrought(const model::FilesManifest& manifest) {
  auto wrong = [](const char* what) {
    return Status::Corrupt(std::string("the files manifest does not add up: ") + what);
  };
  for (uint32_t i = 1; i < manifest.directories().size(); ++i) {
    if (!files::WhyNoFileName(manifest.directory_path(i)).empty())
      return wrong("folders");
  }
  for (uint32_t i = 0; i < manifest.files().size(); ++i) {
    std::string_view name = manifest.file_name(i);
    if (name.find('/') != name.npos || !files::WhyNoFileName(name).empty()) {
      return wrong("names");
    }
    if (manifest.files()[i].size < 0) return wrong("sizes");
  }
  for (const model::PackRecord& pack : manifest.packs()) {
    if (pack.size > kPackBytesMax) return wrong("packs");
    for (uint32_t file : manifest.members(pack)) {
      if (file >= manifest.files().size()) return wrong("members");
    }
  }
  return Status::OK();
}

}  // namespace

struct FilesCatalog::Listing {
  std::mutex mutex;
  std::unique_ptr<files::Lister> lister;             // of a listing that was not finished
  std::shared_ptr<const model::FilesManifest> last;  // of the state seen last
  std::shared_ptr<const model::FilesManifest> previous;  // and of the one before
};

FilesCatalog::FilesCatalog(storage::Store* store, OpenSource open_source)
    : store_(store), open_source_(std::move(open_source)) {}

Result<std::shared_ptr<const FilesVersion>> FilesCatalog::Open(
    const std::string& uri, const source::Options& options, Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto source, open_source_(uri, options));
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
  FB_ASSIGN_OR_RETURN(auto source, open_source_(uri, options));
  auto bytes = std::make_shared<const std::string>(std::move(manifest_bytes));
  FB_ASSIGN_OR_RETURN(auto manifest, model::FilesManifest::View(*bytes, bytes));
  FB_RETURN_NOT_OK(CheckBrought(*manifest));
  // A manifest names objects below its root: that must be a place that may be read.
  FB_RETURN_NOT_OK(open_source_(std::string(manifest->root()) + "/", options).status());
  FB_ASSIGN_OR_RETURN(auto version, Load(uri, *bytes, std::move(source)));
  return std::shared_ptr<const FilesVersion>(std::move(version));
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
  FB_ASSIGN_OR_RETURN(
      auto plain, model::FilesManifest::View(
                      bytes, std::shared_ptr<const void>(&bytes, [](const void*) {})));
  Hash128 key = model::FilesManifestKey(plain->version());
  auto version = std::make_shared<FilesVersion>();
  auto stored = store_->Get(key);
  if (!stored.ok() || stored->size != bytes.size()) {
    FB_ASSIGN_OR_RETURN(auto writer,
                        store_->Create(key, model::ChunkKind::kManifest, bytes.size()));
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
