#include "cache/fill_queue.h"

#include <algorithm>

#include "base/log.h"
#include "base/start_thread.h"
#include "cache/peers.h"

namespace forebay::cache {

// A chunk that some job will bring.
struct FillQueue::Pending {
  std::promise<Result<Brought>> promise;
  ChunkFuture future = promise.get_future().share();
  std::weak_ptr<Job> job;
};

struct FillQueue::Job {
  FillRequest request;
  Rank rank{static_cast<int>(Need::kSomeday), 0};
  bool started = false;
  bool waits = false;    // for fills of other nodes
  bool dropped = false;  // while it waited for memory: those who asked have been told
  std::set<ClientId> clients;
  std::atomic<int> urgency{static_cast<int>(Need::kSomeday)};  // as in its rank
  std::stop_source stop;                                       // ends its wait for memory
};

namespace {

ChunkFuture Ready(Result<storage::Chunk> result) {
  std::promise<Result<Brought>> promise;
  if (result.ok()) {
    promise.set_value(Brought{*std::move(result)});
  } else {
    promise.set_value(result.status());
  }
  return promise.get_future().share();
}

Status Stopping() { return Status::Cancelled("the node is stopping"); }

}  // namespace

Brought BroughtFor(Need need, storage::Chunk chunk, FillTimes times) {
  if (need == Need::kSomeday && chunk.borrowed) chunk.fd = nullptr;
  return {std::move(chunk), times};
}

FillQueue::FillQueue(Options options) : options_(options) {
  for (size_t i = 0; i < std::max<size_t>(options.thread_count, 1); ++i) {
    for (bool waits : {false, true}) {
      auto thread = StartThread([this, waits] { Work(waits); });
      if (thread.ok()) {
        threads_.push_back(*std::move(thread));
        continue;
      }
      // Without one of each kind readers would wait for ever.
      if (i == 0) {
        status_ = thread.status();
      } else {
        spdlog::warn("{} fills run at once instead of {}: {}", i, options.thread_count,
                     thread.status().message());
      }
      return;
    }
  }
}

FillQueue::~FillQueue() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

void FillQueue::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    while (!queue_.empty()) {
      auto job = queue_.begin()->second;
      Dequeue(*job);
      FinishJob(*job, Stopping());
    }
    for (Job* job : awaiting_memory_) Drop(*job, Stopping());
  }
  stop_.request_stop();
  wake_.notify_all();
}

std::vector<ChunkFuture> FillQueue::Request(const View& view,
                                            const std::vector<model::ChunkRef>& refs,
                                            const RequestOptions& with) {
  std::vector<ChunkFuture> futures(refs.size());
  std::vector<size_t> missing;
  for (size_t i = 0; i < refs.size(); ++i) {
    auto stored = options_.store->Get(view.Key(refs[i]), with.deadline);
    bool answered = stored.ok() || stored.status().code() == StatusCode::kDeadline;
    if (answered) {
      futures[i] = Ready(std::move(stored));
    } else {
      missing.push_back(i);
    }
  }
  if (missing.empty()) return futures;
  {
    // All under one lock: a job that started between two groups of its unit would leave
    // the second to another decode.
    std::lock_guard lock(mutex_);
    for (size_t i : missing) futures[i] = Join(view, refs[i], with);
  }
  wake_.notify_all();
  return futures;
}

ChunkFuture FillQueue::Join(const View& view, model::ChunkRef ref,
                            const RequestOptions& with) {
  if (stopping_) return Ready(Stopping());
  Hash128 key = view.Key(ref);
  auto found = pending_.find(key);
  if (found == pending_.end()) {
    uint32_t unit = view.manifest().ranges()[ref.range].unit;
    Cover(QueuedJob(view, unit), ref.group);
    found = pending_.find(key);
    if (found == pending_.end()) return StoredSince(key);
  }
  if (auto job = found->second->job.lock()) Raise(job, with);
  return found->second->future;
}

