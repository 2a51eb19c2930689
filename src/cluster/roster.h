// Who is in the cluster, as one head saw it at one moment. Immutable: a newer one
// replaces it as a whole, and a larger epoch is newer, also across restarts of the head.
// Nodes go on with the last roster they have while no head answers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include "plan/placement.h"

namespace forebay::cluster {

enum class MemberState : uint8_t {
  kUp = 0,
  kDown = 1,      // silent for T: not asked, but its place is kept for a while
  kDraining = 2,  // answers, has no place any more
  kGone = 3,      // never in a roster: what the head says about one that left
};

std::string_view MemberStateName(MemberState state);
Result<MemberState> ParseMemberState(std::string_view name);

struct Member {
  std::string id{};      // the same after a restart
  std::string host{};    // as its machine calls itself
  std::string flight{};  // host:port where peers reach it
  std::string http{};    // host:port of its metrics and health; may be empty
  double weight = 1;     // its share of the units against the others'
  // What it can hold; 0: not known, 2^64 - 1: no quota says.
  uint64_t store_bytes = 0;
  MemberState state = MemberState::kUp;
  uint64_t fence = 0;  // of its latest registration: a larger one is a newer process

  friend bool operator==(const Member&, const Member&) = default;
};

class Roster {
 public:
  struct Options {
    uint64_t epoch = 0;
    milliseconds timeout{4'000};  // T
    std::vector<Member> members{};
  };
  // Members are sorted by id. kInvalid: an id twice, or a weight that is no weight.
  static Result<std::shared_ptr<const Roster>> Make(Options options);
  // Nobody, epoch 0: before the first word of a head.
  static std::shared_ptr<const Roster> Empty();

  uint64_t epoch() const { return options_.epoch; }
  milliseconds timeout() const { return options_.timeout; }
  std::span<const Member> members() const { return options_.members; }
  // nullptr: nobody of that id.
  const Member* Find(std::string_view id) const;

  // Who holds the places of a unit, down or not: indices into members(), best first.
  std::vector<uint32_t> Owners(const Hash128& unit, uint32_t replicas) const;
  // Whom to ask for a unit: the best `replicas` that are up. The first of them fills it
  // from the source; where an owner is down, the next one in rank stands in for it.
  std::vector<uint32_t> Route(const Hash128& unit, uint32_t replicas) const;

  // As it travels. Made once: a head sends every roster to every node.
  const std::string& json() const;

 private:
  Roster(Options options, plan::Placement places, plan::Placement up)
      : options_(std::move(options)), places_(std::move(places)), up_(std::move(up)) {}

  Options options_;
  plan::Placement places_;
  plan::Placement up_;
  mutable std::once_flag json_once_;
  mutable std::string json_;
};

Result<std::shared_ptr<const Roster>> ParseRoster(std::string_view json);

}  // namespace forebay::cluster
