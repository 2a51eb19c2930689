#include "node/cluster_chunks.h"

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "node/pending_call.h"
#include "node/silence.h"

namespace forebay::node {
namespace {

constexpr milliseconds kLook{20};
// A member that would have to read the source is asked after such a silence: a false
// alarm costs a second reading.
constexpr milliseconds kFillDelay{1'000};
constexpr milliseconds kGiveUpTime{2'000};

// What the source would answer too.
bool IsFinal(StatusCode code) {
  return code == StatusCode::kPermission || code == StatusCode::kChanged;
}

// Stores chunks as they arrive.
class StoringSink : public flight::ChunkSink {
 public:
  // `on_stored` hears the index in the question of each chunk.
  StoringSink(const std::vector<cache::FillChunk>* chunks,
              const cache::FillContext& context, std::function<void(uint32_t)> on_stored,
              Silence* silence)
      : chunks_(*chunks),
        context_(context),
        on_stored_(std::move(on_stored)),
        silence_(silence) {}

  Status Begin(const Chunk& chunk) override {
    if (chunk.index >= chunks_.size() || chunk.key != chunks_[chunk.index].key) {
      return Status::Corrupt("a peer sent a chunk that it was not asked for");
    }
    coming_ = chunk;
    FB_ASSIGN_OR_RETURN(
        writer_, context_.store->Create(chunk.key, model::ChunkKind::kTable, chunk.size));
    return Status::OK();
  }
  Status Append(const void* data, size_t size) override {
    return writer_->Append(data, size);
  }
  Status End() override {
    if (writer_->checksum() != coming_.checksum) {
      return Status::Corrupt("a chunk was damaged on its way from a peer");
    }
    FB_ASSIGN_OR_RETURN(storage::Chunk stored, writer_->Commit());
    writer_.reset();
    auto took = std::chrono::steady_clock::now() - start_;
    context_.on_chunk(chunks_[coming_.index], stored,
                      {.peer = took, .source = {}, .decode = {}});
    bytes_ += coming_.size;
    ++count_;
    on_stored_(coming_.index);
    return Status::OK();
  }
  void Heard() override { silence_->Heard(); }
  void WillBeSilent() override { silence_->Expect(); }

  size_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const std::vector<cache::FillChunk>& chunks_;
  const cache::FillContext& context_;
  const std::function<void(uint32_t)> on_stored_;
  Silence* silence_;
  const TimePoint start_ = std::chrono::steady_clock::now();
  Chunk coming_;
  std::unique_ptr<storage::ChunkWriter> writer_;
  size_t count_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

struct ClusterChunks::Leg {
  cluster::Member member;
  bool stored_only = false;
  std::vector<cache::FillChunk> chunks{};
  std::vector<size_t> places{};  // of the chunks in the request
  Silence silence{};
  std::optional<PeerCalls::Scope> call{};
  PendingCall pending{};
  bool started = false;
  bool ended = false;
  bool judged = false;
  Status status{};
};

ClusterChunks::ClusterChunks(const ClusterPeers* peers, const cache::FillRequest* request,
                             const cache::FillContext* context)
    : peers_(*peers),
      request_(*request),
      context_(*context),
      cluster_(*peers->options().cluster),
      unit_(request->view.manifest().units()[request->unit].content),
      came_(request->chunks.size()) {
  for (auto& who : peers_.Candidates(unit_)) candidates_.push_back({std::move(who)});
}

ClusterChunks::~ClusterChunks() = default;

Result<std::vector<cache::FillChunk>> ClusterChunks::Run() {
  std::unique_lock lock(mutex_);
  while (Advance()) changed_.wait_for(lock, kLook);
  return Finish(lock);
}

bool ClusterChunks::Advance() {
  for (Leg& leg : legs_) {
    if (leg.ended && !leg.judged) Judge(leg);
  }
  if (AllCame() || !final_.ok() || context_.deadline.passed()) return false;
  if (running_ == 0) return StartNext(Rights::kAll);
  if (AllSilent(kFillDelay) && StartNext(Rights::kAll)) return true;
  if (AllSilent(cluster_.patience().Delay())) StartNext(Rights::kStored);
  return !AllSilent(kGiveUpTime);
}

void ClusterChunks::Judge(Leg& leg) {
  leg.judged = true;
  if (leg.status.ok()) return;
  if (IsFinal(leg.status.code())) final_ = leg.status;
  if (leg.stored_only && leg.status.code() == StatusCode::kNotFound) return;
  let_down_ = true;
  ++cluster_.counters().failed_calls;
  spdlog::warn("{} gave no chunks of {}: {}", leg.member.id, peers_.options().dataset,
               leg.status.message());
  if (leg.status.code() == StatusCode::kUnavailable) {
    cluster_.calls().Avoid(leg.member);
  }
}

// Where others are silent, they are left alone from now on.
bool ClusterChunks::StartNext(Rights rights) {
  auto next = std::ranges::find_if(candidates_, [&](const Candidate& c) {
    return !c.asked && (rights == Rights::kAll || !c.probed);
  });
  if (next == candidates_.end()) return false;
  for (Leg& leg : legs_) {
    if (leg.ended) continue;
    if (leg.started) cluster_.calls().Avoid(leg.member);
    ++cluster_.counters().hedges;
  }
  Start(*next, rights);
  return true;
}

void ClusterChunks::Start(Candidate& candidate, Rights rights) {
  Leg& leg = legs_.emplace_back();
  leg.member = candidate.who.member;
  leg.stored_only = candidate.who.stored_only || rights == Rights::kStored;
  candidate.probed = true;
  candidate.asked = leg.stored_only == candidate.who.stored_only;
  for (size_t i = 0; i < came_.size(); ++i) {
    if (came_[i] != 0) continue;
    leg.chunks.push_back(request_.chunks[i]);
    leg.places.push_back(i);
  }
  leg.call.emplace(&cluster_.calls(), PeerCalls::Call{leg.member.id, unit_});
  ++running_;
  using Kind = Cluster::CallKind;
  leg.pending.Submit(cluster_.callers(leg.stored_only ? Kind::kStored : Kind::kFills),
                     [this, &leg] { Ask(leg); });
}

void ClusterChunks::Ask(Leg& leg) {
  {
    std::lock_guard lock(mutex_);
    leg.started = true;
    leg.silence.Begin();
  }
  flight::ChunkRequest wanted;
  wanted.table.dataset = peers_.options().dataset;
  wanted.table.version = request_.view.manifest().version();
  wanted.columns = request_.view.columns;
  wanted.stored_only = leg.stored_only;
  for (const cache::FillChunk& chunk : leg.chunks) wanted.refs.push_back(chunk.ref);
  auto on_stored = [&](uint32_t index) {
    std::lock_guard lock(mutex_);
    came_[leg.places[index]] = 1;
    changed_.notify_all();
  };
  StoringSink sink(&leg.chunks, context_, on_stored, &leg.silence);
  Status status = cluster_.client().FetchChunks(leg.member.flight, wanted, sink,
                                                {context_.deadline, leg.call->token()});
  cluster_.counters().chunks += sink.count();
  cluster_.counters().bytes += sink.bytes();
  if (status.ok()) cluster_.patience().Record(leg.silence.longest());
  std::lock_guard lock(mutex_);
  leg.status = std::move(status);
  leg.ended = true;
  --running_;
  changed_.notify_all();
}

// A leg that has no thread yet is as silent as a peer.
bool ClusterChunks::AllSilent(milliseconds time) const {
  return std::ranges::all_of(legs_, [&](const Leg& leg) {
    return leg.ended || (!leg.silence.expected() && leg.silence.now() > time);
  });
}

bool ClusterChunks::AllCame() const {
  return std::ranges::all_of(came_, [](uint8_t came) { return came != 0; });
}

Result<std::vector<cache::FillChunk>> ClusterChunks::Finish(
    std::unique_lock<std::mutex>& lock) {
  for (Leg& leg : legs_) {
    if (leg.ended) continue;
    leg.call->Stop();
    if (!AllCame()) let_down_ = true;
    if (!AllCame() && leg.started) cluster_.calls().Avoid(leg.member);
    if (leg.pending.CallOff()) --running_;
  }
  changed_.wait(lock, [this] { return running_ == 0; });
  if (!final_.ok()) return final_;
  std::vector<cache::FillChunk> rest;
  for (size_t i = 0; i < came_.size(); ++i) {
    if (came_[i] == 0) rest.push_back(request_.chunks[i]);
  }
  if (let_down_ && !rest.empty()) ++cluster_.counters().fallbacks;
  return rest;
}

}  // namespace forebay::node
