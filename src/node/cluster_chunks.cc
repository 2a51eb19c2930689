#include "node/cluster_chunks.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "node/peers/pending_call.h"
#include "node/peers/watched_sink.h"
#include "wire/message.h"

namespace forebay::node {
namespace {

constexpr milliseconds kChunkPoll{20};

// What the source would answer too.
bool IsFinal(StatusCode code) {
  return code == StatusCode::kPermission || code == StatusCode::kChanged;
}

}  // namespace

struct ClusterChunks::Leg {
  explicit Leg(PeerRates* rates) : signs(rates) {}

  cluster::Member member;
  bool stored_only = false;
  std::vector<size_t> places{};  // of what it is to bring
  std::vector<size_t> asked{};   // of what it is asked for now
  PeerSigns signs;
  std::optional<PeerCalls::Scope> call{};
  PendingCall pending{};
  bool started = false;
  bool ended = false;
  bool judged = false;
  bool refused = false;
  bool no_room = false;   // this node's own store did not take what came
  bool gave_way = false;  // was stopped to make room for another leg
  Status status{};
};

// Stores chunks as they arrive.
class ClusterChunks::StoringSink : public WatchedSink {
 public:
  StoringSink(ClusterChunks* all, Leg* leg)
      : WatchedSink(&leg->signs), all_(*all), leg_(*leg) {}

  void Refused() override { leg_.refused = true; }
  size_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Status Open(const Chunk& chunk) override {
    const WantedChunks& wanted = all_.wanted_;
    bool asked_for = chunk.index < leg_.asked.size();
    if (asked_for) {
      const WantedChunks::Wanted& one = wanted.chunks[leg_.asked[chunk.index]];
      asked_for = chunk.key == one.key && chunk.size == one.size.value_or(chunk.size);
    }
    if (!asked_for) {
      return Status::Corrupt("a peer sent a chunk that it was not asked for");
    }
    coming_ = chunk;
    auto writer = wanted.store->Create(chunk.key, wanted.kind, chunk.size);
    FB_RETURN_NOT_OK(NotingNoRoom(writer.status()));
    writer_ = *std::move(writer);
    return Status::OK();
  }
  Status Take(const void* data, size_t size) override {
    return NotingNoRoom(writer_->Append(data, size));
  }
  Status Close() override {
    if (writer_->checksum() != coming_.checksum) {
      return Status::Corrupt("a chunk was damaged on its way from a peer");
    }
    auto stored = writer_->Commit();
    FB_RETURN_NOT_OK(NotingNoRoom(stored.status()));
    writer_.reset();
    bytes_ += coming_.size;
    ++count_;
    all_.Came(leg_.asked[coming_.index], *std::move(stored),
              std::chrono::steady_clock::now() - start_);
    return Status::OK();
  }
  Status NotingNoRoom(Status status) {
    if (status.code() == StatusCode::kFull) leg_.no_room = true;
    return status;
  }

