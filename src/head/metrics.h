// What the head counts, as Prometheus reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/membership.h"
#include "head/head.h"

namespace forebay::head {

struct Counts {
  uint64_t heartbeats = 0;
  std::vector<uint64_t> replies{};  // by the first digit of the status
};

// `reign` is null while this head does not lead.
std::string HeadMetrics(Reign* reign, const Counts& counts);

}  // namespace forebay::head
