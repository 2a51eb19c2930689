// What this node's store holds of the cluster's datasets, for its reports: of those units
// that are placed here by the newest roster, how many are there as the dataset shows
// them. One thread counts, a little at a time: a table of a million units costs no more
// in a second than one of ten, it only takes longer to be told anew. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cache/engine.h"
#include "cluster/work.h"
#include "model/any_manifest.h"
#include "node/head_datasets.h"

namespace forebay::node {

class HeldVersions {
 public:
  // Both must outlive this; the datasets have joined a cluster. kFull when its thread
  // cannot be started.
  static Result<std::unique_ptr<HeldVersions>> Start(cache::Engine* engine,
                                                     HeadDatasets* datasets);
  ~HeldVersions();

  std::vector<cluster::VersionReport> Reports();
  // Counts one dataset anew, whole and at once: whoever hears that a warm-up is done must
  // not be told then that nothing is there.
  void Recount(const std::string& dataset, const std::string& version);

 private:
  // Whatever changes what would be counted.
  struct State {
    uint64_t published = 0;
    uint64_t chunk_count = 0;
    uint64_t used_bytes = 0;
    uint64_t roster_epoch = 0;
    friend bool operator==(const State&, const State&) = default;
  };
  struct Known {
    HomeDataset dataset;
    std::optional<model::AnyManifest> manifest{};  // none: not needed yet
    model::Projection columns{};                   // of a table
    std::vector<model::ChunkRef> chunks{};         // of a tree of files
    uint64_t next = 0;                             // the unit to look at
    cluster::VersionReport counting{};             // in this pass
    State begun{};                                 // when this pass began
    std::optional<State> counted{};                // when the last whole pass began
    cluster::VersionReport held{};                 // by that pass
  };

  HeldVersions(cache::Engine* engine, HeadDatasets* datasets);
  void Run();
  State Now() const;
  // The names as the head has them.
  Status Learn();
  // False when its manifest is not in the store: then nobody has opened it here.
  bool Prepare(Known* known);
  // Goes on until the pass ends or time is up.
  void Count(Known* known, TimePoint until);
  std::optional<uint64_t> StoredBytes(const Known& known, uint64_t unit) const;
  static Hash128 PlacementOf(const Known& known, uint64_t unit);
  void NoteOrigins(const Known& known, uint64_t unit) const;
  bool IsOurs(const Known& known, const cluster::Roster& roster, uint64_t unit) const;
  void Publish();

  cache::Engine* engine_;
  HeadDatasets* datasets_;

  std::mutex counting_;  // of the next two; held over calls of the head
  std::vector<Known> known_;
  uint64_t found_before_ = 0;  // opens of datasets, when the head was asked last

  std::mutex mutex_;  // of all below
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<cluster::VersionReport> reports_;
  std::thread thread_;
};

}  // namespace forebay::node
