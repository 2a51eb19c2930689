#include "node/head_datasets.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/uri.h"
#include "cluster/json_fields.h"
#include "http/percent.h"
#include "node/cluster_peers.h"

namespace forebay::node {
namespace {

// Upper bound on foreign clusters that are kept though no dataset of theirs is open. Each
// has a thread that asks its head who is in it.
constexpr size_t kIdleClustersMax = 8;

struct Name {
  std::string head;
  std::string dataset;
};

Result<Name> ParseName(const std::string& uri) {
  FB_ASSIGN_OR_RETURN(Uri parsed, Uri::Parse(uri));
  Name name{parsed.authority, parsed.path};
  while (name.dataset.starts_with('/')) name.dataset.erase(0, 1);
  if (name.head.empty() || name.dataset.empty() ||
      name.dataset.find('/') != name.dataset.npos) {
    return Status::Invalid(
        fmt::format("{} does not name a dataset; write forebay://head:7070/name", uri));
  }
  return name;
}

std::vector<std::string> ColumnsOf(cluster::JsonFields& fields) {
  std::vector<std::string> columns;
  for (const auto& column : fields.Array("columns")) {
    if (column.is_string()) columns.push_back(column.get<std::string>());
  }
  return columns;
}

// A head that is started anew, or another that takes over, is there within this time.
// Less than callers wait, so that they hear who did not answer.
Deadline PatienceOf(Deadline deadline) {
  constexpr milliseconds kPatience{30'000};
  return deadline.Within(std::min(kPatience, deadline.Remaining() / 4 * 3));
}

const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}

bool IsSilence(const Status& status) {
  return IsRetryable(status) || status.code() == StatusCode::kDeadline;
}

Status NoHead(const std::string& head, const Status& status) {
  if (!IsSilence(status)) return status;
  return Status::Unavailable(
      fmt::format("the head at {} does not answer: check its address and that it runs "
                  "({})",
                  head, status.message()));
}

source::Options OptionsOf(const nlohmann::json& object) {
  source::Options options;
  if (!object.is_object()) return options;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) options[key] = value.get<std::string>();
  }
  return options;
}

}  // namespace

