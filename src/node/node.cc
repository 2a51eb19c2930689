#include "node/node.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/errno_status.h"
#include "base/log.h"
#include "base/start_thread.h"
#include "node/socket_group.h"

namespace forebay::node {
namespace {

// How often the node looks whether it should leave.
constexpr milliseconds kTick = milliseconds(200);
constexpr milliseconds kComplainEvery = std::chrono::minutes(1);
constexpr double kHighWatermark = 0.995;
constexpr double kLowWatermark = 0.99;

nlohmann::json DescribeTiers(const storage::StoreStats& stats) {
  auto tiers = nlohmann::json::array();
  for (const auto& tier : stats.tiers) {
    tiers.push_back({{"medium", model::MediumName(tier.spec.medium)},
                     {"path", tier.spec.path},
                     {"used_bytes", tier.used_bytes},
                     {"quota_bytes", tier.spec.quota_bytes},
                     {"capacity_bytes", tier.capacity_bytes},
                     {"chunks", tier.chunk_count},
                     {"evictions", tier.evictions}});
  }
  return tiers;
}

}  // namespace

Node::Node(Options options)
    : options_(std::move(options)), started_(Clock::Real().Now()) {}

Result<std::unique_ptr<Node>> Node::Start(Options options) {
  auto node = std::unique_ptr<Node>(new Node(std::move(options)));
  FB_RETURN_NOT_OK(node->ListenOrYield());
  storage::StoreOptions store;
  store.tiers = storage::TiersOf(node->options_.store);
  store.borrowed_bytes_max = node->options_.borrowed_memory_bytes;
  // Eviction knows what is needed when, so there is no use in evicting ahead.
  for (storage::TierOptions& tier : store.tiers) {
    tier.high_watermark = kHighWatermark;
    tier.low_watermark = kLowWatermark;
  }
  auto next_use = std::make_shared<cache::NextUse>();
  store.policy = std::make_unique<SecondCopiesFirst>(SecondCopiesFirst::Options{
      .order = std::make_unique<cache::FarthestNextUse>(next_use),
      .copies = node->second_copies_,
      .rows_until = [next_use](const Hash128& key) { return next_use->RowsUntil(key); }});
  node->options_.engine.next_use = next_use;
  store.on_evict = [raw = node.get()](const Hash128& key) { raw->OnEvicted(key); };
  FB_ASSIGN_OR_RETURN(auto opened, storage::Store::Open(std::move(store)));
  FB_ASSIGN_OR_RETURN(node->engine_,
                      cache::Engine::Make(std::move(opened), node->options_.engine));
  return node;
}

// Readers first: none is to hear that the fill it waits for was cancelled.
void Node::Close() {
  listener_.Close();
  {
    std::lock_guard lock(sessions_mutex_);
    for (auto& connection : connections_) connection->session->Stop();
  }
  if (engine_ != nullptr) engine_->Stop();
}

Node::~Node() {
  Close();
  std::list<std::unique_ptr<Connection>> connections;
  {
    std::lock_guard lock(sessions_mutex_);
    connections.swap(connections_);
  }
  for (auto& connection : connections) connection->thread.join();
}

// The lock keeps a second node from taking a live node's socket. Where locks do not work
// both may run: the later one gets the socket, and the store stands several nodes.
Status Node::ListenOrYield() {
  std::string lock_path = options_.socket_path + ".lock";
  lock_ = UniqueFd(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_.valid()) return ErrnoStatus(errno, "open " + lock_path);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status::Unavailable("a node already serves " + options_.socket_path);
  }
  ::unlink(options_.socket_path.c_str());
  FB_ASSIGN_OR_RETURN(listener_, wire::Listener::At(options_.socket_path));
  if (!options_.socket_group) return Status::OK();
  return OpenSocketTo(*options_.socket_group, options_.socket_path);
}

Status Node::Run() {
  last_used_ = Clock::Real().Now();
  while (!stopping_) {
    FB_RETURN_NOT_OK(AcceptNext());
    Reap();
    if (IsIdle()) break;
  }
  // Nobody new finds us from here on; whoever is in the backlog sees a closed socket and
  // looks for the next node.
  ::unlink(options_.socket_path.c_str());
  return Status::OK();
}

Status Node::AcceptNext() {
  auto channel = listener_.Accept(Deadline::After(kTick));
  if (channel.ok()) {
    if (*channel) Admit(**std::move(channel));
    return Status::OK();
  }
  if (channel.status().code() != StatusCode::kFull) return channel.status();
  Complain(channel.status());
  return Status::OK();
}

