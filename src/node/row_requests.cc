#include "node/row_requests.h"

#include "base/log.h"
#include "base/start_thread.h"

namespace forebay::node {
namespace {

constexpr milliseconds kTurnPoll{100};

uint64_t BytesOf(const cache::GatheredRows& rows) {
  uint64_t bytes = 0;
  for (const auto& part : rows.parts) bytes += part.size;
  return bytes;
}

}  // namespace

RowRequests::~RowRequests() {
  for (auto& [ticket, gathering] : tickets_) gathering.stop.request_stop();
  for (auto& [ticket, gathering] : tickets_) {
    if (gathering.thread.joinable()) gathering.thread.join();
  }
}

Status RowRequests::Start(uint64_t ticket, cache::RowRequest request) {
  if (tickets_.size() >= limits_.tickets) {
    return Status::Full("too many gathers are under way");
  }
  auto [at, fresh] = tickets_.try_emplace(ticket, Gathering{std::move(request)});
  if (!fresh) return Status::Invalid("this gather is under way already");
  at->second.request.budget = &budget_;
  at->second.request.stop = at->second.stop.get_token();
  // Without a thread it waits, for the next look or for whoever takes its rows.
  if (under_way_ < limits_.under_way) (void)Launch(at->second);
  return Status::OK();
}

Status RowRequests::Launch(Gathering& gathering) {
  std::promise<Result<cache::GatheredRows>> promise;
  auto rows = promise.get_future();
  FB_ASSIGN_OR_RETURN(
      gathering.thread,
      StartThread([request = &gathering.request, promise = std::move(promise)]() mutable {
        promise.set_value(request->view.version->peers->Gather(*request));
      }));
  gathering.rows = std::move(rows);
  ++under_way_;
  return Status::OK();
}

// The oldest first.
void RowRequests::LaunchNext() {
  for (auto at = tickets_.begin(); at != tickets_.end() && under_way_ < limits_.under_way;
       ++at) {
    if (!at->second.thread.joinable() && !Launch(at->second).ok()) return;
  }
}

Result<cache::GatheredRows> RowRequests::End(Tickets::iterator at) {
  Result<cache::GatheredRows> rows = Status::Cancelled("nobody waits for rows");
  if (at->second.thread.joinable()) {
    at->second.thread.join();
    --under_way_;
    rows = at->second.rows.get();
    if (rows.ok()) budget_.Give(BytesOf(*rows));
  }
  tickets_.erase(at);
  return rows;
}

void RowRequests::Drop(const std::vector<uint64_t>& tickets) {
  for (uint64_t ticket : tickets) {
    auto found = tickets_.find(ticket);
    if (found != tickets_.end()) found->second.stop.request_stop();
  }
  for (uint64_t ticket : tickets) {
    auto found = tickets_.find(ticket);
    if (found != tickets_.end()) (void)End(found);
  }
  LaunchNext();
}

cache::GatheredRows RowRequests::LeaveInChunks(Tickets::iterator at, const Status& why) {
  spdlog::warn("rows are read from their chunks instead of from peers: {}",
               why.message());
  cache::GatheredRows rows;
  rows.part_of.assign(at->second.request.rows.size(), cache::GatheredRows::kInChunks);
  tickets_.erase(at);
  return rows;
}

Result<cache::GatheredRows> RowRequests::Take(uint64_t ticket, Deadline deadline,
                                              const std::function<bool()>& ended) {
  auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return Status::NotFound("there is no such gather");
  Gathering& gathering = found->second;
  // Somebody waits for it: it waits for nobody's turn.
  if (!gathering.thread.joinable()) {
    Status launched = Launch(gathering);
    if (!launched.ok()) return LeaveInChunks(found, launched);
  }
  while (gathering.rows.wait_for(kTurnPoll) != std::future_status::ready) {
    if (!ended() && !deadline.passed()) continue;
    gathering.stop.request_stop();
  }
  Result<cache::GatheredRows> rows = End(found);
  LaunchNext();
  if (deadline.passed() && !rows.ok()) {
    return Status::Deadline("rows did not come from other nodes in time");
  }
  return rows;
}

}  // namespace forebay::node
