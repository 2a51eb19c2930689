#include "node/cluster.h"

namespace forebay::node {
namespace {

constexpr size_t kCallers = 32;

}  // namespace

Result<std::unique_ptr<Cluster>> Cluster::Join(Options options) {
  std::string self = options.link.self ? options.link.self->id : std::string();
  auto joined = std::unique_ptr<Cluster>(new Cluster(std::move(self)));
  options.link.on_roster = [raw = joined.get()](const cluster::Roster& roster) {
    raw->calls_.OnRoster(roster);
  };
  FB_ASSIGN_OR_RETURN(joined->link_, cluster::HeadLink::Start(std::move(options.link)));
  return joined;
}

ThreadPool& Cluster::callers() {
  std::call_once(callers_once_,
                 [this] { callers_ = std::make_unique<ThreadPool>(kCallers); });
  return *callers_;
}

}  // namespace forebay::node