// The mutex is held, so this waits for nothing. Readers ask again.
ChunkFuture FillQueue::StoredSince(const Hash128& key) {
  auto stored = options_.store->Get(key, Deadline::After(milliseconds(0)));
  if (stored.ok()) return Ready(std::move(stored));
  return Ready(Status::Cancelled("a chunk came and went while it was asked for"));
}

// Groups of one unit asked for together share a job, and with it one decode.
std::shared_ptr<FillQueue::Job> FillQueue::QueuedJob(const View& view, uint32_t unit) {
  auto& job = by_unit_[UnitKey{view.version.get(), unit, view.columns}];
  if (job != nullptr) return job;
  job = std::make_shared<Job>();
  job->request.view = view;
  job->request.unit = unit;
  job->rank.second = next_age_++;
  const auto& peers = view.version->peers;
  job->waits =
      peers != nullptr && peers->WaitsForFills(view.manifest().units()[unit].content);
  Enqueue(job);
  return job;
}

void FillQueue::Enqueue(const std::shared_ptr<Job>& job) {
  job->started = false;
  queue_[job->rank] = job;
  by_unit_[KeyOf(*job)] = job;
  ++counters_.queued;
}

void FillQueue::Dequeue(Job& job) {
  job.started = true;
  --counters_.queued;
  by_unit_.erase(KeyOf(job));
  queue_.erase(job.rank);
}

FillQueue::UnitKey FillQueue::KeyOf(const Job& job) {
  const View& view = job.request.view;
  return {view.version.get(), job.request.unit, view.columns};
}

void FillQueue::Cover(const std::shared_ptr<Job>& job, uint32_t group) {
  const View& view = job->request.view;
  const model::UnitRecord& unit = view.manifest().units()[job->request.unit];
  for (uint32_t i = 0; i < unit.range_count; ++i) {
    model::ChunkRef ref{unit.first_range + i, group};
    // Nobody reads a range without live rows.
    if (view.manifest().ranges()[ref.range].row_count == 0) continue;
    Hash128 key = view.Key(ref);
    if (pending_.contains(key) || options_.store->Contains(key)) continue;
    auto pending = std::make_shared<Pending>();
    pending->job = job;
    pending_[key] = std::move(pending);
    job->request.chunks.push_back({ref, key});
  }
  std::ranges::sort(job->request.chunks, {}, &FillChunk::ref);
}

void FillQueue::Raise(const std::shared_ptr<Job>& job, const RequestOptions& with) {
  job->clients.insert(with.client);
  if (static_cast<int>(with.need) >= job->rank.first) return;
  if (!job->started) queue_.erase(job->rank);
  job->rank.first = static_cast<int>(with.need);
  job->urgency = job->rank.first;
  if (!job->started) {
    queue_[job->rank] = job;
  } else if (awaiting_memory_.contains(job.get())) {
    options_.budget->Reorder();
  }
}

void FillQueue::Forget(ClientId client) {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Job>> unwanted;
  for (auto& [rank, job] : queue_) {
    if (job->clients.erase(client) > 0 && job->clients.empty()) unwanted.push_back(job);
  }
  for (auto& job : unwanted) {
    Dequeue(*job);
    FinishJob(*job, Status::Cancelled("nobody waits for this fill any more"));
  }
  for (Job* job : awaiting_memory_) {
    if (job->clients.erase(client) == 0 || !job->clients.empty()) continue;
    Drop(*job, Status::Cancelled("nobody waits for this fill any more"));
  }
}

// Whoever asks for its chunks from now on gets another job.
void FillQueue::Drop(Job& job, const Status& why) {
  if (job.dropped) return;
  job.dropped = true;
  FinishJob(job, why);
  job.stop.request_stop();
}

FillQueue::Counters FillQueue::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

std::shared_ptr<FillQueue::Job> FillQueue::Next(bool waits) const {
  for (const auto& [rank, job] : queue_) {
    if (job->waits == waits) return job;
  }
  return nullptr;
}

