#include "cluster/roster.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/json_fields.h"

namespace forebay::cluster {
namespace {

constexpr std::string_view kStateNames[] = {"up", "down", "draining", "gone"};

bool HasPlace(const Member& member) {
  return member.state == MemberState::kUp || member.state == MemberState::kDown;
}

bool IsUp(const Member& member) { return member.state == MemberState::kUp; }

// Indices stay those of `members`: whoever is left out weighs nothing.
Result<plan::Placement> PlaceThose(std::span<const Member> members,
                                   bool (*counts)(const Member&)) {
  std::vector<plan::PlacementMember> placed;
  placed.reserve(members.size());
  for (const Member& member : members) {
    placed.push_back({.id = plan::MemberHash(member.id),
                      .weight = counts(member) ? member.weight : 0});
  }
  return plan::Placement::Make(placed, 1);
}

std::string RosterJson(const Roster& roster) {
  auto members = nlohmann::json::array();
  for (const Member& member : roster.members()) {
    members.push_back({{"id", member.id},
                       {"host", member.host},
                       {"flight", member.flight},
                       {"http", member.http},
                       {"weight", member.weight},
                       {"store_bytes", member.store_bytes},
                       {"state", MemberStateName(member.state)},
                       {"fence", member.fence}});
  }
  nlohmann::json json = {{"epoch", roster.epoch()},
                         {"timeout_ms", roster.timeout().count()},
                         {"members", std::move(members)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Member> ParseMember(const nlohmann::json& json) {
  JsonFields fields(json, "a member of the roster");
  Member member{.id = fields.Text("id"),
                .host = fields.Text("host"),
                .flight = fields.Text("flight"),
                .http = fields.TextOr("http", ""),
                .weight = fields.Real("weight"),
                .store_bytes = fields.NumberOr("store_bytes", 0),
                .state = MemberState::kUp,
                .fence = fields.Number("fence")};
  std::string state = fields.Text("state");
  FB_RETURN_NOT_OK(fields.status());
  FB_ASSIGN_OR_RETURN(member.state, ParseMemberState(state));
  return member;
}

}  // namespace

std::string_view MemberStateName(MemberState state) {
  return kStateNames[static_cast<size_t>(state)];
}

Result<MemberState> ParseMemberState(std::string_view name) {
  for (size_t i = 0; i < std::size(kStateNames); ++i) {
    if (kStateNames[i] == name) return static_cast<MemberState>(i);
  }
  return Status::Invalid(fmt::format("there is no member state '{}'", name));
}

Result<std::shared_ptr<const Roster>> Roster::Make(Options options) {
  std::ranges::sort(options.members, {}, &Member::id);
  FB_ASSIGN_OR_RETURN(auto places, PlaceThose(options.members, HasPlace));
  FB_ASSIGN_OR_RETURN(auto up, PlaceThose(options.members, IsUp));
  return std::shared_ptr<const Roster>(
      new Roster(std::move(options), std::move(places), std::move(up)));
}

std::shared_ptr<const Roster> Roster::Empty() { return Make({}).ValueOrDie(); }

const Member* Roster::Find(std::string_view id) const {
  auto found = std::ranges::lower_bound(options_.members, id, {}, &Member::id);
  return found != options_.members.end() && found->id == id ? &*found : nullptr;
}

std::vector<uint32_t> Roster::Owners(const Hash128& unit, uint32_t replicas) const {
  return places_.Ranked(unit, replicas);
}

std::vector<uint32_t> Roster::Route(const Hash128& unit, uint32_t replicas) const {
  return up_.Ranked(unit, replicas);
}

const std::string& Roster::json() const {
  std::call_once(json_once_, [this] { json_ = RosterJson(*this); });
  return json_;
}

Result<std::shared_ptr<const Roster>> ParseRoster(std::string_view json) {
  auto fields = JsonFields::Parse(json, "a roster");
  Roster::Options options{
      .epoch = fields.Number("epoch"),
      .timeout = milliseconds(fields.Number("timeout_ms")),
  };
  nlohmann::json members = fields.Array("members");
  FB_RETURN_NOT_OK(fields.status());
  for (const nlohmann::json& one : members) {
    FB_ASSIGN_OR_RETURN(Member member, ParseMember(one));
    options.members.push_back(std::move(member));
  }
  return Roster::Make(std::move(options));
}

}  // namespace forebay::cluster
