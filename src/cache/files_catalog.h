// Opens trees of files: lists the source, makes the manifest of that state or finds it in
// the store, and keeps the versions that are in use. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "cache/files_version.h"
#include "files/lister.h"
#include "storage/store.h"

namespace forebay::cache {

class FilesCatalog {
 public:
  using OpenSource = std::function<Result<std::shared_ptr<source::Source>>(
      const std::string& uri, const source::Options& options)>;

  // The store must outlive the catalog. `open_source` refuses what may not be read.
  FilesCatalog(storage::Store* store, OpenSource open_source);

  // The version that the source holds now. Callers that ask at once share a listing; one
  // that ran out of time is gone on with.
  Result<std::shared_ptr<const FilesVersion>> Open(const std::string& uri,
                                                   const source::Options& options,
                                                   Deadline deadline);
  // The version of a manifest that a reader brings along. Nothing is listed.
  Result<std::shared_ptr<const FilesVersion>> Adopt(const std::string& uri,
                                                    const source::Options& options,
                                                    std::string manifest_bytes);

 private:
  struct Listing;  // one per place; its mutex is the single flight
  using Key = std::pair<std::string, source::Options>;

  std::shared_ptr<Listing> ListingOf(const Key& key);
  Result<std::shared_ptr<FilesVersion>> Load(const std::string& uri,
                                             const std::string& bytes,
                                             std::shared_ptr<source::Source> source);

  storage::Store* store_;
  OpenSource open_source_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Listing>> listings_;
};

}  // namespace forebay::cache