void FillQueue::Work(bool waits) {
  std::unique_lock lock(mutex_);
  for (;;) {
    AwaitJob(waits, lock);
    if (stopping_) return;
    std::shared_ptr<Job> job = Next(waits);
    Dequeue(*job);
    ++counters_.running;
    Status status = RunJob(*job, lock);
    --counters_.running;
    if (!job->dropped) FinishJob(*job, status);
    // A warm-up ends: nothing more is decoded soon, and chunks may need the memory.
    bool last = queue_.empty() && job->rank.first == static_cast<int>(Need::kSomeday);
    if (!last) continue;
    lock.unlock();
    options_.memory->ReleaseUnused();
    lock.lock();
  }
}

// Until there is something to do. Memory that nobody has needed for a while is given
// back: by each thread, because allocators keep some for each.
void FillQueue::AwaitJob(bool waits, std::unique_lock<std::mutex>& lock) {
  auto ready = [&] { return stopping_ || Next(waits) != nullptr; };
  do {
    if (wake_.wait_for(lock, kFillsIdle, ready)) return;
  } while (counters_.running > 0);
  lock.unlock();
  options_.memory->ReleaseUnused();
  lock.lock();
  wake_.wait(lock, ready);
}

Status FillQueue::RunJob(Job& job, std::unique_lock<std::mutex>& lock) {
  FillContext context{
      .store = options_.store,
      .memory = options_.memory,
      .pool = options_.read_pool,
      .footers = options_.footers,
      .deadline = Deadline::After(options_.unit_timeout).StoppedBy(stop_.get_token()),
      .reserve = {},
      .on_chunk = {}};
  if (options_.budget != nullptr) {
    context.reserve = [this, &job, &context](const MemoryNeed& need) {
      return AwaitMemory(job,
                         {.bytes = need.bytes,
                          .alone = need.alone,
                          .urgency = &job.urgency,
                          .deadline = context.deadline.StoppedBy(job.stop.get_token()),
                          .instead_of = need.instead_of});
    };
  }
  context.on_chunk = [this, &job](const FillChunk& chunk, const storage::Chunk& stored,
                                  FillTimes times) {
    std::lock_guard relock(mutex_);
    ++counters_.chunks;
    Resolve(chunk.key, BroughtFor(static_cast<Need>(job.rank.first), stored, times));
  };
  FillRequest request = job.request;
  if (request.chunks.empty()) return Status::OK();  // others brought them meanwhile
  lock.unlock();
  Status status = Fill(request, context);
  if (!status.ok()) spdlog::debug("a fill failed: {}", status.ToString());
  lock.lock();
  return !status.ok() && stopping_ ? Stopping() : status;
}

Result<Reservation> FillQueue::AwaitMemory(Job& job, MemoryBudget::Request request) {
  {
    std::lock_guard lock(mutex_);
    awaiting_memory_.insert(&job);
    if (stopping_) Drop(job, Stopping());
  }
  auto reserved = options_.budget->Reserve(request);
  std::lock_guard lock(mutex_);
  awaiting_memory_.erase(&job);
  if (job.dropped) return Status::Cancelled("the fill was dropped");
  return reserved;
}

void FillQueue::FinishJob(Job& job, const Status& status) {
  ++(status.ok() ? counters_.fills : counters_.failed_fills);
  for (const FillChunk& chunk : job.request.chunks) {
    auto found = pending_.find(chunk.key);
    // What this job brought may be evicted and asked for again already.
    if (found == pending_.end() || found->second->job.lock().get() != &job) continue;
    Resolve(chunk.key,
            status.ok() ? Status::Internal("a fill left out a chunk") : status);
  }
}

void FillQueue::Resolve(const Hash128& key, Result<Brought> result) {
  auto found = pending_.find(key);
  if (found == pending_.end()) return;
  found->second->promise.set_value(std::move(result));
  pending_.erase(found);
}

}  // namespace forebay::cache
