#include "cache/file_fills.h"

#include <algorithm>

#include "base/log.h"
#include "base/start_thread.h"
#include "cache/peers.h"

namespace forebay::cache {

struct FileFills::Job {
  Version version;
  model::ChunkRef ref;
  Hash128 key;
  Rank rank{static_cast<int>(Need::kSomeday), 0};
  Need need = Need::kSomeday;  // of those who asked, also since it started
  bool started = false;
  bool waits = false;  // for fills of other nodes
  std::set<ClientId> clients;
  std::promise<Result<Brought>> promise;
  ChunkFuture future = promise.get_future().share();

  bool is_pack() const { return ref.group == model::kPackGroup; }
  bool hurried() const { return rank.first == static_cast<int>(Need::kNow); }
  uint64_t bytes() const { return FillBytes(*version, ref, hurried()); }
};

namespace {

// Once this share of a pack was read file by file, the rest is read too.
constexpr uint64_t kPackShare = 4;
// Of packs that are read file by file; forgetting one only costs requests.
constexpr size_t kSinglesMax = 100'000;
constexpr ClientId kNobody = 0;

Result<FileFilled> FromPeersOrSource(const FilesVersion& version, model::ChunkRef ref,
                                     const FileFillContext& context) {
  if (version.peers != nullptr) {
    FB_ASSIGN_OR_RETURN(auto brought,
                        version.peers->BringFile({.version = &version,
                                                  .ref = ref,
                                                  .store = context.store,
                                                  .deadline = context.deadline}));
    if (brought) return *std::move(brought);
  }
  return FillFileChunk(version, ref, context);
}

bool WaitsForOthers(const FilesVersion& version, model::ChunkRef ref) {
  return version.peers != nullptr &&
         version.peers->WaitsForFills(model::FilePlacement(*version.manifest, ref));
}

ChunkFuture Ready(Result<storage::Chunk> chunk) {
  std::promise<Result<Brought>> promise;
  if (chunk.ok()) {
    promise.set_value(Brought{*std::move(chunk)});
  } else {
    promise.set_value(chunk.status());
  }
  return promise.get_future().share();
}

Status Stopping() { return Status::Cancelled("the node is stopping"); }

}  // namespace

FileFills::FileFills(Options options)
    : options_(options), budget_(options.memory_bytes_max) {}

Status FileFills::StartThreads() {
  if (!threads_.empty()) return Status::OK();
  for (size_t i = 0; i < std::max<size_t>(options_.thread_count, 1); ++i) {
    auto thread = StartThread([this] { Work(); });
    if (!thread.ok() && i == 0) return thread.status();
    if (!thread.ok()) break;  // those that run do it all
    threads_.push_back(*std::move(thread));
  }
  objects_ = std::make_unique<ThreadPool>(options_.object_threads);
  return Status::OK();
}

FileFills::~FileFills() {
  Stop();
  for (std::thread& thread : threads_) thread.join();
}

void FileFills::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [rank, job] : queue_) {
      job->promise.set_value(Stopping());
      jobs_.erase(job->key);
    }
    counters_.queued -= queue_.size();
    queue_.clear();
  }
  stop_.request_stop();
  wake_.notify_all();
}

std::vector<FileFills::Asked> FileFills::Request(const Version& version,
                                                 const std::vector<model::ChunkRef>& refs,
                                                 const RequestOptions& with) {
  std::vector<Asked> asked;
  asked.reserve(refs.size());
  for (const model::ChunkRef& ref : refs) {
    asked.push_back(RequestOne(version, ref, with));
    wake_.notify_one();
  }
  return asked;
}

FileFills::Asked FileFills::RequestOne(const Version& version, model::ChunkRef ref,
                                       const RequestOptions& with) {
  auto answered = [](const Result<storage::Chunk>& stored) {
    return stored.ok() || stored.status().code() == StatusCode::kDeadline;
  };
  if (ref.group != model::kPackGroup) {
    if (auto pack = version->manifest->PackOf(ref.range)) {
      auto stored = options_.store->Get(version->Key(*pack), with.deadline);
      if (answered(stored)) return {*pack, Ready(std::move(stored))};
      // Who will need a small file will need its neighbours.
      if (with.need != Need::kNow) return RequestOne(version, *pack, with);
    }
  }
  auto stored = options_.store->Get(version->Key(ref), with.deadline);
  if (answered(stored)) return {ref, Ready(std::move(stored))};
  return {ref, Join(version, ref, with)};
}

ChunkFuture FileFills::Join(const Version& version, model::ChunkRef ref,
                            const RequestOptions& with) {
  Hash128 key = version->Key(ref);
  std::lock_guard lock(mutex_);
  if (stopping_) return Ready(Stopping());
  auto& job = jobs_[key];
  if (job == nullptr) {
    // It may have come between the look into the store and the lock.
    if (options_.store->Contains(key)) {
      // Not waited for, since the mutex is held.
      auto stored = options_.store->Get(key, Deadline::After(milliseconds(0)));
      if (stored.ok()) {
        jobs_.erase(key);
        return Ready(std::move(stored));
      }
    }
    if (Status started = StartThreads(); !started.ok()) {
      jobs_.erase(key);
      return Ready(started);
    }
    job = std::make_shared<Job>();
    job->version = version;
    job->ref = ref;
    job->key = key;
    job->waits = WaitsForOthers(*version, ref);
    job->rank = {static_cast<int>(with.need), next_age_++};
    queue_[job->rank] = job;
    ++counters_.queued;
  }
  Raise(*job, with);
  return job->future;
}

