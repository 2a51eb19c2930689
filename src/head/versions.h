// Pins versions of sources and keeps their manifests, as files in the head's state
// directory. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mapping.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "head/dataset.h"
#include "model/allowed_places.h"
#include "model/manifest.h"
#include "source/source.h"

namespace forebay::head {

class Versions {
 public:
  struct Options {
    std::string folder;  // made where it is missing
    // Places that may be read; empty: all.
    std::vector<std::string> allowed{};
    size_t read_threads = 16;
    size_t pins_max = 8;  // at once; more are turned away
  };
  static Result<std::unique_ptr<Versions>> Open(Options options);

  // What the dataset's source holds now: plans its manifest, unless that is here already,
  // and keeps it. The dataset's columns must be in it.
  Result<std::shared_ptr<const model::Manifest>> Pin(const Dataset& dataset,
                                                     Deadline deadline);
  // kNotFound: not kept here.
  Result<std::shared_ptr<const model::Manifest>> Find(const std::string& version);
  // Of the dataset's own version; planned again where it is not kept here. kChanged: the
  // source no longer holds it.
  Result<std::shared_ptr<const model::Manifest>> Recall(const Dataset& dataset,
                                                        Deadline deadline);
  // Keeps a manifest that another head has made. Checked.
  Status Keep(const std::string& version, const std::string& bytes);
  bool Has(const std::string& version);

 private:
  explicit Versions(Options options);
  std::string PathOf(const std::string& version) const;
  Result<std::shared_ptr<source::Source>> SourceFor(const std::string& uri,
                                                    const source::Options& options);

  Options options_;
  model::AllowedPlaces allowed_;
  ThreadPool pool_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const model::Manifest>> open_;
  std::map<std::pair<std::string, source::Options>, std::shared_ptr<source::Source>>
      sources_;
  size_t pins_ = 0;
};

}  // namespace forebay::head
