#include "plan/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/bytes.h"
#include "base/hash.h"

namespace forebay::plan {
namespace {

Status CheckSources(const Mixture::Options& options) {
  for (size_t i = 0; i < options.rows.size(); ++i) {
    if (options.rows[i] > 0) continue;
    for (const WeightChange& change : options.weights) {
      if (i >= change.weights.size() || change.weights[i] == 0) continue;
      return Status::Invalid(fmt::format(
          "Source {} of the mixture has a weight but no rows: leave it out.", i));
    }
  }
  if (!options.taken.empty() && options.taken.size() != options.rows.size()) {
    return Status::Invalid(fmt::format("There are {} sources, and positions of {}.",
                                       options.rows.size(), options.taken.size()));
  }
  return Status::OK();
}

Status CheckChanges(const Mixture::Options& options) {
  const auto& changes = options.weights;
  if (changes.empty())
    return Status::Invalid("A mixture needs weights: give one a source.");
  if (changes.size() > Mixture::kWeightChangesMax) {
    return Status::Invalid(fmt::format("The weights change {} times: the limit is {}.",
                                       changes.size(), Mixture::kWeightChangesMax));
  }
  for (size_t i = 0; i < changes.size(); ++i) {
    if (changes[i].weights.size() != options.rows.size()) {
      return Status::Invalid(fmt::format("There are {} sources, and {} weights.",
                                         options.rows.size(), changes[i].weights.size()));
    }
    if (i > 0 && changes[i].from_slot <= changes[i - 1].from_slot) {
      return Status::Invalid(fmt::format(
          "The weights from slot {} on come after those from slot {} on: give changes in "
          "ascending order.",
          changes[i].from_slot, changes[i - 1].from_slot));
    }
  }
  return Status::OK();
}

}  // namespace

Result<Mixture> Mixture::Make(Options options) {
  FB_RETURN_NOT_OK(CheckChanges(options));
  FB_RETURN_NOT_OK(CheckSources(options));
  Mixture mixture(std::move(options));
  FB_RETURN_NOT_OK(mixture.AddEras());
  mixture.slot_count_ = mixture.FindEnd();
  return mixture;
}

Status Mixture::AddEras() {
  std::map<std::vector<double>, std::shared_ptr<const Interleave>> made;
  std::vector<uint64_t> taken = options_.taken;
  taken.resize(options_.rows.size());
  for (const WeightChange& change : options_.weights) {
    auto& interleave = made[change.weights];
    if (interleave == nullptr) {
      FB_ASSIGN_OR_RETURN(Interleave fresh, Interleave::Make(change.weights));
      interleave = std::make_shared<Interleave>(std::move(fresh));
    }
    if (!eras_.empty()) taken = TakenIn(eras_.back(), change.from_slot);
    eras_.push_back({change.from_slot, change.weights, interleave, taken});
  }
  return Status::OK();
}

const Mixture::Era& Mixture::EraOf(uint64_t slot) const {
  auto after = std::ranges::upper_bound(eras_, slot, {}, &Era::from_slot);
  return after == eras_.begin() ? eras_.front() : *(after - 1);
}

std::vector<uint64_t> Mixture::TakenIn(const Era& era, uint64_t slot) {
  std::vector<uint64_t> taken = era.interleave->CountsAt(slot - era.from_slot);
  for (size_t i = 0; i < taken.size(); ++i) taken[i] += era.taken[i];
  return taken;
}

std::vector<uint64_t> Mixture::TakenAt(uint64_t slot) const {
  return TakenIn(EraOf(slot), slot);
}

void Mixture::SlotsAt(uint64_t first, std::span<MixtureSlot> out) const {
  while (!out.empty()) {
    const Era& era = EraOf(first);
    uint64_t end = &era == &eras_.back() ? UINT64_MAX : (&era + 1)->from_slot;
    auto part = out.first(std::min<uint64_t>(out.size(), end - first));
    FillFrom(era, first, part);
    first += part.size();
    out = out.subspan(part.size());
  }
}

// Divides once per source, and then only counts.
void Mixture::FillFrom(const Era& era, uint64_t first, std::span<MixtureSlot> out) const {
  std::vector<uint64_t> taken = TakenIn(era, first);
  std::vector<MixtureSlot> next(taken.size());
  for (uint32_t i = 0; i < next.size(); ++i) {
    uint64_t rows = std::max<uint64_t>(1, options_.rows[i]);
    next[i] = {i, taken[i] / rows, taken[i] % rows};
  }
  std::span<const uint16_t> pattern = era.interleave->pattern();
  uint64_t at = (first - era.from_slot) % pattern.size();
  for (MixtureSlot& slot : out) {
    MixtureSlot& source = next[pattern[at]];
    slot = source;
    if (++source.position == options_.rows[source.source]) {
      source.position = 0;
      ++source.epoch;
    }
    if (++at == pattern.size()) at = 0;
  }
}

uint64_t Mixture::ExhaustedAt(uint32_t source) const {
  uint64_t rows = options_.rows[source];
  for (size_t i = 0; i < eras_.size(); ++i) {
    const Era& era = eras_[i];
    if (era.taken[source] >= rows) return era.from_slot;
    uint64_t after = era.interleave->SlotAfter(source, rows - era.taken[source]);
    bool last = i + 1 == eras_.size();
    if (after == UINT64_MAX) continue;
    if (last || era.from_slot + after <= eras_[i + 1].from_slot) {
      return era.from_slot + after;
    }
  }
  return UINT64_MAX;
}

std::optional<uint64_t> Mixture::FindEnd() const {
  if (options_.until == Until::kForever) return std::nullopt;
  std::vector<uint64_t> ends;
  for (uint32_t i = 0; i < source_count(); ++i) {
    // A source that never has a weight cannot be waited for.
    uint64_t end = ExhaustedAt(i);
    if (end != UINT64_MAX) ends.push_back(end);
  }
  if (ends.empty()) return std::nullopt;
  bool first = options_.until == Until::kFirstExhausted;
  return first ? std::ranges::min(ends) : std::ranges::max(ends);
}

Cursor Mixture::CursorAt(uint64_t slot, const Cursor& job) const {
  const Era& era = EraOf(slot);
  Cursor cursor = job;
  std::vector<uint64_t> taken = TakenIn(era, slot);
  MixtureCursor mixture = job.mixture.value_or(MixtureCursor{});
  mixture.position = slot;
  mixture.until = options_.until;
  mixture.weights = era.weights;
  mixture.weights_since = era.from_slot;
  mixture.taken_before = era.taken;
  for (size_t i = 0; i < cursor.sources.size(); ++i) {
    uint64_t rows = std::max<uint64_t>(1, options_.rows[i]);
    cursor.sources[i].epoch = taken[i] / rows;
    cursor.sources[i].position = taken[i] % rows;
  }
  cursor.mixture = std::move(mixture);
  return cursor;
}

Result<Mixture> Mixture::Resume(const Cursor& cursor, std::vector<WeightChange> changes) {
  if (!cursor.mixture) return Status::Invalid("The cursor is not one of a mixture.");
  const MixtureCursor& saved = *cursor.mixture;
  Options options{.weights = {{saved.weights_since, saved.weights}},
                  .until = saved.until,
                  .taken = saved.taken_before};
  for (const SourceCursor& source : cursor.sources) options.rows.push_back(source.rows);
  for (WeightChange& change : changes) {
    bool in_force = change.from_slot == saved.weights_since;
    if (change.from_slot < saved.weights_since ||
        (in_force && change.weights == saved.weights)) {
      continue;
    }
    if (change.from_slot < saved.position) {
      return Status::Invalid(
          fmt::format("The weights from slot {} on are not those the job used up to slot "
                      "{}: change weights from slot {} on or later.",
                      change.from_slot, saved.position, saved.position));
    }
    if (in_force) options.weights.clear();
    options.weights.push_back(std::move(change));
  }
  FB_ASSIGN_OR_RETURN(Mixture mixture, Make(std::move(options)));
  std::vector<uint64_t> taken = mixture.TakenAt(saved.position);
  for (size_t i = 0; i < taken.size(); ++i) {
    const SourceCursor& source = cursor.sources[i];
    if (taken[i] == source.epoch * source.rows + source.position) continue;
    return Status::Corrupt(fmt::format(
        "The cursor contradicts itself: source \"{}\" stands at {} of epoch {}, and the "
        "weights put it elsewhere.",
        source.name, source.position, source.epoch));
  }
  return mixture;
}

uint64_t SourceSeed(const SourceSeedOptions& options) {
  Encoder input;
  input.PutString("forebay source 1");
  input.PutString(options.name);
  input.Put(options.seed);
  input.Put(options.epoch);
  return HashBytes(input.bytes()).low;
}

}  // namespace forebay::plan
