// Several tables mixed, as Python holds them: which slots come from where, and batches.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "native/batch.h"
#include "native/stream.h"
#include "native/table.h"
#include "plan/mixture.h"
#include "reader/batches/mixture_stream.h"

namespace forebay::python {

struct MixtureOptions {
  std::vector<std::string> names;
  std::vector<std::string> columns;
  std::string shuffle = "global";
  std::string until = "first_exhausted";
  uint64_t window_ranges = plan::kWindowRangesDefault;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  // Weights, and the slot they are in force from; ascending.
  std::vector<std::pair<uint64_t, std::vector<double>>> weights;
  std::string saved;  // the cursor to go on from, as JSON; empty: from the first slot
};

// One thread at a time; a second one gets an error, not a wait.
class MixtureStream {
 public:
  MixtureStream(std::unique_ptr<BatchFlow> flow, std::shared_ptr<reader::BufferPool> pool,
                bool padded)
      : flow_(std::move(flow)), pool_(std::move(pool)), padded_(padded) {}

  std::optional<Batch> Next();
  BatchFlow& flow() { return *flow_; }

 private:
  Result<std::optional<reader::Batch>> NextColumns();

  std::unique_ptr<BatchFlow> flow_;
  std::shared_ptr<reader::BufferPool> pool_;
  bool padded_;
};

// Read-only.
class Mixture {
 public:
  static std::shared_ptr<Mixture> Make(std::vector<std::shared_ptr<Table>> tables,
                                       const MixtureOptions& options);

  std::optional<uint64_t> slot_count() const { return mixture_.slot_count(); }
  // (source, epoch, position) of each slot.
  std::vector<std::tuple<uint32_t, uint64_t, uint64_t>> SlotsAt(uint64_t first,
                                                                uint64_t count) const;
  std::vector<uint64_t> TakenAt(uint64_t slot) const { return mixture_.TakenAt(slot); }
  // The cursor of a job that has consumed the slots before this one, as JSON.
  std::string CursorAt(uint64_t slot) const;
  // Columns and order are the mixture's.
  std::shared_ptr<MixtureStream> StreamOf(const StreamOptions& options) const;

 private:
  Mixture(std::vector<std::shared_ptr<Table>> tables, plan::Mixture mixture)
      : tables_(std::move(tables)), mixture_(std::move(mixture)) {}

  std::vector<std::shared_ptr<Table>> tables_;
  plan::Mixture mixture_;
  plan::Cursor job_;
  std::vector<reader::MixedTable> mixed_;
};

void BindMixture(nanobind::module_& m);

}  // namespace forebay::python
