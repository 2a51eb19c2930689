// The gathers of one reader that are under way, by their tickets. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "cache/peers.h"

namespace forebay::node {

class RowRequests {
 public:
  struct Limits {
    size_t tickets = 1024;
    size_t under_way = 64;  // others wait for their turn
    // Of rows that come, or came and nobody took yet; what is past that is left in its
    // chunks.
    uint64_t bytes = uint64_t{1} << 30;
  };
  RowRequests() : RowRequests(Limits()) {}
  explicit RowRequests(Limits limits) : limits_(limits), budget_(limits.bytes) {}
  ~RowRequests();  // gives up what nobody took

  // kFull where there are too many tickets; kInvalid for one that there is.
  Status Start(uint64_t ticket, cache::RowRequest request);
  // The rows of a ticket, which is used up. kNotFound: there is no such ticket.
  // `ended` is looked at several times a second. Where no thread can be started, all
  // rows are left in their chunks.
  Result<cache::GatheredRows> Take(uint64_t ticket, Deadline deadline,
                                   const std::function<bool()>& ended);

  // Nobody will ask for these.
  void Drop(const std::vector<uint64_t>& tickets);

 private:
  struct Gathering {
    cache::RowRequest request;
    std::stop_source stop{};
    std::future<Result<cache::GatheredRows>> rows{};
    std::thread thread{};  // not joinable: it waits for its turn, or for a thread
  };
  using Tickets = std::map<uint64_t, Gathering>;

  Status Launch(Gathering& gathering);
  void LaunchNext();
  // Waits for the thread, if there is one.
  Result<cache::GatheredRows> End(Tickets::iterator at);
  cache::GatheredRows LeaveInChunks(Tickets::iterator at, const Status& why);

  const Limits limits_;
  Tickets tickets_;
  size_t under_way_ = 0;
  cache::RowBudget budget_;
};

}  // namespace forebay::node
