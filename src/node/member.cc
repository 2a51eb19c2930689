#include "node/member.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/address.h"
#include "base/log.h"
#include "base/size.h"

namespace forebay::node {
namespace {

constexpr milliseconds kJoinTimeout{10'000};
constexpr size_t kIdBytesMax = 128;  // as the head has it

// Of the letters that ids may have.
std::string IdOf(std::string address) {
  for (char& c : address) {
    bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return address;
}

constexpr double kWeightMin = 0.001;  // of a store that is full, or of none

// What no head would take is refused before anything listens.
Status CheckSelf(const Member::Options& options) {
  bool plain = options.id.size() <= kIdBytesMax && IdOf(options.id) == options.id;
  if (!plain) {
    return Status::Invalid(fmt::format(
        "'{}' is no id of a node: it is 1 to {} letters, digits, dots, dashes and "
        "underscores",
        options.id, kIdBytesMax));
  }
  if (options.weight < 0 || !std::isfinite(options.weight)) {
    return Status::Invalid(
        fmt::format("--weight must be a number above 0, not {}", options.weight));
  }
  return Status::OK();
}

}  // namespace

Result<std::vector<flight::NamedDataset>> Member::Names::List() {
  FB_ASSIGN_OR_RETURN(auto found, datasets_->FindHome(Deadline::After(kJoinTimeout)));
  std::vector<flight::NamedDataset> datasets;
  for (const HomeDataset& home : found) {
    datasets.push_back({.name = home.name, .uri = datasets_->HomeUri(home.name)});
  }
  return datasets;
}

Result<flight::NamedDataset> Member::Names::Find(const std::string& name) {
  FB_RETURN_NOT_OK(datasets_->Joined().status());
  // Whether there is one by this name turns out when it is opened.
  return flight::NamedDataset{.name = name, .uri = datasets_->HomeUri(name)};
}

double WeightOf(uint64_t capacity_bytes) {
  return std::max(kWeightMin,
                  static_cast<double>(capacity_bytes) / static_cast<double>(kGiB));
}

Result<std::unique_ptr<Member>> Member::Start(const Options& options, Node* node,
                                              HeadDatasets* datasets) {
  FB_RETURN_NOT_OK(CheckSelf(options));
  auto member = std::unique_ptr<Member>(new Member(node, datasets));
  FB_RETURN_NOT_OK(member->Join(options, datasets));
  return member;
}

Member::~Member() {
  flight_.reset();  // nobody asks any more
  // Versions keep the cluster, but the link must not call what goes now.
  if (cluster_ != nullptr) cluster_->link().Stop();
}

Status Member::Join(const Options& options, HeadDatasets* datasets) {
  FB_ASSIGN_OR_RETURN(Address address, ParseAddress(options.flight));
  FB_ASSIGN_OR_RETURN(flight_, flight::Service::Start(
                                   {.host = address.host,
                                    .port = address.port,
                                    .socket = node_->socket_path(),
                                    .datasets = &names_,
                                    .chunks = &chunks_,
                                    .status = [this] { return node_->StatusJson(); }}));
  cluster::Registration self;
  address.port = flight_->port();
  self.flight = ReachableAddress(options.advertise, address);
  self.id = options.id.empty() ? IdOf(self.flight) : options.id;
  self.instance = fmt::format("{}-{}", ::getpid(), Clock::Real().WallNanos());
  self.host = HostName();
  self.http = options.http;
  self.store_bytes = node_->engine().store().CapacityBytes();
  self.weight = options.weight > 0 ? options.weight : WeightOf(self.store_bytes);
  spdlog::info("flight at {}, member {} of the cluster of {}", self.flight, self.id,
               fmt::join(options.heads, ", "));
  Cluster::Options joining;
  joining.link.client.heads = options.heads;
  joining.link.self = self;
  joining.link.report = [this] { return Report(); };
  joining.link.on_orders = [this](const std::string& text) {
    auto orders = cluster::ParseOrders(text);
    if (orders.ok() && joined_) warmer_->Take(orders->warmups);
  };
  joining.second_copies = node_->second_copies();
  FB_ASSIGN_OR_RETURN(cluster_, Cluster::Join(std::move(joining)));
  node_->second_copies()->Join(
      {.self = self.id,
       .roster =
           [weak = std::weak_ptr(cluster_)] {
             auto cluster = weak.lock();
             return cluster ? cluster->link().roster() : cluster::Roster::Empty();
           },
       .stored = [store = &node_->engine().store()](
                     const Hash128& key) { return store->Contains(key); }});
  datasets->Join(cluster_, options.heads);
  cache::Engine* engine = &node_->engine();
  FB_ASSIGN_OR_RETURN(held_, HeldVersions::Start(engine, datasets));
  FB_ASSIGN_OR_RETURN(warmer_, ShareWarmer::Start(engine, datasets, held_.get()));
  FB_ASSIGN_OR_RETURN(restorer_, ShareRestorer::Start(engine, datasets, held_.get()));
  joined_ = true;
  return Status::OK();
}

std::string Member::Report() {
  cluster::NodeReport report;
  storage::StoreStats stats = node_->engine().store().Stats();
  for (const auto& tier : stats.tiers) {
    std::string name(model::MediumName(tier.spec.medium));
    report.tiers.push_back(
        {.name = tier.spec.path.empty() ? name : name + ":" + tier.spec.path,
         .used_bytes = tier.used_bytes,
         .capacity_bytes = tier.capacity_bytes});
  }
  report.counters = {{"source_bytes_total", node_->engine().catalog().SourceBytes()},
                     {"chunk_hits_total", stats.hits},
                     {"chunk_misses_total", stats.misses}};
  if (joined_) {
    const PeerCounters& peers = cluster_->counters();
    report.counters["peer_bytes_total"] = peers.bytes;
    report.counters["peer_chunks_total"] = peers.chunks;
    report.counters["peer_failed_calls_total"] = peers.failed_calls;
    report.counters["peer_fallbacks_total"] = peers.fallbacks;
    report.counters["peer_rows_total"] = peers.rows;
    report.counters["peer_hedges_total"] = peers.hedges;
    report.counters["peer_damaged_total"] = peers.damaged;
    report.warmups = warmer_->Reports();
    for (auto& restored : restorer_->Reports()) {
      report.warmups.push_back(std::move(restored));
    }
    report.versions = held_->Reports();
  }
  report.jobs = node_->Jobs();
  return cluster::ToJson(report);
}

}  // namespace forebay::node