// One line a minute: readers may try again and again.
void Node::Complain(const Status& status) {
  TimePoint now = Clock::Real().Now();
  if (now < complain_at_) return;
  complain_at_ = now + kComplainEvery;
  spdlog::error("a reader could not be served: {}", status.message());
}

// Readers that only ask how the node is do not keep it.
bool Node::IsIdle() {
  std::lock_guard lock(sessions_mutex_);
  TimePoint now = Clock::Real().Now();
  auto in_use = [](const auto& connection) { return connection->session->in_use(); };
  if (std::ranges::any_of(connections_, in_use)) last_used_ = now;
  return options_.idle_timeout.count() > 0 && now - last_used_ >= options_.idle_timeout;
}

void Node::Admit(wire::Channel channel) {
  // With a group, whoever could open the socket is in it.
  auto user = channel.PeerUser();
  bool known = user.ok() && (*user == ::geteuid() || *user == 0);
  if (!known && !options_.socket_group) {
    spdlog::warn("another user's process was turned away");
    return;
  }
  auto connection = std::make_unique<Connection>();
  connection->session =
      std::make_unique<Session>(next_session_++, std::move(channel), this);
  std::lock_guard lock(sessions_mutex_);
  auto thread = StartThread([raw = connection.get()] {
    raw->session->Run();
    raw->ended = true;
  });
  if (!thread.ok()) {
    connection->session->TurnAway(
        thread.status().WithContext("the node is at its limit"));
    return Complain(thread.status());
  }
  connection->thread = *std::move(thread);
  connections_.push_back(std::move(connection));
}

void Node::Reap() {
  std::list<std::unique_ptr<Connection>> ended;
  {
    std::lock_guard lock(sessions_mutex_);
    for (auto it = connections_.begin(); it != connections_.end();) {
      auto next = std::next(it);
      if ((*it)->ended) {
        if ((*it)->session->in_use()) last_used_ = Clock::Real().Now();
        ended.splice(ended.end(), connections_, it);
      }
      it = next;
    }
  }
  // Joined and destroyed outside the lock: a session's end may evict.
  for (auto& connection : ended) connection->thread.join();
}

void Node::OnEvicted(const Hash128& key) {
  std::lock_guard lock(sessions_mutex_);
  for (auto& connection : connections_) connection->session->OnEvicted(key);
}

wire::Welcome Node::Greeting() const {
  return {.pid = static_cast<uint32_t>(::getpid()),
          .node_version = FOREBAY_VERSION,
          .store = model::FormatStoreSpec(options_.store)};
}

std::string Node::StatusJson() {
  storage::StoreStats stats = engine_->store().Stats();
  cache::FillQueue::Counters fills = engine_->fills().counters();
  auto readers = nlohmann::json::array();
  {
    std::lock_guard lock(sessions_mutex_);
    for (auto& connection : connections_) {
      // A program that only asks for this status is no reader.
      if (connection->session->in_use())
        readers.push_back(connection->session->Describe());
    }
  }
  auto uptime = std::chrono::duration<double>(Clock::Real().Now() - started_).count();
  nlohmann::json status = {{"pid", ::getpid()},
                           {"version", FOREBAY_VERSION},
                           {"socket", options_.socket_path},
                           {"log", options_.log_path},
                           {"store", model::FormatStoreSpec(options_.store)},
                           {"uptime_seconds", uptime},
                           {"tiers", DescribeTiers(stats)},
                           {"hits", stats.hits},
                           {"misses", stats.misses},
                           {"quarantined", stats.quarantined},
                           {"unkept", stats.unkept},
                           {"mapped_evicted_bytes", stats.mapped_evicted_bytes},
                           {"borrowed_bytes", stats.borrowed_bytes},
                           {"borrowed_bytes_max", stats.borrowed_bytes_max},
                           {"fills", fills.fills},
                           {"failed_fills", fills.failed_fills},
                           {"chunks_filled", fills.chunks},
                           {"fills_queued", fills.queued},
                           {"fills_running", fills.running},
                           {"fill_memory_peak_bytes", engine_->memory_peak_bytes()},
                           {"source_bytes", engine_->catalog().SourceBytes()},
                           {"readers", std::move(readers)}};
  return status.dump();
}

size_t Node::reader_count() {
  std::lock_guard lock(sessions_mutex_);
  return connections_.size();
}

std::vector<cluster::JobReport> Node::Jobs() {
  std::vector<cluster::JobReport> jobs;
  std::lock_guard lock(sessions_mutex_);
  for (auto& connection : connections_) connection->session->AppendJobs(&jobs);
  return jobs;
}

}  // namespace forebay::node
