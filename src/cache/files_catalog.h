// Opens trees of files: lists the source, makes the manifest of that state or finds it in
// the store, and keeps the versions that are in use. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "cache/files_version.h"
#include "cache/named_datasets.h"
#include "files/lister.h"
#include "storage/store.h"

namespace forebay::cache {

class FilesCatalog {
 public:
  using OpenSource = std::function<Result<std::shared_ptr<source::Source>>(
      const std::string& uri, const source::Options& options)>;

  struct Options {
    storage::Store* store = nullptr;  // must outlive the catalog, as the next but one
    OpenSource open_source{};         // refuses what may not be read
    NamedDatasets* named = nullptr;   // what forebay:// stands for; null: nothing
    const Clock* clock = &Clock::Real();
  };
  explicit FilesCatalog(Options options) : options_(std::move(options)) {}

  // The version that the source holds now, or that its name stands for. A listing that
  // failed half-way is continued by a call within seconds of its start, and begun anew by
  // a later one.
  Result<std::shared_ptr<const FilesVersion>> Open(const std::string& uri,
                                                   const source::Options& options,
                                                   Deadline deadline);
  // The version of a manifest that a reader brings along. Nothing is listed.
  Result<std::shared_ptr<const FilesVersion>> Adopt(const std::string& uri,
                                                    const source::Options& options,
                                                    std::string manifest_bytes);
  // Listings that run end soon, and so do those that are asked for later.
  void Stop() { stop_.request_stop(); }

 private:
  struct Listing;  // one per place; its mutex is the single flight
  using Key = std::pair<std::string, source::Options>;

  std::shared_ptr<Listing> ListingOf(const Key& key);
  // When an adoption that begins now must have ended.
  Deadline AdoptEnd() const;
  bool IsStale(const Listing& listing) const;
  Result<std::unique_ptr<files::Lister>> List(std::shared_ptr<source::Source> source,
                                              const std::string& uri, Listing* listing,
                                              Deadline deadline);
  Result<std::shared_ptr<const FilesVersion>> AdoptNamed(const std::string& uri,
                                                         NamedDataset named);
  Result<std::shared_ptr<FilesVersion>> LoadBrought(const NamedDataset& from);
  Result<std::shared_ptr<FilesVersion>> Load(const std::string& uri,
                                             const std::string& bytes,
                                             std::shared_ptr<source::Source> source,
                                             Deadline deadline);

  Options options_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Listing>> listings_;
};

}  // namespace forebay::cache
