// Where a job is: what it reads, in which order, and how far all ranks together have
// come. The same on every rank; a few hundred bytes of JSON (docs/formats/cursor.md), so
// that a training loop can keep it as a plain dict in its checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "plan/order.h"

namespace forebay::plan {

// When a mixture ends. A source that has given all its rows begins its next epoch.
enum class Until : uint8_t {
  kFirstExhausted = 0,  // as soon as one source has given all its rows
  kAllExhausted = 1,    // once every source has
  kForever = 2,
};

std::string_view UntilName(Until until);
// "first_exhausted", "all_exhausted" or "forever".
Result<Until> ParseUntil(std::string_view name);

// One dataset of a job.
struct SourceCursor {
  std::string name{};  // in a mixture; empty otherwise
  Hash128 version{};
  uint64_t rows = 0;
  OrderMode mode = OrderMode::kSequential;
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t position = 0;  // rows of the epoch consumed, by all ranks together
  // Of the window order only.
  uint64_t window_ranges = 0;
  Hash128 layout{};

  // What an order of this version says of itself; position 0.
  static SourceCursor Of(const Order& order, const Hash128& version);

  friend bool operator==(const SourceCursor&, const SourceCursor&) = default;
};

// What a mixture needs besides the positions of its sources.
struct MixtureCursor {
  uint64_t seed = 0;
  uint64_t epoch = 0;
  uint64_t position = 0;  // slots consumed, by all ranks together
  Until until = Until::kFirstExhausted;
  std::vector<double> weights{};         // in force
  uint64_t weights_since = 0;            // the slot they are in force from
  std::vector<uint64_t> taken_before{};  // rows of each source before that slot

  friend bool operator==(const MixtureCursor&, const MixtureCursor&) = default;
};

struct Cursor {
  static constexpr uint64_t kFormatVersion = 1;

  std::vector<SourceCursor> sources{};  // one, or those of the mixture
  std::optional<MixtureCursor> mixture{};

  std::string ToJson() const;
  // kUnsupported for a cursor of a later release, kInvalid for what is no cursor, with a
  // sentence that names the field.
  static Result<Cursor> FromJson(std::string_view text);

  // OK when a job that is described by a cursor of its own can go on here. Otherwise says
  // everything that differs. Epochs, positions and weights do not count: they are what a
  // cursor brings. kChanged where only the version differs.
  Status Matches(const Cursor& job) const;

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

}  // namespace forebay::plan
