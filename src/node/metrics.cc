#include "node/metrics.h"

#include "base/address.h"
#include "base/metrics_text.h"

namespace forebay::node {
namespace {

void AddTiers(const storage::StoreStats& stats, MetricsText* text) {
  auto add = [&](const char* name, const char* type, const char* help, auto value) {
    text->Begin(name, type, help);
    for (const auto& tier : stats.tiers) {
      std::string label(model::MediumName(tier.spec.medium));
      if (!tier.spec.path.empty()) label += ":" + tier.spec.path;
      text->Add(name, "tier=" + MetricsText::Quoted(label), value(tier));
    }
  };
  add("forebay_node_store_used_bytes", "gauge", "What the tier holds.",
      [](const auto& tier) { return tier.used_bytes; });
  add("forebay_node_store_quota_bytes", "gauge", "What the tier may hold.",
      [](const auto& tier) { return tier.capacity_bytes; });
  add("forebay_node_store_chunks", "gauge", "Chunks in the tier.",
      [](const auto& tier) { return tier.chunk_count; });
  add("forebay_node_evictions_total", "counter", "Chunks that left the tier for others.",
      [](const auto& tier) { return tier.evictions; });
}

void AddPeers(Cluster& cluster, MetricsText* text) {
  const PeerCounters& peers = cluster.counters();
  text->One("forebay_node_peer_bytes_total", "counter", "Bytes that came from peers.",
            peers.bytes);
  text->One("forebay_node_peer_chunks_total", "counter", "Chunks that came from peers.",
            peers.chunks);
  text->One("forebay_node_peer_failed_calls_total", "counter",
            "Calls to peers that gave nothing.", peers.failed_calls);
  text->One("forebay_node_peer_fallbacks_total", "counter",
            "Units read from the source because peers failed.", peers.fallbacks);
  text->One("forebay_node_peer_rows_total", "counter", "Rows that peers gathered.",
            peers.rows);
  text->One("forebay_node_peer_hedges_total", "counter",
            "Calls that others were asked beside, since they were silent.", peers.hedges);
  text->One("forebay_node_peer_damaged_total", "counter",
            "Answers of peers whose bytes were damaged on their way.", peers.damaged);
  text->One("forebay_node_may_own", "gauge", "1 while a head answers.",
            cluster.link().MayOwn() ? 1 : 0);
}

}  // namespace

std::string NodeMetrics(Node& node, Cluster* cluster) {
  MetricsText text;
  storage::StoreStats stats = node.engine().store().Stats();
  cache::FillQueue::Counters fills = node.engine().fills().counters();
  AddTiers(stats, &text);
  text.One("forebay_node_chunk_hits_total", "counter", "Chunks found in the store.",
           stats.hits);
  text.One("forebay_node_chunk_misses_total", "counter", "Chunks that were not there.",
           stats.misses);
  text.One("forebay_node_quarantined_total", "counter",
           "Chunks whose bytes were damaged.", stats.quarantined);
  text.One("forebay_node_fills_total", "counter", "Units that were filled.", fills.fills);
  text.One("forebay_node_failed_fills_total", "counter",
           "Units that could not be filled.", fills.failed_fills);
  text.One("forebay_node_fills_queued", "gauge", "Units that wait for a thread.",
           fills.queued);
  text.One("forebay_node_source_bytes_total", "counter", "Bytes read from sources.",
           node.engine().catalog().SourceBytes());
  text.One("forebay_node_readers", "gauge", "Processes that are connected.",
           node.reader_count());
  if (cluster != nullptr) AddPeers(*cluster, &text);
  return text.Take();
}

Result<std::unique_ptr<http::Server>> ServeMetrics(const std::string& listen, Node* node,
                                                   Cluster* cluster) {
  FB_ASSIGN_OR_RETURN(Address address, ParseAddress(listen));
  auto answer = [node, cluster](const http::Received& request) -> http::Reply {
    if (request.path == "/healthz") return {.body = "ok\n", .content_type = "text/plain"};
    if (request.path == "/metrics") {
      return {.body = NodeMetrics(*node, cluster),
              .content_type = "text/plain; version=0.0.4"};
    }
    return {.status = 404,
            .body = "a node has /healthz and /metrics here\n",
            .content_type = "text/plain"};
  };
  return http::Server::Start({.host = address.host, .port = address.port, .workers = 2},
                             answer);
}

}  // namespace forebay::node
