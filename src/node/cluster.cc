#include "node/cluster.h"

#include <set>

namespace forebay::node {
namespace {

constexpr size_t kCallers = 32;  // of each kind

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::Join(Options options) {
  std::string self = options.link.self ? options.link.self->id : std::string();
  auto joined = std::unique_ptr<Cluster>(
      new Cluster(std::move(self), std::move(options.second_copies)));
  options.link.on_roster = [raw = joined.get()](const cluster::Roster& roster) {
    raw->OnRoster(roster);
  };
  FB_ASSIGN_OR_RETURN(joined->link_, cluster::HeadLink::Start(std::move(options.link)));
  return joined;
}

void Cluster::OnRoster(const cluster::Roster& roster) {
  calls_.OnRoster(roster);
  std::set<std::string> addresses;
  for (const cluster::Member& member : roster.members()) addresses.insert(member.flight);
  client_.KeepOnly(addresses);
}

ThreadPool& Cluster::callers(CallKind kind) {
  Callers& callers = callers_[static_cast<size_t>(kind)];
  std::call_once(callers.once,
                 [&] { callers.threads = std::make_unique<ThreadPool>(kCallers); });
  return *callers.threads;
}

}  // namespace forebay::node
