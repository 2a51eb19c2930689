// Opens datasets: lists the source, finds or plans the manifest of that state, and keeps
// the versions it has seen. Thread-safe.
#pragma once

#include <arrow/memory_pool.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/size.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "cache/named_datasets.h"
#include "cache/version.h"
#include "model/allowed_places.h"
#include "table/dataset/dataset.h"

namespace forebay::cache {

using SourceOpener = std::function<Result<std::shared_ptr<source::Source>>(
    const std::string& uri, const source::Options& options)>;

class Catalog {
 public:
  struct Options {
    storage::Store* store = nullptr;  // must outlive the catalog, as the next two
    ThreadPool* pool = nullptr;
    arrow::MemoryPool* memory = nullptr;
    MemoryBudget* budget = nullptr;  // of `memory`; nullptr: nobody counts
    table::FooterCache* footers = nullptr;
    SourceOpener open_source = source::OpenSource;
    uint64_t range_bytes = 16 * kMiB;  // decoded rows of a row range
    // Places that may be read; empty: all. Checked before a source is touched.
    std::vector<std::string> allowed{};
    NamedDatasets* named = nullptr;  // must outlive the catalog; null: there are none
  };
  explicit Catalog(Options options);

  // The version that the source holds now. However many callers ask at once, a manifest
  // is planned once; those who wait for it get kDeadline when their time is up.
  Result<std::shared_ptr<const Version>> Open(const std::string& uri,
                                              const source::Options& options,
                                              Deadline deadline);
  // The version of a manifest that a reader brings along after its node died. Nothing is
  // listed: the objects are checked against their identities as they are read.
  Result<std::shared_ptr<const Version>> Adopt(const std::string& uri,
                                               const source::Options& options,
                                               std::string manifest_bytes);
  // The source of a place, shared by all that ask with the same options while one of them
  // has it, and for a while longer; kPermission for a place that may not be read.
  Result<std::shared_ptr<source::Source>> SourceFor(const std::string& uri,
                                                    const source::Options& options);
  // Plans that run end soon, and so do those that are asked for later.
  void Stop() { stop_.request_stop(); }
  // Bytes that came from all sources so far.
  uint64_t SourceBytes() const;

 private:
  struct Slot;  // one per (version, options); its mutex is the single flight

  // When an adoption that begins now must have ended.
  Deadline AdoptEnd() const;
  table::DatasetRequest Request(const std::string& uri, const source::Options& options,
                                Deadline deadline);
  table::LayoutShelf Shelf(Deadline deadline);
  std::shared_ptr<Slot> SlotFor(const Hash128& version, const source::Options& options);
  Result<std::shared_ptr<const Version>> Load(const storage::Chunk& chunk,
                                              const std::string& uri,
                                              std::shared_ptr<source::Source> source);
  Result<storage::Chunk> Publish(const Hash128& key, const std::string& bytes);
  // A version that need not be listed or planned.
  struct Planned {
    std::string uri;  // as the caller named it
    source::Options options;
    NamedDataset dataset;
  };
  Result<std::shared_ptr<const Version>> AdoptPlanned(Planned planned, Deadline deadline);
  // A name with a filter: the version that it stands for, planned anew by this node. Its
  // rows come from the source, not from peers, who have the dataset as it is defined.
  Result<std::shared_ptr<const Version>> OpenFiltered(const std::string& uri,
                                                      const std::string& filter,
                                                      Deadline deadline);
  Result<std::shared_ptr<const Version>> AdoptFiltered(const std::string& uri,
                                                       const std::string& filter,
                                                       std::string manifest);

  Options options_;
  model::AllowedPlaces allowed_;
  std::stop_source stop_;
  struct KeptSource {
    std::shared_ptr<source::Source> source;
    uint64_t last_use = 0;
  };
  // Those that are too many; the mutex is held.
  std::vector<std::shared_ptr<source::Source>> TakeIdleSources();

  mutable std::mutex mutex_;
  std::map<std::string, KeptSource> sources_;  // by place and options
  uint64_t source_uses_ = 0;
  uint64_t dropped_source_bytes_ = 0;  // that came from sources that are no longer kept
  std::map<std::pair<Hash128, source::Options>, std::shared_ptr<Slot>> slots_;
};

}  // namespace forebay::cache
