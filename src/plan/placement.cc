#include "plan/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace forebay::plan {
namespace {

// 64 bits that look random and depend on the unit and the member alone. Both are hashes
// already: they only have to be stirred together. The values are a format (placement_test
// pins some): nodes of different releases must agree.
uint64_t Draw(const Hash128& unit, const Hash128& member) {
  uint64_t x = (unit.low ^ member.low) * 0x9E3779B97F4A7C15U;
  x ^= x >> 32;
  x += std::rotl(unit.high, 17) ^ member.high;
  x *= 0xD6E8FEB86659FD93U;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93U;
  return x ^ (x >> 32);
}

// How far the draw, as a number in (0, 1), is from 1. 53 bits are what a double holds,
// and conversions of signed numbers are one instruction.
double Shortfall(uint64_t draw) {
  return (static_cast<double>(static_cast<int64_t>(~draw >> 11)) + 0.5) * 0x1p-53;
}

// Smaller is better: an exponential variable of that mean. The probability that it is the
// smallest of all is the weight's share of the sum.
double Score(uint64_t draw, double mean) { return -std::log1p(-Shortfall(draw)) * mean; }

struct Ranking {
  double score;
  Hash128 id;  // settles ties, whatever the order of the members
  uint32_t member;

  bool operator<(const Ranking& other) const {
    return score != other.score ? score < other.score : id < other.id;
  }
};

Status CheckMembers(std::span<const PlacementMember> members) {
  std::vector<Hash128> ids;
  for (const PlacementMember& member : members) {
    if (!(member.weight >= 0) || !std::isfinite(member.weight)) {
      return Status::Invalid(fmt::format(
          "a member's weight must be a finite number of at least 0: {}", member.weight));
    }
    ids.push_back(member.id);
  }
  std::ranges::sort(ids);
  if (std::ranges::adjacent_find(ids) != ids.end()) {
    return Status::Invalid("two members of the cluster have the same id");
  }
  return Status::OK();
}

}  // namespace

Hash128 MemberHash(std::string_view member_id) { return HashBytes(member_id); }

Result<Placement> Placement::Make(std::span<const PlacementMember> members,
                                  uint32_t replicas) {
  if (replicas == 0) return Status::Invalid("a dataset needs at least one replica");
  FB_RETURN_NOT_OK(CheckMembers(members));
  Placement placement;
  placement.replicas_ = replicas;
  for (uint32_t i = 0; i < members.size(); ++i) {
    if (members[i].weight == 0) continue;
    placement.members_.push_back(
        {.id = members[i].id, .mean = 1 / members[i].weight, .member = i});
  }
  return placement;
}

std::vector<uint32_t> Placement::Owners(const Hash128& unit) const {
  return Ranked(unit, replicas_);
}

std::vector<uint32_t> Placement::Ranked(const Hash128& unit, uint32_t limit) const {
  std::vector<Ranking> best;  // sorted
  best.reserve(std::min<size_t>(limit, members_.size()) + 1);
  double worst = std::numeric_limits<double>::infinity();  // once there are enough
  for (const Owner& owner : members_) {
    uint64_t draw = Draw(unit, owner.id);
    // -ln(1 - x) is at least x: nearly all members are ruled out without a logarithm.
    if (Shortfall(draw) * owner.mean > worst) continue;
    Ranking ranking{Score(draw, owner.mean), owner.id, owner.member};
    best.insert(std::ranges::upper_bound(best, ranking, std::less<>()), ranking);
    if (best.size() > limit) best.pop_back();
    if (best.size() == limit) worst = limit == 0 ? -1 : best.back().score;
  }
  std::vector<uint32_t> owners;
  owners.reserve(best.size());
  for (const Ranking& one : best) owners.push_back(one.member);
  return owners;
}

bool Placement::Owns(const Hash128& unit, uint32_t member) const {
  std::vector<uint32_t> owners = Owners(unit);
  return std::ranges::find(owners, member) != owners.end();
}

}  // namespace forebay::plan
