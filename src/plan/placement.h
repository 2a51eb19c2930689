// Which members of a cluster own a fill unit: weighted rendezvous hashing. Every member
// gets a score for the unit that depends on nothing but the two and the member's weight;
// the best scores own. So a member that joins or leaves moves only its own share, and
// whoever knows the members computes the same owners without asking anybody.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"

namespace forebay::plan {

struct PlacementMember {
  Hash128 id{};       // MemberHash of its name
  double weight = 1;  // its share against the others'; 0: owns nothing
};

// What a member is called, as placement sees it.
Hash128 MemberHash(std::string_view member_id);

// A value; its methods may be called from any thread. Costs about 3 ns for each member
// and unit, so places are computed as they are needed and never stored.
class Placement {
 public:
  // kInvalid: a weight that is negative or not finite, an id given twice, or no replica.
  static Result<Placement> Make(std::span<const PlacementMember> members,
                                uint32_t replicas);

  // Indices of the owners in the list that was given, the best first: `replicas` of them,
  // or all with a weight where they are fewer. `unit` is model::UnitRecord::content.
  std::vector<uint32_t> Owners(const Hash128& unit) const;
  // The first `limit` of what Owners would give with that many replicas: who comes next
  // when the owners do not answer.
  std::vector<uint32_t> Ranked(const Hash128& unit, uint32_t limit) const;
  // True when `member` is one of the owners.
  bool Owns(const Hash128& unit, uint32_t member) const;

  uint32_t replicas() const { return replicas_; }
  // Members with a weight.
  uint32_t owner_count() const { return static_cast<uint32_t>(members_.size()); }

 private:
  struct Owner {
    Hash128 id;
    double mean;  // 1 / weight
    uint32_t member;
  };

  std::vector<Owner> members_;  // those with a weight
  uint32_t replicas_ = 1;
};

}  // namespace forebay::plan