void FileFills::Raise(Job& job, const RequestOptions& with) {
  job.clients.insert(with.client);
  job.need = std::min(job.need, with.need);
  if (job.started || static_cast<int>(with.need) >= job.rank.first) return;
  auto node = queue_.extract(job.rank);
  job.rank.first = static_cast<int>(with.need);
  node.key() = job.rank;
  queue_.insert(std::move(node));
}

void FileFills::Forget(ClientId client) {
  std::lock_guard lock(mutex_);
  for (auto it = queue_.begin(); it != queue_.end();) {
    auto job = it->second;
    bool unwanted = job->clients.erase(client) > 0 && job->clients.empty();
    if (!unwanted) {
      ++it;
      continue;
    }
    it = queue_.erase(it);
    --counters_.queued;
    job->promise.set_value(Status::Cancelled("nobody waits for this fill any more"));
    jobs_.erase(job->key);
  }
}

FillQueue::Counters FileFills::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

// Packs take turns, so that single files get through. Jobs that wait for other nodes
// leave threads to those that other nodes wait for. No tree takes more threads, packs or
// memory than it leaves free: its source may hang.
bool FileFills::MayRun(const Job& job) const {
  if (job.is_pack() && packs_running_ >= options_.packs_max) return false;
  if (job.waits) return waiting_running_ < std::max<size_t>(options_.thread_count / 4, 1);
  auto same = reading_.find(job.version->manifest->root());
  if (same == reading_.end()) return true;
  const Share& share = same->second;
  bool has_slot = !job.is_pack() || share.packs == 0 ||
                  share.packs < options_.packs_max - packs_running_;
  uint64_t free_bytes =
      options_.memory_bytes_max - std::min(options_.memory_bytes_max, reading_bytes_);
  return has_slot && share.fills < options_.thread_count - counters_.running &&
         share.bytes + job.bytes() <= free_bytes;
}

std::shared_ptr<FileFills::Job> FileFills::Next() {
  for (auto& [rank, job] : queue_) {
    if (MayRun(*job)) return job;
  }
  return nullptr;
}

void FileFills::Count(const Job& job, int change) {
  counters_.running += change;
  if (job.is_pack()) packs_running_ += change;
  if (job.waits) {
    waiting_running_ += change;
    return;
  }
  auto same = reading_.try_emplace(std::string(job.version->manifest->root())).first;
  Share& share = same->second;
  share.fills += change;
  if (job.is_pack()) share.packs += change;
  uint64_t bytes = job.bytes();
  share.bytes = change > 0 ? share.bytes + bytes : share.bytes - bytes;
  reading_bytes_ = change > 0 ? reading_bytes_ + bytes : reading_bytes_ - bytes;
  if (share.fills == 0) reading_.erase(same);
}

// Memory that nobody has needed for a while is given back.
std::shared_ptr<FileFills::Job> FileFills::AwaitJob(std::unique_lock<std::mutex>& lock) {
  std::shared_ptr<Job> job;
  auto ready = [&] { return stopping_ || (job = Next()) != nullptr; };
  do {
    if (wake_.wait_for(lock, kFillsIdle, ready)) return job;
  } while (!jobs_.empty());
  lock.unlock();
  options_.memory->ReleaseUnused();
  lock.lock();
  wake_.wait(lock, ready);
  return job;
}

void FileFills::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    std::shared_ptr<Job> job = AwaitJob(lock);
    if (stopping_) return;
    queue_.erase(job->rank);
    job->started = true;
    --counters_.queued;
    Count(*job, 1);
    Run(*job, lock);
    Count(*job, -1);
    // This thread takes one of the jobs that may run now; there may be two more, for the
    // thread and for the pack's place that are free now.
    wake_.notify_one();
    wake_.notify_one();
  }
}

void FileFills::Run(Job& job, std::unique_lock<std::mutex>& lock) {
  FileFillContext context{
      .store = options_.store,
      .ranges = options_.read_pool,
      .objects = objects_.get(),
      .memory = {.budget = &budget_, .pool = options_.memory},
      .deadline = Deadline::After(options_.fill_timeout).StoppedBy(stop_.get_token()),
      .hurried = job.hurried()};
  lock.unlock();
  auto filled = FromPeersOrSource(*job.version, job.ref, context);
  lock.lock();
  jobs_.erase(job.key);
  if (!filled.ok()) {
    ++counters_.failed_fills;
    spdlog::debug("a fill of files failed: {}", filled.status().ToString());
    job.promise.set_value(stopping_ ? Stopping() : filled.status());
    return;
  }
  ++counters_.fills;
  ++counters_.chunks;
  job.promise.set_value(BroughtFor(job.need, std::move(filled->chunk), filled->times));
  NoteSingle(job);
}

void FileFills::NoteSingle(const Job& job) {
  if (job.is_pack() || stopping_) return;
  const model::FilesManifest& manifest = *job.version->manifest;
  auto shared = manifest.PackOf(job.ref.range);
  if (!shared) return;
  Hash128 key = job.version->Key(*shared);
  if (single_bytes_.size() >= kSinglesMax) single_bytes_.clear();
  uint64_t& bytes = single_bytes_[key];
  bytes += manifest.ChunkBytes(job.ref);
  if (bytes < manifest.ChunkBytes(*shared) / kPackShare || jobs_.contains(key)) return;
  single_bytes_.erase(key);
  auto follow = std::make_shared<Job>();
  follow->version = job.version;
  follow->ref = *shared;
  follow->key = key;
  follow->waits = WaitsForOthers(*job.version, *shared);
  follow->rank = {static_cast<int>(Need::kSoon), next_age_++};
  follow->clients.insert(kNobody);
  jobs_[key] = follow;
  queue_[follow->rank] = follow;
  ++counters_.queued;
}

}  // namespace forebay::cache
