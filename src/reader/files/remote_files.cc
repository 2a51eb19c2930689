#include "reader/files/remote_files.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "reader/environment/source_environment.h"

namespace forebay::reader {
namespace {

// Threads that ask the node at once; more wait for one of these.
constexpr size_t kLinksMax = 32;
constexpr milliseconds kPollEvery = milliseconds(200);

bool IsPack(model::ChunkRef ref) { return ref.group == model::kPackGroup; }

}  // namespace

// Takes an idle link or makes one; waits when there are too many.
class RemoteFiles::Lent {
 public:
  explicit Lent(RemoteFiles* files) : files_(files) {
    std::unique_lock lock(files_->mutex_);
    files_->returned_.wait(
        lock, [&] { return !files_->idle_.empty() || files_->link_count_ < kLinksMax; });
    if (files_->idle_.empty()) {
      ++files_->link_count_;
      link_ = std::make_unique<FilesLink>(&files_->context_, files_->pinned_);
    } else {
      link_ = std::move(files_->idle_.back());
      files_->idle_.pop_back();
    }
    lock.unlock();
    link_->Poll();
  }
  ~Lent() {
    {
      std::lock_guard lock(files_->mutex_);
      files_->idle_.push_back(std::move(link_));
    }
    files_->returned_.notify_one();
  }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  FilesLink* operator->() { return link_.get(); }
  FilesLink& operator*() { return *link_; }

