// The gathers of one reader that are under way, by their tickets. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "cache/peers.h"

namespace forebay::node {

class RowRequests {
 public:
  ~RowRequests();  // gives up what nobody took

  // kFull where too many are under way; kInvalid for a ticket that is.
  Status Start(uint64_t ticket, cache::RowRequest request);
  // The rows of a ticket, which is used up. kNotFound: there is no such ticket.
  // `ended` is looked at several times a second.
  Result<cache::GatheredRows> Take(uint64_t ticket, Deadline deadline,
                                   const std::function<bool()>& ended);

  // Nobody will ask for these.
  void Drop(const std::vector<uint64_t>& tickets);

 private:
  static constexpr size_t kUnderWayMax = 64;
  struct Gathering {
    std::stop_source stop;
    std::future<Result<cache::GatheredRows>> rows;
    std::thread thread;
  };

  std::map<uint64_t, Gathering> under_way_;
};

}  // namespace forebay::node
