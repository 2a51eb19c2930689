// What a head wants of its nodes (orders, in the answers to heartbeats) and what nodes
// tell about themselves (reports, in heartbeats). Both are states, not events: every
// order is repeated until it is done or withdrawn, every report is whole. So nothing is
// lost when a message is, or when a head or a node starts anew.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace forebay::cluster {

// Bring into your store every unit of the version that is yours: those whose
// Roster::Route(unit, replicas) holds you, by the newest roster you have. One that is no
// longer in the orders is to be given up.
struct WarmupOrder {
  std::string operation{};  // its id
  std::string dataset{};    // GET /v1/datasets/<dataset>/source has the rest
  std::string version{};    // 32 hex digits; GET /v1/versions/<version>/manifest
  std::vector<std::string> columns{};  // empty: all
  uint32_t replicas = 1;

  friend bool operator==(const WarmupOrder&, const WarmupOrder&) = default;
};

struct Orders {
  std::vector<WarmupOrder> warmups{};
};

struct FailedFile {
  std::string file{};
  std::string error{};

  friend bool operator==(const FailedFile&, const FailedFile&) = default;
  friend auto operator<=>(const FailedFile&, const FailedFile&) = default;
};

// How far a node is with its share. `done` with failures is a failure.
struct WarmupReport {
  std::string operation{};
  uint64_t roster_epoch = 0;  // of the roster that the share was computed with
  bool done = false;
  uint64_t units = 0;  // of its share
  uint64_t units_done = 0;
  uint64_t rows = 0;
  uint64_t rows_done = 0;
  uint64_t bytes_done = 0;             // stored
  std::vector<FailedFile> failures{};  // at most kFailuresMax
  uint64_t failure_count = 0;

  static constexpr size_t kFailuresMax = 100;
};

struct TierReport {
  std::string name{};  // "mem", "ssd:/data"
  uint64_t used_bytes = 0;
  uint64_t capacity_bytes = 0;
};

// What a node holds of its share of a dataset: units that are whole, in the columns that
// the dataset shows.
struct VersionReport {
  std::string dataset{};
  std::string version{};
  uint64_t cached_bytes = 0;
  uint64_t cached_units = 0;
};

// A run of readers, as far as the node knows.
struct JobReport {
  std::string job{};  // what readers call it; else host and process
  std::string version{};
  uint64_t epoch = 0;
  uint64_t position = 0;  // rows of the epoch consumed
  uint64_t rows = 0;      // of the epoch
};

struct NodeReport {
  std::vector<TierReport> tiers{};
  std::vector<VersionReport> versions{};
  std::vector<WarmupReport> warmups{};
  std::vector<JobReport> jobs{};
  // Counters since the node started, by Prometheus name without the forebay_node_ before
  // it: "source_bytes_total", "peer_bytes_total", "chunk_hits_total",
  // "chunk_misses_total".
  std::map<std::string, uint64_t> counters{};
};

std::string ToJson(const Orders& orders);
std::string ToJson(const NodeReport& report);
// Whatever is there is taken, what is missing stays empty: a report decides nothing
// alone.
Result<Orders> ParseOrders(std::string_view json);
Result<NodeReport> ParseNodeReport(std::string_view json);

}  // namespace forebay::cluster