 private:
  RemoteFiles* files_;
  std::unique_ptr<FilesLink> link_;
};

RemoteFiles::RemoteFiles(std::string uri, OpenOptions options)
    : context_{.uri = std::move(uri),
               .options = std::move(options),
               .on_evicted = [this](const auto& refs) { OnEvicted(refs); },
               .held = [this](const Unmapped* by) { return Held(by); }},
      pid_(::getpid()),
      polled_(std::chrono::steady_clock::now()) {}

RemoteFiles::~RemoteFiles() = default;

Result<std::shared_ptr<RemoteFiles>> RemoteFiles::Open(const std::string& uri,
                                                       OpenOptions options) {
  FB_RETURN_NOT_OK(AddSourceEnvironment(uri, &options.source));
  FB_ASSIGN_OR_RETURN(std::string absolute, AbsoluteUri(uri));
  auto files = std::shared_ptr<RemoteFiles>(
      new RemoteFiles(std::move(absolute), std::move(options)));
  Lent link(files.get());
  FB_ASSIGN_OR_RETURN(files->pinned_, link->Open(files->NewDeadline()));
  return files;
}

Result<std::shared_ptr<RemoteFiles>> RemoteFiles::Resume(
    const std::string& uri, OpenOptions options,
    std::shared_ptr<const PinnedFiles> pinned) {
  auto files =
      std::shared_ptr<RemoteFiles>(new RemoteFiles(std::string(uri), std::move(options)));
  files->pinned_ = std::move(pinned);
  return files;
}

// In a child the parent's connections must not be used, and a lock that another thread of
// the parent held would be held for ever.
void RemoteFiles::CheckFork() {
  if (pid_ == ::getpid()) return;
  pid_ = ::getpid();
  new (&mutex_) std::mutex;
  new (&returned_) std::condition_variable;
  link_count_ = idle_.size();
  for (auto& link : idle_) link->Abandon();
}

model::ChunkRef RemoteFiles::RefOf(uint32_t file, uint64_t offset) const {
  model::ChunkRef ref = manifest()->PlaceOf(file, offset).ref;
  // Its pack may not be there, and nobody should wait for one.
  return IsPack(ref) ? model::ChunkRef{file, 0} : ref;
}

FileBytes RemoteFiles::Cut(const ChunkPtr& chunk, uint32_t file, uint64_t offset) const {
  model::FilePlace place = manifest()->PlaceOf(file, offset);
  if (IsPack(place.ref) && !IsPack(chunk->handed.ref)) place.offset = offset;
  std::string_view bytes = chunk->mapping->bytes();
  if (place.offset > bytes.size()) return {};
  return {chunk, bytes.substr(place.offset, place.size)};
}

std::optional<FileBytes> RemoteFiles::TryAt(uint32_t file, uint64_t offset) {
  CheckFork();
  if (file >= manifest()->files().size()) return std::nullopt;
  if (offset >= static_cast<uint64_t>(manifest()->files()[file].size)) return FileBytes{};
  model::ChunkRef ref = manifest()->PlaceOf(file, offset).ref;
  ChunkPtr chunk;
  {
    std::lock_guard lock(mutex_);
    auto found = mapped_.find(ref);
    if (found == mapped_.end() && IsPack(ref)) found = mapped_.find({file, 0});
    if (found == mapped_.end()) return std::nullopt;
    chunk = found->second.chunk;
    found->second.used = ++uses_;
  }
  return Cut(chunk, file, offset);
}

Result<FileBytes> RemoteFiles::At(uint32_t file, uint64_t offset) {
  if (file >= manifest()->files().size()) return Status::Invalid("no such file");
  PollNowAndThen();
  if (auto there = TryAt(file, offset)) return *std::move(there);
  model::ChunkRef ref = RefOf(file, offset);
  ChunkPtr chunk;
  {
    Lent link(this);
    auto take = [&](const wire::ChunkHandle& handle, UniqueFd fd) -> Status {
      FB_ASSIGN_OR_RETURN(chunk, link->Map(handle, fd.get()));
      chunk = Keep(*link, std::move(chunk));
      return Status::OK();
    };
    FB_RETURN_NOT_OK(link->Get({&ref, 1}, take, NewDeadline()));
  }
  return Cut(chunk, file, offset);
}

Result<size_t> RemoteFiles::Read(uint32_t file, uint64_t offset,
                                 std::span<std::byte> into) {
  size_t done = 0;
  while (done < into.size()) {
    FB_ASSIGN_OR_RETURN(FileBytes piece, At(file, offset + done));
    size_t count = std::min(piece.bytes.size(), into.size() - done);
    if (count == 0) break;
    std::memcpy(into.data() + done, piece.bytes.data(), count);
    done += count;
  }
  return done;
}

Status RemoteFiles::Bring(std::span<const Place> places) {
  CheckFork();
  std::vector<model::ChunkRef> missing;
  for (const Place& place : places) {
    if (!TryAt(place.file, place.offset)) {
      missing.push_back(RefOf(place.file, place.offset));
    }
  }
  std::ranges::sort(missing);
  missing.erase(std::ranges::unique(missing).begin(), missing.end());
  if (missing.empty()) return Status::OK();
  Lent link(this);
  auto take = [&](const wire::ChunkHandle& handle, UniqueFd fd) -> Status {
    FB_ASSIGN_OR_RETURN(ChunkPtr chunk, link->Map(handle, fd.get()));
    Keep(*link, std::move(chunk));
    return Status::OK();
  };
  return link->Get(missing, take, NewDeadline());
}

Result<FileDescriptor> RemoteFiles::Descriptor(uint32_t file, uint64_t offset) {
  CheckFork();
  if (file >= manifest()->files().size() ||
      offset >= static_cast<uint64_t>(manifest()->files()[file].size)) {
    return Status::Invalid("no such place in a file");
  }
  model::ChunkRef ref = RefOf(file, offset);
  FileDescriptor out;
  Lent link(this);
  auto take = [&](const wire::ChunkHandle& handle, UniqueFd fd) -> Status {
    model::FilePlace place = manifest()->PlaceOf(file, offset);
    bool alone = IsPack(place.ref) && !IsPack(handle.ref);
    out = {std::move(fd), alone ? offset : place.offset, place.size};
    link->Drop(handle);
    return Status::OK();
  };
  FB_RETURN_NOT_OK(link->Get({&ref, 1}, take, NewDeadline()));
  return out;
}

Result<std::shared_ptr<const MappedChunk>> RemoteFiles::Chunk(model::ChunkRef ref) {
  CheckFork();
  if (!manifest()->Contains(ref)) return Status::Invalid("no such chunk of a file");
  ChunkPtr chunk;
  Lent link(this);
  auto take = [&](const wire::ChunkHandle& handle, UniqueFd fd) -> Status {
    if (handle.ref != ref) return Status::Corrupt("the node handed over another chunk");
    FB_ASSIGN_OR_RETURN(chunk, link->Map(handle, fd.get()));
    return Status::OK();
  };
  FB_RETURN_NOT_OK(link->Get({&ref, 1}, take, NewDeadline()));
  return std::shared_ptr<const MappedChunk>(std::move(chunk));
}

// Threads that asked for the same chunk at once keep one mapping of it.
RemoteFiles::ChunkPtr RemoteFiles::Keep(FilesLink& link, ChunkPtr chunk) {
  std::vector<ChunkPtr> dropped;  // unmapped outside the lock
  std::lock_guard lock(mutex_);
  if (link.tight() || mapped_.size() >= mapped_count_max_) DropUnused(&dropped);
  Kept& kept = mapped_[chunk->handed.ref];
  kept.used = ++uses_;
  if (kept.chunk == nullptr) {
    mapped_bytes_ += chunk->mapping->size();
    kept.chunk = std::move(chunk);
  } else {
    dropped.push_back(std::move(chunk));
  }
  ChunkPtr out = kept.chunk;
  if (mapped_bytes_max_ != 0 && mapped_bytes_ > mapped_bytes_max_) DropOldest(&dropped);
  return out;
}

void RemoteFiles::DropUnused(std::vector<ChunkPtr>* dropped) {
  std::erase_if(mapped_, [&](auto& entry) {
    if (entry.second.chunk.use_count() > 1) return false;
    mapped_bytes_ -= entry.second.chunk->mapping->size();
    dropped->push_back(std::move(entry.second.chunk));
    return true;
  });
}

// A quarter at once, so that the search for the oldest is rare.
void RemoteFiles::DropOldest(std::vector<ChunkPtr>* dropped) {
  std::vector<std::pair<uint64_t, model::ChunkRef>> idle;
  for (const auto& [ref, kept] : mapped_) {
    if (kept.chunk.use_count() == 1) idle.emplace_back(kept.used, ref);
  }
  std::ranges::sort(idle);
  uint64_t goal = mapped_bytes_max_ - mapped_bytes_max_ / 4;
  for (const auto& [used, ref] : idle) {
    if (mapped_bytes_ <= goal) return;
    auto found = mapped_.find(ref);
    mapped_bytes_ -= found->second.chunk->mapping->size();
    dropped->push_back(std::move(found->second.chunk));
    mapped_.erase(found);
  }
}

void RemoteFiles::LimitMapped(uint64_t bytes, size_t count) {
  std::vector<ChunkPtr> dropped;
  std::lock_guard lock(mutex_);
  mapped_bytes_max_ = bytes;
  mapped_count_max_ = count == 0 ? kMappedMax : count;
  if (bytes != 0 && mapped_bytes_ > bytes) DropOldest(&dropped);
}

void RemoteFiles::LetGoOfPages() {
  std::vector<ChunkPtr> chunks;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [ref, kept] : mapped_) chunks.push_back(kept.chunk);
  }
  auto let_go = [](std::string_view bytes) {
    if (bytes.empty()) return;
    // Shared mappings begin at a page; their pages stay in the page cache.
    (void)::madvise(const_cast<char*>(bytes.data()), bytes.size(), MADV_DONTNEED);
  };
  for (const ChunkPtr& chunk : chunks) let_go(chunk->mapping->bytes());
  let_go(manifest()->bytes());
}

