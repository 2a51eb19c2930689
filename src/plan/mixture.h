// Several datasets as one: which source each slot of the mixed sequence comes from, and
// which of its rows. A slot takes the place a position has in an order: `Shards` over
// slots gives batches, ranks and remainders.
//
// A pure function of the slot: any slot is found at once, so ranks and workers need not
// walk through each other's, and resuming costs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "plan/cursor.h"
#include "plan/interleave.h"

namespace forebay::plan {

// From this slot on, counted over all ranks and from the start of the mixture.
struct WeightChange {
  uint64_t from_slot = 0;
  std::vector<double> weights{};  // one per source; 0 leaves a source out
};

struct MixtureSlot {
  uint32_t source = 0;
  uint64_t epoch = 0;     // of the source
  uint64_t position = 0;  // in the source's order of that epoch

  friend bool operator==(const MixtureSlot&, const MixtureSlot&) = default;
};

// Read-only after construction; cheap to copy, safe to use from many threads.
class Mixture {
 public:
  struct Options {
    std::vector<uint64_t> rows{};         // of each source
    std::vector<WeightChange> weights{};  // ascending, the first from the first slot on
    Until until = Until::kFirstExhausted;
    // Slots each source had given before the first slot; empty: none.
    std::vector<uint64_t> taken{};
  };
  static constexpr size_t kWeightChangesMax = 4096;

  static Result<Mixture> Make(Options options);
  // Goes on where a cursor was saved. `changes` may repeat those before the cursor; of
  // those from the weights in force at the cursor on, none may lie before its position.
  static Result<Mixture> Resume(const Cursor& cursor, std::vector<WeightChange> changes);

  size_t source_count() const { return options_.rows.size(); }
  // One past the last slot; nullopt: there is no end. The first is first_slot().
  std::optional<uint64_t> slot_count() const { return slot_count_; }
  uint64_t first_slot() const { return eras_.front().from_slot; }

  // Slots first, first + 1, …, not before first_slot(). Slots past the end go on as if
  // there were none.
  void SlotsAt(uint64_t first, std::span<MixtureSlot> out) const;
  // Rows each source has given before `slot`, over all its epochs.
  std::vector<uint64_t> TakenAt(uint64_t slot) const;
  // What a cursor saved at `slot` says of the mixture. Orders and versions of the sources
  // come from `job`, a cursor of the same sources.
  Cursor CursorAt(uint64_t slot, const Cursor& job) const;

 private:
  // Slots that share their weights.
  struct Era {
    uint64_t from_slot;
    std::vector<double> weights;
    std::shared_ptr<const Interleave> interleave;
    std::vector<uint64_t> taken;  // by each source before from_slot
  };
  explicit Mixture(Options options) : options_(std::move(options)) {}
  Status AddEras();
  const Era& EraOf(uint64_t slot) const;
  static std::vector<uint64_t> TakenIn(const Era& era, uint64_t slot);
  // Slots of one era.
  void FillFrom(const Era& era, uint64_t first, std::span<MixtureSlot> out) const;
  // The first slot before which a source has given all rows of an epoch.
  uint64_t ExhaustedAt(uint32_t source) const;
  std::optional<uint64_t> FindEnd() const;

  Options options_;
  std::vector<Era> eras_;
  std::optional<uint64_t> slot_count_;
};

// The seed of one source's orders. Sources of equal length must not share an order, so
// their names are in it; the epoch is the mixture's.
struct SourceSeedOptions {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  std::string_view name{};
};
uint64_t SourceSeed(const SourceSeedOptions& options);

}  // namespace forebay::plan