  ClusterChunks& all_;
  Leg& leg_;
  const TimePoint start_ = std::chrono::steady_clock::now();
  Chunk coming_;
  std::unique_ptr<storage::ChunkWriter> writer_;
  size_t count_ = 0;
  uint64_t bytes_ = 0;
};

ClusterChunks::ClusterChunks(const ClusterPeers* peers, const WantedChunks* wanted)
    : peers_(*peers),
      wanted_(*wanted),
      cluster_(*peers->options().cluster),
      came_(wanted->chunks.size()) {
  for (auto& who : peers_.Candidates(wanted_.unit)) {
    candidates_.push_back({std::move(who)});
  }
  NoteOrigins();
}

ClusterChunks::~ClusterChunks() = default;

// Every chunk of a cluster's datasets is looked up here first, wherever it comes from.
void ClusterChunks::NoteOrigins() {
  SecondCopies* copies = cluster_.second_copies();
  if (copies == nullptr || !wanted_.request.table.version) return;
  for (const WantedChunks::Wanted& chunk : wanted_.chunks) {
    copies->Note(chunk.key,
                 {.unit = wanted_.unit, .version = *wanted_.request.table.version});
  }
}

Result<std::vector<size_t>> ClusterChunks::Run() {
  std::unique_lock lock(mutex_);
  while (Advance()) changed_.wait_for(lock, kChunkPoll);
  return Finish(lock);
}

bool ClusterChunks::Advance() {
  for (Leg& leg : legs_) {
    leg.signs.Look();
    if (leg.ended && !leg.judged) Judge(leg);
  }
  if (AllCame() || !final_.ok() || wanted_.deadline.passed()) return false;
  if (running_ == 0) return StartNext(Rights::kAll);
  if (AllInTrouble(cluster_.patience().FillDelay())) return StartNext(Rights::kAll);
  if (AllInTrouble(cluster_.patience().Delay())) StartNext(Rights::kStored);
  return true;
}

void ClusterChunks::Judge(Leg& leg) {
  leg.judged = true;
  if (leg.status.ok() || leg.gave_way) return;
  if (leg.no_room) return MakeRoomFor(leg);
  if (IsFinal(leg.status.code())) final_ = leg.status;
  if (leg.stored_only && leg.status.code() == StatusCode::kNotFound) return;
  let_down_ = true;
  ++cluster_.counters().failed_calls;
  spdlog::warn("{} gave no chunks of {}: {}", leg.member.id, peers_.options().dataset,
               leg.status.message());
  if (leg.status.code() == StatusCode::kUnavailable) {
    using Fault = PeerCalls::Fault;
    cluster_.calls().Avoid(leg.member, leg.refused ? Fault::kRefused : Fault::kSilent);
  }
}

// A hedged call and the one it hedges may each have memory for the same chunk. Where that
// is too much, the faster one goes on alone. Where it is too much even so, the source
// would need the same memory.
void ClusterChunks::MakeRoomFor(const Leg& leg) {
  bool made_room = false;
  for (Leg& other : legs_) {
    if (other.ended) continue;
    other.gave_way = true;
    other.call->Stop();
    made_room = true;
  }
  if (!made_room) {
    final_ = leg.status;
    return;
  }
  for (Candidate& candidate : candidates_) {
    if (candidate.who.member.id == leg.member.id) candidate.asked = false;
  }
}

// Where others are silent, they are left alone from now on. Slow ones are only once
// another one was faster.
bool ClusterChunks::StartNext(Rights rights) {
  auto next = std::ranges::find_if(candidates_, [&](const Candidate& c) {
    return !c.asked && (rights == Rights::kAll || !c.probed);
  });
  if (next == candidates_.end()) return false;
  for (Leg& leg : legs_) {
    if (leg.ended) continue;
    if (leg.started && !leg.signs.slow()) cluster_.calls().Avoid(leg.member);
    ++cluster_.counters().hedges;
  }
  Start(*next, rights);
  return true;
}

void ClusterChunks::Start(Candidate& candidate, Rights rights) {
  Leg& leg = legs_.emplace_back(&cluster_.rates());
  leg.member = candidate.who.member;
  leg.stored_only = candidate.who.stored_only || rights == Rights::kStored;
  candidate.probed = true;
  candidate.asked = leg.stored_only == candidate.who.stored_only;
  for (size_t i = 0; i < came_.size(); ++i) {
    if (came_[i] == 0) leg.places.push_back(i);
  }
  leg.call.emplace(&cluster_.calls(), PeerCalls::Call{leg.member.id, wanted_.unit});
  ++running_;
  using Kind = Cluster::CallKind;
  // Where no thread can be had, the call runs here, and takes the lock itself.
  mutex_.unlock();
  leg.pending.Submit(cluster_.callers(leg.stored_only ? Kind::kStored : Kind::kFills),
                     [this, &leg] { Ask(leg); });
  mutex_.lock();
}

void ClusterChunks::Ask(Leg& leg) {
  {
    std::lock_guard lock(mutex_);
    leg.started = true;
    leg.signs.Begin();
  }
  Status status = Fetch(leg);
  for (int asked = 1; status.code() == StatusCode::kCorrupt; ++asked) {
    ++cluster_.counters().damaged;
    if (asked == kAskedMax) break;
    spdlog::warn("chunks from {} were damaged: {}", leg.member.id, status.message());
    status = Fetch(leg);
  }
  if (status.ok()) cluster_.patience().Record(leg.signs.longest_silence());
  std::lock_guard lock(mutex_);
  leg.status = std::move(status);
  leg.ended = true;
  --running_;
  changed_.notify_all();
}

// Whatever of the leg's chunks has not come yet, as many at a time as one question holds.
Status ClusterChunks::Fetch(Leg& leg) {
  flight::ChunkRequest request = wanted_.request;
  request.stored_only = leg.stored_only;
  {
    std::lock_guard lock(mutex_);
    std::erase_if(leg.places, [this](size_t place) { return came_[place] != 0; });
  }
  Status status = Status::OK();
  for (size_t done = 0; status.ok() && done < leg.places.size();) {
    auto from = leg.places.begin() + static_cast<ptrdiff_t>(done);
    size_t count = std::min<size_t>(leg.places.size() - done, wire::kRequestRefsMax);
    leg.asked.assign(from, from + static_cast<ptrdiff_t>(count));
    request.refs.clear();
    for (size_t place : leg.asked) request.refs.push_back(wanted_.chunks[place].ref);
    StoringSink sink(this, &leg);
    status = cluster_.client().FetchChunks(leg.member.flight, request, sink,
                                           {wanted_.deadline, leg.call->token()});
    cluster_.counters().chunks += sink.count();
    cluster_.counters().bytes += sink.bytes();
    done += count;
  }
  return status;
}

// Of two who bring the same chunk the first is heard.
void ClusterChunks::Came(size_t index, storage::Chunk chunk,
                         std::chrono::nanoseconds took) {
  std::lock_guard lock(mutex_);
  if (came_[index] != 0) return;
  wanted_.on_chunk(index, std::move(chunk), {.peer = took, .source = {}, .decode = {}});
  came_[index] = 1;
  changed_.notify_all();
}

// A leg that waits for a thread here is not its peer's fault, and others would wait as
// well; it ends with the calls of those who have one, which are watched.
bool ClusterChunks::InTrouble(const Leg& leg, milliseconds time) const {
  if (!leg.started) {
    return cluster_.calls().Avoided(leg.member) == PeerCalls::Fault::kSilent;
  }
  return leg.signs.Trouble() > time;
}

bool ClusterChunks::AllInTrouble(milliseconds time) const {
  return std::ranges::all_of(
      legs_, [&](const Leg& leg) { return leg.ended || InTrouble(leg, time); });
}

bool ClusterChunks::AllCame() const {
  return std::ranges::all_of(came_, [](uint8_t came) { return came != 0; });
}

Result<std::vector<size_t>> ClusterChunks::Finish(std::unique_lock<std::mutex>& lock) {
  for (Leg& leg : legs_) {
    if (leg.ended) continue;
    leg.call->Stop();
    if (!AllCame()) let_down_ = true;
    bool at_fault = !AllCame() || leg.signs.slow();
    if (at_fault && leg.started) cluster_.calls().Avoid(leg.member);
    if (leg.pending.CallOff()) --running_;
  }
  changed_.wait(lock, [this] { return running_ == 0; });
  if (!final_.ok()) return final_;
  std::vector<size_t> rest;
  for (size_t i = 0; i < came_.size(); ++i) {
    if (came_[i] == 0) rest.push_back(i);
  }
  if (let_down_ && !rest.empty()) ++cluster_.counters().fallbacks;
  return rest;
}

}  // namespace forebay::node
