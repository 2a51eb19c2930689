#include "node/share_restorer.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "base/start_thread.h"
#include "cluster/json_fields.h"
#include "node/cluster_peers.h"

namespace forebay::node {
namespace {

constexpr milliseconds kWarmedTimeout{5'000};
constexpr milliseconds kPassPause{2'000};
// Peers may be starting too, and tell the head what they hold a moment later.
constexpr int kPassesMax = 30;
constexpr milliseconds kUnitTime{30'000};
constexpr milliseconds kRestMax{5'000};
constexpr milliseconds kFillsLook{50};
constexpr cache::ClientId kRestoreClient = (cache::ClientId{1} << 62) + 2;

using cluster::JsonFields;

// By dataset and version, then by member.
using Holdings =
    std::map<std::pair<std::string, std::string>, std::map<std::string, uint64_t>>;

void AddHoldings(const nlohmann::json& node, const std::string& self, Holdings* held) {
  JsonFields fields(node, "a node");
  std::string id = fields.TextOr("id", "");
  bool counts = id != self && fields.TextOr("state", "") == "up";
  if (!fields.status().ok() || !counts) return;
  JsonFields report(fields.Any("report"), "a report");
  for (const auto& one : report.Array("versions")) {
    JsonFields version(one, "a version");
    std::pair key{version.TextOr("dataset", ""), version.TextOr("version", "")};
    uint64_t units = version.NumberOr("cached_units", 0);
    if (version.status().ok() && units > 0) (*held)[key][id] = units;
  }
}

}  // namespace

Result<std::vector<HeldElsewhere>> ParseHeldElsewhere(std::string_view status,
                                                      const std::string& self) {
  auto fields = JsonFields::Parse(status, "the status of the cluster");
  Holdings held;
  for (const auto& node : fields.Array("nodes")) AddHoldings(node, self, &held);
  std::vector<HeldElsewhere> out;
  for (const auto& one : fields.Array("datasets")) {
    JsonFields dataset(one, "a dataset");
    HeldElsewhere found;
    found.dataset.name = dataset.Text("name");
    found.dataset.version = dataset.TextOr("version", "");
    for (const auto& column : dataset.Array("columns")) {
      if (column.is_string()) found.dataset.columns.push_back(column);
    }
    found.dataset.replicas = static_cast<uint32_t>(dataset.NumberOr("replicas", 1));
    FB_RETURN_NOT_OK(dataset.status());
    auto units = held.find({found.dataset.name, found.dataset.version});
    if (units != held.end()) found.units_held = units->second;
    out.push_back(std::move(found));
  }
  FB_RETURN_NOT_OK(fields.status());
  return out;
}

ShareRestorer::ShareRestorer(cache::Engine* engine, HeadDatasets* datasets,
                             HeldVersions* held)
    : engine_(engine), datasets_(datasets), held_(held) {}

Result<std::unique_ptr<ShareRestorer>> ShareRestorer::Start(cache::Engine* engine,
                                                            HeadDatasets* datasets,
                                                            HeldVersions* held) {
  std::unique_ptr<ShareRestorer> started(new ShareRestorer(engine, datasets, held));
  FB_ASSIGN_OR_RETURN(started->thread_,
                      StartThread([raw = started.get()] { raw->Run(); }));
  return started;
}

ShareRestorer::~ShareRestorer() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::vector<cluster::WarmupReport> ShareRestorer::Reports() {
  std::lock_guard lock(mutex_);
  if (!report_) return {};
  return {*report_};
}

void ShareRestorer::Note(std::optional<cluster::WarmupReport> report) {
  std::lock_guard lock(mutex_);
  report_ = std::move(report);
}

bool ShareRestorer::stopping() {
  std::lock_guard lock(mutex_);
  return stopping_;
}

void ShareRestorer::Run() {
  for (int pass = 0; pass < kPassesMax;) {
    // Before it is a member, nothing is placed here.
    if (datasets_->home()->link().MayOwn()) {
      ++pass;
      if (Pass()) return;
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kPassPause, [this] { return stopping_; })) return;
  }
}

bool ShareRestorer::Pass() {
  Cluster& home = *datasets_->home();
  auto status = home.link().Get("/v1/status", Deadline::After(kWarmedTimeout));
  if (!status.ok()) return false;
  auto datasets = ParseHeldElsewhere(*status, home.link().self()->id);
  if (!datasets.ok()) return false;
  bool whole = true;
  for (const HeldElsewhere& held : *datasets) {
    if (held.units_held.empty() || stopping()) continue;
    whole = Restore(held) && whole;
    Note(std::nullopt);
  }
  // Who holds nothing yet may hold something a moment later.
  return whole && std::ranges::any_of(*datasets, [](const HeldElsewhere& held) {
           return !held.units_held.empty();
         });
}

bool ShareRestorer::Restore(const HeldElsewhere& held) {
  const HomeDataset& dataset = held.dataset;
  cluster::WarmupOrder order{.operation = "restore of " + dataset.name,
                             .dataset = dataset.name,
                             .version = dataset.version,
                             .columns = dataset.columns,
                             .replicas = dataset.replicas};
  auto share = OpenShare(order, engine_, datasets_);
  if (!share.ok()) {
    spdlog::warn("cannot bring {} back yet: {}", dataset.name, share.status().message());
    return false;
  }
  cluster::WarmupReport report = ChooseShare(order, *datasets_->home(), &*share);
  Share rest = FromPeers(order, *share, &report);
  if (report.bytes_done > 0) {
    spdlog::info("{} of {} units of {} were brought back from peers",
                 report.units - rest.size(), report.units, dataset.name);
  }
  if (rest.size() > 0 && WasWarm(held, *share) && MayGoOn(milliseconds(0))) {
    FromSource(rest, &report);
  }
  if (report.bytes_done > 0) {
    held_->Recount(dataset.name, dataset.version);
    datasets_->home()->link().BeatSoon();
  }
  return report.units_done == report.units;
}

// A member that holds everything it owns was filled by a warm-up or by reads of the whole
// dataset, so this node held its own share too before it restarted.
bool ShareRestorer::WasWarm(const HeldElsewhere& held, const Share& share) {
  auto roster = datasets_->home()->link().roster();
  auto owned = OwnedCounts(share, *roster, held.dataset.replicas);
  return std::ranges::any_of(held.units_held, [&](const auto& member) {
    auto found = owned.find(member.first);
    return found != owned.end() && member.second >= found->second;
  });
}

Share ShareRestorer::FromPeers(const cluster::WarmupOrder& order, const Share& share,
                               cluster::WarmupReport* report) {
  Share rest{.view = share.view, .files = share.files};
  bool go_on = MayGoOn(milliseconds(0));
  for (size_t i = 0; i < share.size(); ++i) {
    TimePoint start = Clock::Real().Now();
    WantedChunks wanted = MissingOf(share, i, &engine_->store());
    bool here = wanted.chunks.empty();
    if (!here && go_on) {
      Note(*report);
      wanted.on_chunk = [&](size_t, const storage::Chunk& chunk, cache::FillTimes) {
        report->bytes_done += chunk.size;
      };
      here = BringUnit(std::move(wanted), order);
      auto took = Clock::Real().Now() - start;
      go_on = MayGoOn(std::chrono::duration_cast<milliseconds>(took));
    }
    if (here) {
      ++report->units_done;
    } else if (share.files != nullptr) {
      rest.chunks.push_back(share.chunks[i]);
    } else {
      rest.units.push_back(share.units[i]);
    }
  }
  return rest;
}

bool ShareRestorer::BringUnit(WantedChunks wanted, const cluster::WarmupOrder& order) {
  wanted.request.table.dataset = order.dataset;
  wanted.deadline = Deadline::After(kUnitTime);
  // As for a peer: members are asked for what they have, none of them to fill.
  ClusterPeers peers({.cluster = datasets_->home(),
                      .dataset = order.dataset,
                      .replicas = order.replicas,
                      .asked = ClusterPeers::Asked::kByPeer});
  auto missing = ClusterChunks(&peers, &wanted).Run();
  return missing.ok() && missing->empty();
}

void ShareRestorer::FromSource(const Share& rest, cluster::WarmupReport* report) {
  uint64_t before = report->bytes_done;
  auto hear = [&](const cache::WarmupProgress& progress) {
    ++report->units_done;
    report->bytes_done = before + progress.bytes_stored;
    Note(*report);
    return !stopping() && !engine_->store().tight();
  };
  auto done = LoadShare(rest, engine_, {.client = kRestoreClient, .report = hear});
  if (done.ok()) {
    report->units_done -= done->units_failed;
    return;
  }
  engine_->fills().Forget(kRestoreClient);
  engine_->files().Forget(kRestoreClient);
}

bool ShareRestorer::MayGoOn(milliseconds rest) {
  std::unique_lock lock(mutex_);
  auto stopped = [this] { return stopping_; };
  if (wake_.wait_for(lock, std::min(rest, kRestMax), stopped)) return false;
  while (engine_->fills().counters().queued > 0) {
    if (wake_.wait_for(lock, kFillsLook, stopped)) return false;
  }
  return !engine_->store().tight();
}

}  // namespace forebay::node
