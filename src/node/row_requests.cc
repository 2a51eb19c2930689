#include "node/row_requests.h"

namespace forebay::node {
namespace {

constexpr milliseconds kLook{100};

}  // namespace

RowRequests::~RowRequests() {
  for (auto& [ticket, gathering] : under_way_) gathering.stop.request_stop();
  for (auto& [ticket, gathering] : under_way_) gathering.thread.join();
}

Status RowRequests::Start(uint64_t ticket, cache::RowRequest request) {
  if (under_way_.size() >= kUnderWayMax) {
    return Status::Full("too many gathers are under way");
  }
  auto [at, fresh] = under_way_.try_emplace(ticket);
  if (!fresh) return Status::Invalid("this gather is under way already");
  request.stop = at->second.stop.get_token();
  std::promise<Result<cache::GatheredRows>> promise;
  at->second.rows = promise.get_future();
  at->second.thread =
      std::thread([request = std::move(request), promise = std::move(promise)]() mutable {
        promise.set_value(request.view.version->peers->Gather(request));
      });
  return Status::OK();
}

void RowRequests::Drop(const std::vector<uint64_t>& tickets) {
  for (uint64_t ticket : tickets) {
    auto found = under_way_.find(ticket);
    if (found != under_way_.end()) found->second.stop.request_stop();
  }
  for (uint64_t ticket : tickets) {
    auto found = under_way_.find(ticket);
    if (found == under_way_.end()) continue;
    found->second.thread.join();
    under_way_.erase(found);
  }
}

Result<cache::GatheredRows> RowRequests::Take(uint64_t ticket, Deadline deadline,
                                              const std::function<bool()>& ended) {
  auto found = under_way_.find(ticket);
  if (found == under_way_.end()) return Status::NotFound("there is no such gather");
  Gathering& gathering = found->second;
  while (gathering.rows.wait_for(kLook) != std::future_status::ready) {
    if (!ended() && !deadline.passed()) continue;
    gathering.stop.request_stop();
  }
  gathering.thread.join();
  Result<cache::GatheredRows> rows = gathering.rows.get();
  under_way_.erase(found);
  if (deadline.passed() && !rows.ok()) {
    return Status::Deadline("rows did not come from other nodes in time");
  }
  return rows;
}

}  // namespace forebay::node
