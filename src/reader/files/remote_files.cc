#include "reader/files/remote_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "reader/environment/source_environment.h"

namespace forebay::reader {
namespace {

constexpr milliseconds kPollEvery = milliseconds(200);

int64_t NowMillis() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

bool IsPack(model::ChunkRef ref) { return ref.group == model::kPackGroup; }

}  // namespace

RemoteFiles::RemoteFiles(FilesTree tree, FilesShare share)
    : links_(std::move(share.links)),
      pid_(::getpid()),
      poll_at_(NowMillis() + kPollEvery.count()) {
  if (links_ == nullptr) links_ = std::make_shared<LinkPool>(tree.options.node);
  tree.mapped = std::move(share.mapped);
  if (tree.mapped == nullptr) {
    tree.mapped = std::make_shared<MappedChunks>(MappedChunks::Limits{});
  }
  tree_ = std::make_shared<FilesTree>(std::move(tree));
}

RemoteFiles::~RemoteFiles() {
  bool shared = tree_->mapped.use_count() > 1;
  if (shared) tree_->mapped->ForgetAll(tree_.get());
}

Result<std::shared_ptr<RemoteFiles>> RemoteFiles::Open(
    const std::string& uri, OpenOptions options, FilesShare share,
    std::optional<milliseconds> open_timeout) {
  FB_RETURN_NOT_OK(AddSourceEnvironment(uri, &options.source));
  FB_ASSIGN_OR_RETURN(std::string absolute, AbsoluteUri(uri));
  auto files = std::shared_ptr<RemoteFiles>(new RemoteFiles(
      {.uri = std::move(absolute), .options = std::move(options)}, std::move(share)));
  Deadline deadline = Deadline::After(open_timeout.value_or(files->timeout()));
  FB_ASSIGN_OR_RETURN(auto link, files->links_->Take(deadline));
  FB_ASSIGN_OR_RETURN(files->tree_->pinned, link->Open(files->tree_, deadline));
  return files;
}

std::shared_ptr<RemoteFiles> RemoteFiles::Resume(
    const std::string& uri, OpenOptions options,
    std::shared_ptr<const PinnedFiles> pinned, FilesShare share) {
  FilesTree tree{.uri = uri, .options = std::move(options), .pinned = std::move(pinned)};
  return std::shared_ptr<RemoteFiles>(new RemoteFiles(std::move(tree), std::move(share)));
}

// In a child the parent's connections must not be used, and a lock that another thread of
// the parent held would be held for ever.
void RemoteFiles::CheckFork() {
  if (pid_ == ::getpid()) return;
  pid_ = ::getpid();
  tree_->mapped->AfterFork();
  links_->AfterFork();
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
  model::ChunkRef refs[] = {manifest()->PlaceOf(file, offset).ref, {file, 0}};
  size_t count = IsPack(refs[0]) ? 2 : 1;
  ChunkPtr chunk = tree_->mapped->Find(tree_.get(), {refs, count});
  if (chunk == nullptr) return std::nullopt;
  return Cut(chunk, file, offset);
}

Status RemoteFiles::Map(std::span<const model::ChunkRef> refs, ChunkPtr* last,
                        Deadline deadline) {
  // Perhaps all others wait for a source that hangs, and this is stored.
  if (links_->is_busy() && deadline.Remaining() > LinkPool::kBriskTime) {
    Status tried = MapBy(refs, last, Deadline::After(LinkPool::kBriskTime));
    if (!LinkPool::IsPassing(tried)) return tried;
  }
  return MapBy(refs, last, deadline);
}

Status RemoteFiles::MapBy(std::span<const model::ChunkRef> refs, ChunkPtr* last,
                          Deadline deadline) {
  FB_ASSIGN_OR_RETURN(auto link, links_->Take(deadline));
  auto take = [&](const wire::ChunkHandle& handle, UniqueFd fd) -> Status {
    FB_ASSIGN_OR_RETURN(ChunkPtr chunk, link->Map(handle, fd.get()));
    *last = tree_->mapped->Keep(tree_.get(), std::move(chunk), link->tight());
    return Status::OK();
  };
  Status got = link->Get({tree_, refs}, take, deadline);
  if (got.code() != StatusCode::kFull) return got;
  // The node lends no more memory: what nobody uses here goes back first.
  tree_->mapped->DropIdle();
  link->Poll();
  links_->Poll();
  return link->Get({tree_, refs}, take, deadline);
}

Result<FileBytes> RemoteFiles::At(uint32_t file, uint64_t offset, Deadline deadline) {
  if (file >= manifest()->files().size()) return Status::Invalid("no such file");
  PollNowAndThen();
  if (auto there = TryAt(file, offset)) return *std::move(there);
  model::ChunkRef ref = RefOf(file, offset);
  ChunkPtr chunk;
  FB_RETURN_NOT_OK(Map({&ref, 1}, &chunk, deadline));
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
  ChunkPtr last;
  return Map(missing, &last, NewDeadline());
}

Result<FileDescriptor> RemoteFiles::Descriptor(uint32_t file, uint64_t offset,
                                               Deadline deadline) {
  CheckFork();
  if (file >= manifest()->files().size() ||
      offset >= static_cast<uint64_t>(manifest()->files()[file].size)) {
    return Status::Invalid("no such place in a file");
  }
  model::ChunkRef ref = RefOf(file, offset);
  FileDescriptor out;
  FB_ASSIGN_OR_RETURN(auto link, links_->Take(deadline));
  auto take = [&](const wire::ChunkHandle& handle, UniqueFd fd) -> Status {
    model::FilePlace place = manifest()->PlaceOf(file, offset);
    bool alone = IsPack(place.ref) && !IsPack(handle.ref);
    out = {std::move(fd), alone ? offset : place.offset, place.size};
    link->Drop(handle);
    return Status::OK();
  };
  FB_RETURN_NOT_OK(link->Get({tree_, {&ref, 1}}, take, deadline));
  return out;
}

Result<std::shared_ptr<const MappedChunk>> RemoteFiles::Chunk(model::ChunkRef ref) {
  CheckFork();
  if (!manifest()->Contains(ref)) return Status::Invalid("no such chunk of a file");
  ChunkPtr chunk;
  Deadline deadline = NewDeadline();
  FB_ASSIGN_OR_RETURN(auto link, links_->Take(deadline));
  auto take = [&](const wire::ChunkHandle& handle, UniqueFd fd) -> Status {
    if (handle.ref != ref) return Status::Corrupt("the node handed over another chunk");
    FB_ASSIGN_OR_RETURN(chunk, link->Map(handle, fd.get()));
    return Status::OK();
  };
  FB_RETURN_NOT_OK(link->Get({tree_, {&ref, 1}}, take, deadline));
  return std::shared_ptr<const MappedChunk>(std::move(chunk));
}

void RemoteFiles::LetGoOfPages() { reader::LetGoOfPages(manifest()->bytes()); }

void RemoteFiles::PollNowAndThen() {
  CheckFork();
  int64_t now = NowMillis();
  int64_t due = poll_at_.load(std::memory_order_relaxed);
  if (now < due || !poll_at_.compare_exchange_strong(due, now + kPollEvery.count())) {
    return;
  }
  links_->Poll();
}

void RemoteFiles::Want(std::span<const model::ChunkRef> refs) {
  CheckFork();
  auto link = links_->Take(Deadline::After(milliseconds(0)));
  if (link.ok()) (*link)->Want({tree_, refs});
}

Result<wire::WarmupState> RemoteFiles::Warmup(
    const std::function<void(const wire::WarmupState&)>& report) {
  CheckFork();
  Deadline deadline = NewDeadline();
  FB_ASSIGN_OR_RETURN(auto link, links_->Take(deadline));
  return link->Warmup(tree_, report, deadline);
}

Result<wire::Coverage> RemoteFiles::Coverage() {
  CheckFork();
  Deadline deadline = NewDeadline();
  FB_ASSIGN_OR_RETURN(auto link, links_->Take(deadline));
  return link->Coverage(tree_, deadline);
}

Result<uint32_t> RemoteFiles::NodePid() {
  CheckFork();
  Deadline deadline = NewDeadline();
  FB_ASSIGN_OR_RETURN(auto link, links_->Take(deadline));
  return link->NodePid(tree_, deadline);
}

}  // namespace forebay::reader