void RemoteFiles::OnEvicted(const std::vector<model::ChunkRef>& refs) {
  std::vector<ChunkPtr> dropped;
  std::lock_guard lock(mutex_);
  for (const model::ChunkRef& ref : refs) {
    auto found = mapped_.find(ref);
    if (found == mapped_.end()) continue;
    mapped_bytes_ -= found->second.chunk->mapping->size();
    dropped.push_back(std::move(found->second.chunk));
    mapped_.erase(found);
  }
}

std::vector<RemoteFiles::ChunkPtr> RemoteFiles::Held(const Unmapped* by) {
  std::lock_guard lock(mutex_);
  std::vector<ChunkPtr> held;
  for (const auto& [ref, kept] : mapped_) {
    if (kept.chunk->unmapped.get() == by) held.push_back(kept.chunk);
  }
  return held;
}

void RemoteFiles::PollNowAndThen() {
  CheckFork();
  std::vector<std::unique_ptr<FilesLink>> idle;
  {
    std::lock_guard lock(mutex_);
    TimePoint now = std::chrono::steady_clock::now();
    if (now - polled_ < kPollEvery) return;
    polled_ = now;
    idle.swap(idle_);
  }
  for (auto& link : idle) link->Poll();
  std::lock_guard lock(mutex_);
  for (auto& link : idle) idle_.push_back(std::move(link));
  returned_.notify_all();
}

void RemoteFiles::Want(std::span<const model::ChunkRef> refs) {
  CheckFork();
  Lent link(this);
  link->Want(refs);
}

Result<wire::WarmupState> RemoteFiles::Warmup(
    const std::function<void(const wire::WarmupState&)>& report) {
  CheckFork();
  Lent link(this);
  return link->Warmup(report, NewDeadline());
}

Result<wire::Coverage> RemoteFiles::Coverage() {
  CheckFork();
  Lent link(this);
  return link->Coverage(NewDeadline());
}

Result<uint32_t> RemoteFiles::NodePid() {
  CheckFork();
  Lent link(this);
  return link->NodePid(NewDeadline());
}

void RemoteFiles::ForgetUnused() {
  CheckFork();
  std::vector<ChunkPtr> dropped;
  std::lock_guard lock(mutex_);
  DropUnused(&dropped);
}

}  // namespace forebay::reader