// Retries with a short timeout: another head may have taken over, or this one restarted.
template <typename Ask>
auto HeadDatasets::Insist(Ask ask, Deadline patience) {
  constexpr milliseconds kTry{3'000};
  constexpr milliseconds kPause{250};
  while (true) {
    auto answer = ask(patience.Within(kTry));
    bool silent = !answer.ok() && IsSilence(StatusOf(answer));
    if (!silent || patience.Remaining() <= kPause) return answer;
    SleepFor(kPause, patience);
  }
}

Result<std::string> HeadDatasets::AskOn(Cluster& cluster, const std::string& path,
                                        Deadline patience) {
  return Insist([&](Deadline end) { return cluster.link().Get(path, end); }, patience);
}

void HeadDatasets::Join(std::shared_ptr<Cluster> home, std::vector<std::string> heads) {
  std::lock_guard lock(mutex_);
  home_ = std::move(home);
  heads_ = std::move(heads);
}

std::shared_ptr<Cluster> HeadDatasets::home() const {
  std::lock_guard lock(mutex_);
  return home_;
}

Result<std::shared_ptr<Cluster>> HeadDatasets::Joined() const {
  auto joined = home();
  if (joined != nullptr) return joined;
  return Status::Unavailable("this node has not joined its cluster yet: ask again");
}

Result<std::vector<HomeDataset>> HeadDatasets::FindHome(Deadline deadline) {
  std::vector<HomeDataset> datasets;
  FB_ASSIGN_OR_RETURN(auto joined, Joined());
  FB_ASSIGN_OR_RETURN(std::string answer, joined->link().Get("/v1/datasets", deadline));
  auto fields = cluster::JsonFields::Parse(answer, "the list of datasets");
  for (const auto& one : fields.Array("datasets")) {
    cluster::JsonFields dataset(one, "a dataset");
    datasets.push_back(
        {.name = dataset.Text("name"),
         .version = dataset.TextOr("version", ""),
         .columns = ColumnsOf(dataset),
         .replicas = static_cast<uint32_t>(dataset.NumberOr("replicas", 1))});
  }
  FB_RETURN_NOT_OK(fields.status());
  return datasets;
}

std::string HeadDatasets::HomeUri(const std::string& dataset) const {
  std::lock_guard lock(mutex_);
  return fmt::format("{}{}/{}", cache::kNamedScheme, heads_.empty() ? "" : heads_[0],
                     dataset);
}

Result<std::shared_ptr<Cluster>> HeadDatasets::ClusterOf(const std::string& head,
                                                         Deadline deadline) {
  auto own = home();
  {
    std::lock_guard lock(mutex_);
    if (auto known = FindKnown(head)) return known;
  }
  Cluster::Options options;
  options.link.client.heads = cluster::SplitHeads(head);
  FB_ASSIGN_OR_RETURN(std::shared_ptr<Cluster> cluster,
                      Cluster::Join(std::move(options)));
  FB_RETURN_NOT_OK(
      Insist([&](Deadline end) { return cluster->link().WaitForRoster(end); }, deadline));
  // Its own cluster by another address: a node must know itself among the owners.
  if (own != nullptr) {
    const auto& self = own->link().self();
    if (cluster->link().roster()->Find(self->id) != nullptr) cluster = own;
  }
  std::vector<std::shared_ptr<Cluster>> dropped;  // ends outside of the lock
  std::lock_guard lock(mutex_);
  // Somebody else may have been faster.
  if (auto known = FindKnown(head)) return known;
  dropped = TakeIdle();
  others_[head] = {cluster, ++uses_};
  return cluster;
}

std::shared_ptr<Cluster> HeadDatasets::FindKnown(const std::string& head) {
  if (std::ranges::find(heads_, head) != heads_.end()) return home_;
  auto found = others_.find(head);
  if (found == others_.end()) return nullptr;
  found->second.last_use = ++uses_;
  return found->second.cluster;
}

std::vector<std::shared_ptr<Cluster>> HeadDatasets::TakeIdle() {
  std::vector<decltype(others_)::iterator> idle;
  for (auto it = others_.begin(); it != others_.end(); ++it) {
    const auto& cluster = it->second.cluster;
    // Another address of its own cluster costs nothing to find again.
    if (cluster.use_count() == 1 || cluster == home_) idle.push_back(it);
  }
  std::ranges::sort(idle, {}, [](auto it) { return it->second.last_use; });
  std::vector<std::shared_ptr<Cluster>> taken;
  for (auto it : idle) {
    if (idle.size() - taken.size() < kIdleClustersMax) break;
    taken.push_back(std::move(it->second.cluster));
    others_.erase(it);
  }
  return taken;
}

Result<cache::NamedDataset> HeadDatasets::Find(const std::string& uri,
                                               std::optional<Hash128> version,
                                               Deadline deadline) {
  FB_ASSIGN_OR_RETURN(Name name, ParseName(uri));
  deadline = deadline.StoppedBy(stop_.get_token());
  Deadline patience = PatienceOf(deadline);
  auto cluster = ClusterOf(name.head, patience);
  if (!cluster.ok()) return NoHead(name.head, cluster.status());
  std::string path = "/v1/datasets/" + http::PercentEncode(name.dataset) + "/source";
  auto answer = AskOn(**cluster, path, patience);
  if (!answer.ok()) return NoHead(name.head, answer.status());
  auto fields = cluster::JsonFields::Parse(*answer, "a dataset");
  cache::NamedDataset dataset;
  dataset.uri = fields.Text("source");
  dataset.is_files = fields.TextOr("kind", "table") == "files";
  dataset.options = OptionsOf(fields.Any("options"));
  dataset.columns = ColumnsOf(fields);
  auto replicas = static_cast<uint32_t>(fields.Number("replicas"));
  std::string pinned = fields.Text("version");
  FB_RETURN_NOT_OK(fields.status());
  if (!version) {
    FB_ASSIGN_OR_RETURN(
        dataset.manifest,
        (*cluster)->link().Get("/v1/versions/" + pinned + "/manifest", deadline));
  }
  ++found_count_;
  dataset.peers = std::make_shared<ClusterPeers>(ClusterPeers::Options{
      .cluster = *cluster, .dataset = name.dataset, .replicas = replicas});
  return dataset;
}

}  // namespace forebay::node
