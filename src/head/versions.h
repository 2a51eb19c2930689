// Pins versions of sources and keeps their manifests, as files in the head's state
// directory. Thread-safe.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mapping.h"
#include "base/memory_budget.h"
#include "base/size.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "head/dataset.h"
#include "model/allowed_places.h"
#include "model/any_manifest.h"
#include "source/source.h"
#include "table/capped_memory_pool.h"

namespace forebay::head {

class Versions {
 public:
  struct Options {
    std::string folder;  // made where it is missing
    // Places that may be read; empty: all.
    std::vector<std::string> allowed{};
    size_t read_threads = 16;
    uint64_t plan_memory_bytes = kGiB;  // cap of all plans of tables together
    size_t pins_max = 8;                // at once; more wait
    size_t waiting_max = 40;  // more are turned away: they would keep others waiting
    std::chrono::hours kept_unused{24 * 14};
  };
  static Result<std::unique_ptr<Versions>> Open(Options options);

  // What the dataset's source holds now: plans its manifest, unless that is here already,
  // and keeps it. The dataset's columns must be in it.
  Result<model::AnyManifest> Pin(const Dataset& dataset, Deadline deadline);
  // kNotFound: not kept here.
  Result<model::AnyManifest> Find(const std::string& version);
  // Of the dataset's own version; planned again where it is not kept here. kChanged: the
  // source no longer holds it.
  Result<model::AnyManifest> Recall(const Dataset& dataset, Deadline deadline);
  // Keeps a manifest that another head has made. Checked.
  Status Keep(const std::string& version, const std::string& bytes);
  bool Has(const std::string& version);
  // Drops what no dataset has (`used`: what they have) and nobody has asked for in
  // kept_unused. Jobs may go on with an old version for days.
  void Forget(const std::vector<std::string>& used);
  uint64_t memory_peak_bytes() const {
    return static_cast<uint64_t>(memory_.max_memory());
  }

 private:
  class Turn;
  explicit Versions(Options options);
  Status WaitForTurn(Deadline deadline);
  std::string PathOf(const std::string& version) const;
  Result<model::AnyManifest> PinTable(const Dataset& dataset, Deadline deadline);
  Result<model::AnyManifest> PinFiles(const Dataset& dataset, Deadline deadline);
  Result<std::shared_ptr<source::Source>> SourceFor(const std::string& uri,
                                                    const source::Options& options);

  Options options_;
  model::AllowedPlaces allowed_;
  table::CappedMemoryPool memory_;
  MemoryBudget budget_;  // of memory_
  ThreadPool pool_;
  std::mutex mutex_;
  std::map<std::string, model::AnyManifest> open_;
  std::map<std::pair<std::string, source::Options>, std::shared_ptr<source::Source>>
      sources_;
  size_t pins_ = 0;
  size_t waiting_ = 0;
  std::condition_variable turn_;
  std::set<std::string> asked_;  // for, since Forget was called
};

}  // namespace forebay::head
