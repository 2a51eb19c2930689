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

ChunkFuture Ready(storage::Chunk chunk) {
  std::promise<Result<Brought>> promise;
  promise.set_value(Brought{std::move(chunk)});
  return promise.get_future().share();
}

}  // namespace

FileFills::FileFills(Options options)
    : options_(options),
      budget_(options.memory_bytes_max),
      objects_(options.object_threads) {
  for (size_t i = 0; i < std::max<size_t>(options.thread_count, 1); ++i) {
    auto thread = StartThread([this] { Work(); });
    if (!thread.ok() && i == 0) Die(thread.status());
    if (!thread.ok()) break;  // those that run do it all
    threads_.push_back(*std::move(thread));
  }
}

FileFills::~FileFills() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [rank, job] : queue_) {
      job->promise.set_value(Status::Cancelled("the node is stopping"));
      jobs_.erase(job->key);
    }
    queue_.clear();
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::vector<FileFills::Asked> FileFills::Request(const Version& version,
                                                 const std::vector<model::ChunkRef>& refs,
                                                 Need need, ClientId client) {
  std::vector<Asked> asked;
  asked.reserve(refs.size());
  for (const model::ChunkRef& ref : refs) {
    asked.push_back(Ask(version, ref, need, client));
    wake_.notify_one();
  }
  return asked;
}

FileFills::Asked FileFills::Ask(const Version& version, model::ChunkRef ref, Need need,
                                ClientId client) {
  if (ref.group != model::kPackGroup) {
    if (auto pack = version->manifest->PackOf(ref.range)) {
      auto stored = options_.store->Get(version->Key(*pack));
      if (stored.ok()) return {*pack, Ready(*std::move(stored))};
      // Who will need a small file will need its neighbours.
      if (need != Need::kNow) return Ask(version, *pack, need, client);
    }
  }
  auto stored = options_.store->Get(version->Key(ref));
  if (stored.ok()) return {ref, Ready(*std::move(stored))};
  return {ref, Join(version, ref, need, client)};
}

ChunkFuture FileFills::Join(const Version& version, model::ChunkRef ref, Need need,
                            ClientId client) {
  Hash128 key = version->Key(ref);
  std::lock_guard lock(mutex_);
  auto& job = jobs_[key];
  if (job == nullptr) {
    // It may have come between the look into the store and the lock.
    if (options_.store->Contains(key)) {
      if (auto stored = options_.store->Get(key); stored.ok()) {
        jobs_.erase(key);
        return Ready(*std::move(stored));
      }
    }
    job = std::make_shared<Job>();
    job->version = version;
    job->ref = ref;
    job->key = key;
    job->waits = WaitsForOthers(*version, ref);
    job->rank = {static_cast<int>(need), next_age_++};
    queue_[job->rank] = job;
    ++counters_.queued;
  }
  Raise(*job, need, client);
  return job->future;
}

void FileFills::Raise(Job& job, Need need, ClientId client) {
  job.clients.insert(client);
  if (job.started || static_cast<int>(need) >= job.rank.first) return;
  auto node = queue_.extract(job.rank);
  job.rank.first = static_cast<int>(need);
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
  FileFillContext context{.store = options_.store,
                          .ranges = options_.read_pool,
                          .objects = &objects_,
                          .memory = {.budget = &budget_, .pool = options_.memory},
                          .deadline = Deadline::After(options_.fill_timeout),
                          .hurried = job.hurried()};
  lock.unlock();
  auto filled = FromPeersOrSource(*job.version, job.ref, context);
  lock.lock();
  jobs_.erase(job.key);
  if (!filled.ok()) {
    ++counters_.failed_fills;
    spdlog::debug("a fill of files failed: {}", filled.status().ToString());
    job.promise.set_value(filled.status());
    return;
  }
  ++counters_.fills;
  ++counters_.chunks;
  job.promise.set_value(Brought{std::move(filled->chunk), filled->times});
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
