#include "node/cluster_rows.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/log.h"
#include "flight/row_bytes.h"
#include "node/peers/pending_call.h"
#include "node/row_sink.h"

namespace forebay::node {
namespace {

constexpr milliseconds kRowPoll{20};
// A range of which at least one row in so many is needed is brought as a whole.
constexpr uint64_t kWholeShare = 4;
// Rows are given up so much later than the source may be read, and their chunks are asked
// for instead.
constexpr milliseconds kGiveUpExtra{500};

}  // namespace

struct ClusterRows::Leg {
  explicit Leg(PeerRates* rates) : signs(rates) {}

  cluster::Member member;
  Hash128 unit{};  // of one of the rows
  Rows rows;

  // Below: of the mutex while `ended` is false, but for the signs.
  PeerSigns signs;
  RowSink::Limits limits{};
  std::optional<RowSink> sink{};  // of the latest question
  std::optional<PeerCalls::Scope> call{};
  PendingCall pending{};
  bool started = false;
  bool ended = false;
  Status status{};

  bool done() const { return ended && status.ok(); }
  bool failed() const { return ended && !status.ok(); }
};

struct ClusterRows::Group {
  std::list<Leg> first;   // one
  std::list<Leg> others;  // that were asked since
  bool asked_others = false;
  bool settled = false;
};

ClusterRows::ClusterRows(const ClusterPeers* peers, const cache::RowRequest* request)
    : peers_(*peers), request_(*request), cluster_(*peers->options().cluster) {
  const model::Manifest& manifest = request_.view.manifest();
  asked_.table.dataset = peers_.options().dataset;
  asked_.table.version = manifest.version();
  asked_.columns.emplace();
  for (uint32_t column : request_.view.columns) {
    asked_.columns->push_back(manifest.schema().fields[column].name);
  }
  for (uint64_t row : request_.rows) range_of_.push_back(manifest.RangeOf(row));
}

ClusterRows::~ClusterRows() = default;

Result<cache::GatheredRows> ClusterRows::Run() {
  Rows all(request_.rows.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  std::list<Leg> legs = Plan(all, {});
  std::unique_lock lock(mutex_);
  while (!legs.empty()) {
    Group& group = groups_.emplace_back();
    group.first.splice(group.first.end(), legs, legs.begin());
    Start(group.first.front());
  }
  for (;;) {
    bool settled = true;
    for (Group& group : groups_) settled = Settled(group) && settled;
    bool given_up = request_.stop.stop_requested() || request_.deadline.passed();
    if (settled || given_up) break;
    changed_.wait_for(lock, kRowPoll);
  }
  StopAll(lock);
  if (request_.stop.stop_requested()) return Status::Cancelled("nobody waits for rows");
  return Assemble();
}

std::list<ClusterRows::Leg> ClusterRows::Plan(const Rows& rows,
                                              const std::string& without) const {
  const model::Manifest& manifest = request_.view.manifest();
  std::vector<uint8_t> in_chunks = RangesInChunks(rows);
  std::map<uint32_t, Leg*> of_unit;  // null: not from a peer
  std::map<std::string, Leg*> of_member;
  std::list<Leg> legs;
  for (uint32_t row : rows) {
    uint32_t range = range_of_[row];
    if (in_chunks[range] != 0) continue;
    uint32_t unit = manifest.ranges()[range].unit;
    auto [found, fresh] = of_unit.try_emplace(unit, nullptr);
    if (fresh) {
      const Hash128& content = manifest.units()[unit].content;
      auto candidates = peers_.Candidates(content);
      auto next = std::ranges::find_if(
          candidates, [&](const auto& c) { return c.member.id != without; });
      // Those that are only asked for what they have stored come after this node itself.
      if (next == candidates.end() || next->stored_only) continue;
      Leg*& leg = of_member[next->member.id];
      if (leg == nullptr) {
        leg = &legs.emplace_back(&cluster_.rates());
        leg->member = next->member;
        leg->unit = content;
      }
      found->second = leg;
    }
    if (found->second != nullptr) found->second->rows.push_back(row);
  }
  return legs;
}

// By range: those that are here, and those of which many rows are needed.
std::vector<uint8_t> ClusterRows::RangesInChunks(const Rows& rows) const {
  const model::Manifest& manifest = request_.view.manifest();
  std::vector<uint32_t> counts(manifest.ranges().size());
  for (uint32_t row : rows) ++counts[range_of_[row]];
  std::vector<uint8_t> in_chunks(counts.size());
  for (uint32_t range = 0; range < counts.size(); ++range) {
    if (counts[range] == 0) continue;
    bool many = counts[range] * kWholeShare >= manifest.ranges()[range].row_count;
    in_chunks[range] = many || Stored(range) ? 1 : 0;
  }
  return in_chunks;
}

bool ClusterRows::Stored(uint32_t range) const {
  const cache::View& view = request_.view;
  uint32_t unit = view.manifest().ranges()[range].unit;
  auto groups = model::Groups(view.manifest(), unit, view.columns);
  return std::ranges::all_of(groups, [&](uint32_t group) {
    return request_.store->Contains(view.Key({range, group}));
  });
}

void ClusterRows::Start(Leg& leg) {
  const model::Schema& schema = request_.view.manifest().schema();
  leg.limits.budget = request_.budget;
  auto most = flight::RowChunkBytesMax(schema, request_.view.columns, leg.rows.size());
  if (most) leg.limits.bytes = *most;
  leg.call.emplace(&cluster_.calls(), PeerCalls::Call{leg.member.id, leg.unit});
  ++running_;
  // Where no thread can be had, the call runs here, and takes the lock itself.
  mutex_.unlock();
  leg.pending.Submit(cluster_.callers(Cluster::CallKind::kRows),
                     [this, &leg] { Ask(leg); });
  mutex_.lock();
}

void ClusterRows::Ask(Leg& leg) {
  {
    std::lock_guard lock(mutex_);
    leg.started = true;
    leg.signs.Begin();
  }
  std::vector<uint64_t> rows;
  rows.reserve(leg.rows.size());
  for (uint32_t i : leg.rows) rows.push_back(request_.rows[i]);
  Status status = Status::OK();
  for (int asked = 0; asked < kAskedMax; ++asked) {
    leg.sink.emplace(&leg.signs, leg.limits);
    status = cluster_.client().FetchRows(
        leg.member.flight, asked_, rows, *leg.sink,
        {.deadline = request_.deadline, .stop = leg.call->token()});
    if (status.code() != StatusCode::kCorrupt) break;
    ++cluster_.counters().damaged;
    spdlog::warn("rows from {} were damaged: {}", leg.member.id, status.message());
  }
  if (status.ok()) {
    cluster_.counters().rows += rows.size();
    cluster_.counters().bytes += leg.sink->size();
    cluster_.patience().Record(leg.signs.longest_silence());
  }
  std::lock_guard lock(mutex_);
  leg.status = std::move(status);
  leg.ended = true;
  --running_;
  changed_.notify_all();
}

// A leg that waits for a thread here is not its peer's fault, and others would wait as
// well; it ends with the calls of those who have one, which are watched.
bool ClusterRows::InTrouble(const Leg& leg, milliseconds time) const {
  if (leg.ended) return false;
  if (leg.started) return leg.signs.Trouble() > time;
  return cluster_.calls().Avoided(leg.member) == PeerCalls::Fault::kSilent;
}

// Without replicas others would have to read the source first.
milliseconds ClusterRows::HedgeDelay() const {
  const PeerPatience& patience = cluster_.patience();
  return peers_.options().replicas > 1 ? patience.Delay() : patience.FillDelay();
}

milliseconds ClusterRows::GiveUpDelay() const {
  return cluster_.patience().FillDelay() + kGiveUpExtra;
}

// Moves a group on; true once it is known where its rows come from.
bool ClusterRows::Settled(Group& group) {
  if (group.settled) return true;
  Leg& first = group.first.front();
  first.signs.Look();
  for (Leg& leg : group.others) leg.signs.Look();
  auto answered = [](const Leg& leg) { return leg.ended; };
  // Rows that this node has no memory for come from nobody.
  bool no_room = first.failed() && first.status.code() == StatusCode::kFull;
  if (first.done() || no_room) {
    group.settled = true;
  } else if (!group.asked_others) {
    bool in_trouble = InTrouble(first, HedgeDelay());
    if (!first.failed() && !in_trouble) return false;
    Judge(first);
    AskOthers(group);
  } else if (std::ranges::all_of(group.others, answered)) {
    group.settled = true;
  } else if (first.failed() || InTrouble(first, GiveUpDelay())) {
    GiveUp(group);
  }
  return group.settled;
}

// Of one that did not give its rows, or not in time.
void ClusterRows::Judge(const Leg& leg) {
  ++(leg.ended ? cluster_.counters().failed_calls : cluster_.counters().hedges);
  spdlog::warn("{} gave no rows of {}: {}", leg.member.id, peers_.options().dataset,
               leg.ended ? leg.status.message() : "it is silent or slow");
  bool at_fault = leg.ended ? leg.status.code() == StatusCode::kUnavailable : leg.started;
  if (at_fault) cluster_.calls().Avoid(leg.member);
}

void ClusterRows::AskOthers(Group& group) {
  group.asked_others = true;
  group.others = Plan(group.first.front().rows, group.first.front().member.id);
  for (Leg& leg : group.others) Start(leg);
}

void ClusterRows::GiveUp(Group& group) {
  bool waits = false;
  for (Leg& leg : group.others) {
    bool in_trouble = InTrouble(leg, GiveUpDelay());
    waits = waits || (!leg.ended && !in_trouble);
    if (in_trouble && leg.started) cluster_.calls().Avoid(leg.member);
  }
  group.settled = !waits;
}

void ClusterRows::StopAll(std::unique_lock<std::mutex>& lock) {
  for (Group& group : groups_) {
    for (auto* legs : {&group.first, &group.others}) {
      for (Leg& leg : *legs) {
        leg.call->Stop();
        if (leg.pending.CallOff()) --running_;
      }
    }
  }
  changed_.wait(lock, [this] { return running_ == 0; });
}

Result<cache::GatheredRows> ClusterRows::Assemble() {
  cache::GatheredRows gathered;
  gathered.part_of.resize(request_.rows.size(), cache::GatheredRows::kInChunks);
  auto take = [&](Leg& leg) {
    if (!leg.done()) return;
    auto part = static_cast<uint32_t>(gathered.parts.size());
    for (uint32_t row : leg.rows) gathered.part_of[row] = part;
    gathered.parts.push_back({leg.sink->TakeFd(), leg.sink->size()});
  };
  for (Group& group : groups_) {
    if (group.first.front().done()) {
      take(group.first.front());
    } else {
      std::ranges::for_each(group.others, take);
    }
  }
  return gathered;
}

}  // namespace forebay::node
