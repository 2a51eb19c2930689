#include "reader/files/files_link.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <thread>

#include "base/errno_status.h"

namespace forebay::reader {
namespace {

constexpr milliseconds kRetryPause = milliseconds(20);
// A chunk may be evicted between its fill and its hand-over; more often than this in a
// row means that the store is too small for what is asked at once.
constexpr int kCancelledMax = 20;
constexpr milliseconds kHintTimeout = milliseconds(20);
// How much later than asked for the node may say that time is up.
constexpr milliseconds kAnswerTime = milliseconds(2000);
// For a node to look through a manifest of millions of files. Who only tries what is
// stored waits that long too, or no link would ever come to know a version.
constexpr milliseconds kOpenTime = milliseconds(10'000);
// Versions that one connection knows; with more it begins anew.
constexpr size_t kViewsMax = 64;

Result<UniqueFd> CopyOf(std::string_view bytes) {
  UniqueFd fd(::memfd_create("manifest", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "make room for a manifest");
  while (!bytes.empty()) {
    ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "copy a manifest");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return fd;
}

uint64_t Millis(Deadline deadline) {
  return static_cast<uint64_t>(deadline.Remaining().count());
}

}  // namespace

Result<UniqueFd> PinnedFiles::Descriptor() const {
  {
    std::lock_guard lock(mutex_);
    if (fd_.valid()) {
      UniqueFd same(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
      if (!same.valid()) return ErrnoStatus(errno, "hand on a manifest");
      return same;
    }
  }
  return CopyOf(manifest->bytes());
}

void PinnedFiles::CloseDescriptor() const {
  std::lock_guard lock(mutex_);
  fd_.Reset();
}

FilesLink::FilesLink(NodeOptions node)
    : link_(std::move(node),
            [this](const wire::Evicted& evicted) { OnEvicted(evicted); }),
      unmapped_(std::make_shared<Unmapped>()) {}

void FilesLink::OnEvicted(const wire::Evicted& evicted) {
  for (const View& view : views_) {
    if (view.number != evicted.view) continue;
    auto tree = view.tree.lock();
    if (tree != nullptr) tree->mapped->Forget(tree.get(), evicted.refs);
  }
}

Result<std::shared_ptr<const PinnedFiles>> FilesLink::Open(const FilesTreePtr& tree,
                                                           Deadline deadline) {
  FB_RETURN_NOT_OK(WithNode(tree, deadline, [] { return Status::OK(); }));
  return std::move(opened_);
}

Status FilesLink::EnsureOpen(const FilesTreePtr& tree, Deadline deadline) {
  // A node keeps every version that a connection has opened.
  if (views_.size() >= kViewsMax) link_.Disconnect();
  FB_RETURN_NOT_OK(link_.Ensure(deadline));
  if (generation_ != link_.generation()) views_.clear();
  generation_ = link_.generation();
  for (const View& view : views_) {
    // Another version may have come to lie where one was.
    if (view.place != tree.get() || view.tree.expired()) continue;
    view_ = view.number;
    return Status::OK();
  }
  FB_ASSIGN_OR_RETURN(wire::FilesOpened opened, AskToOpen(tree, deadline));
  view_ = opened.view;
  views_.push_back({tree.get(), tree, opened.view});
  return TellHeld(tree, deadline);
}

Result<wire::FilesOpened> FilesLink::AskToOpen(const FilesTreePtr& tree,
                                               Deadline deadline) {
  wire::OpenFiles open{
      .uri = tree->uri, .options = tree->options.source, .timeout_ms = Millis(deadline)};
  std::vector<int> fds;
  UniqueFd pinned_fd;
  if (tree->pinned != nullptr) {
    open.pinned_bytes = tree->pinned->manifest->bytes().size();
    FB_ASSIGN_OR_RETURN(pinned_fd, tree->pinned->Descriptor());
    fds.push_back(pinned_fd.get());
  }
  FB_ASSIGN_OR_RETURN(Answer answer, link_.Call(open, fds, deadline));
  if (answer.fds.size() != 1) return Status::Corrupt("the node sent no manifest");
  UniqueFd fd = std::move(answer.fds[0]);
  FB_ASSIGN_OR_RETURN(auto opened, Expect<wire::FilesOpened>(std::move(answer)));
  if (tree->pinned != nullptr) return opened;
  FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(fd.get(), opened.manifest_bytes,
                                                 Mapping::Mode::kShared));
  FB_ASSIGN_OR_RETURN(auto manifest,
                      model::FilesManifest::View(mapping->bytes(), mapping));
  opened_ = std::make_shared<PinnedFiles>(std::move(manifest), std::move(fd));
  return opened;
}

Status FilesLink::TellHeld(const FilesTreePtr& tree, Deadline deadline) {
  std::vector<wire::ChunkHandle> held;
  for (const auto& chunk : tree->mapped->HandedBy(tree.get(), unmapped_.get())) {
    held.push_back({chunk->handed.ref, chunk->mapping->size()});
    chunk->handed = {generation_, view_, chunk->handed.ref};
  }
  constexpr size_t kAtOnce = wire::kRequestRefsMax / 2;
  for (size_t first = 0; first < held.size(); first += kAtOnce) {
    size_t count = std::min(kAtOnce, held.size() - first);
    auto part = std::span(held).subspan(first, count);
    wire::Hold hold{.view = view_, .chunks = {part.begin(), part.end()}};
    FB_RETURN_NOT_OK(link_.Send(std::move(hold), {}, deadline).status());
  }
  return Status::OK();
}

Status FilesLink::WithNode(const FilesTreePtr& tree, Deadline deadline,
                           const std::function<Status()>& attempt) {
  int cancelled = 0;
  std::optional<Deadline> patience;
  Deadline opened = tree->pinned == nullptr
                        ? deadline
                        : Deadline::After(std::max(deadline.Remaining(), kOpenTime));
  for (;;) {
    Status status = EnsureOpen(tree, opened);
    if (status.ok()) status = attempt();
    if (status.ok()) return status;
    // Who has a version goes on with it at the next node; a named node may be starting.
    if (!patience) patience = PatienceFor(link_.options(), deadline);
    bool gone =
        status.code() == StatusCode::kUnavailable && !link_.connected() &&
        (link_.generation() > 0 || tree->pinned != nullptr || !patience->passed());
    // An interrupted wait loses the connection; a chunk that was evicted does not.
    bool evicted = status.code() == StatusCode::kCancelled && link_.connected();
    bool again = gone || (evicted && ++cancelled <= kCancelledMax);
    if (!again || deadline.passed()) return status;
    if (link_.interrupted()) return Status::Cancelled("the wait was interrupted");
    std::this_thread::sleep_for(kRetryPause);
  }
}

Status FilesLink::Get(const Asked& asked, const Take& take, Deadline deadline) {
  size_t done = 0;
  return WithNode(asked.tree, deadline, [&]() -> Status {
    // The node says that time is up; hearing that keeps the connection. It begins here:
    // opening a version may have taken longer.
    Deadline patience = Deadline::After(deadline.Remaining() + kAnswerTime);
    while (done < asked.refs.size()) {
      // After a broken connection the rest is asked for again.
      auto rest = asked.refs.subspan(
          done, std::min(wire::kRequestRefsMax, asked.refs.size() - done));
      wire::GetChunks get{.view = view_,
                          .timeout_ms = std::max<uint64_t>(Millis(deadline), 1),
                          .refs = {rest.begin(), rest.end()}};
      FB_ASSIGN_OR_RETURN(uint64_t request, link_.Send(std::move(get), {}, patience));
      for (size_t end = done + rest.size(); done < end;) {
        FB_ASSIGN_OR_RETURN(Answer answer, link_.Receive(request, patience));
        FB_ASSIGN_OR_RETURN(
            size_t taken,
            TakeAnswer(std::move(answer), {asked.tree, rest.last(end - done)}, take));
        done += taken;
      }
    }
    return Status::OK();
  });
}

Result<size_t> FilesLink::TakeAnswer(Answer answer, const Asked& asked,
                                     const Take& take) {
  if (auto* failure = std::get_if<wire::Failure>(&answer.message)) return failure->status;
  auto* chunks = std::get_if<wire::Chunks>(&answer.message);
  if (chunks == nullptr || chunks->chunks.size() != answer.fds.size() ||
      chunks->chunks.empty() || chunks->chunks.size() > asked.refs.size()) {
    return Status::Corrupt("the node handed over other chunks than asked for");
  }
  tight_ = chunks->tight;
  const model::FilesManifest& manifest = *asked.tree->pinned->manifest;
  for (size_t i = 0; i < chunks->chunks.size(); ++i) {
    const wire::ChunkHandle& handle = chunks->chunks[i];
    if (!manifest.Contains(handle.ref) ||
        manifest.ChunkBytes(handle.ref) != handle.size) {
      return Status::Corrupt("the node handed over a chunk of another size");
    }
    FB_RETURN_NOT_OK(take(handle, std::move(answer.fds[i])));
  }
  return chunks->chunks.size();
}

Result<ChunkPtr> FilesLink::Map(const wire::ChunkHandle& handle, int fd) {
  auto chunk = std::make_shared<MappedChunk>();
  FB_ASSIGN_OR_RETURN(chunk->mapping,
                      Mapping::Map(fd, handle.size, Mapping::Mode::kShared));
  chunk->handed = {generation_, view_, handle.ref};
  chunk->unmapped = unmapped_;
  return chunk;
}

void FilesLink::Drop(const wire::ChunkHandle& handle) {
  std::lock_guard lock(unmapped_->mutex);
  unmapped_->entries.push_back({generation_, view_, handle.ref});
}

void FilesLink::Want(const Asked& asked) {
  if (asked.refs.empty()) return;
  if (!EnsureOpen(asked.tree, Deadline::After(kAnswerTime)).ok()) return;
  auto part = asked.refs.first(std::min(asked.refs.size(), wire::kRequestRefsMax));
  wire::Want want{.view = view_, .refs = {part.begin(), part.end()}};
  (void)link_.Send(std::move(want), {}, Deadline::After(kHintTimeout));
}

Result<wire::WarmupState> FilesLink::Warmup(
    const FilesTreePtr& tree, const std::function<void(const wire::WarmupState&)>& report,
    Deadline deadline) {
  wire::WarmupState state;
  FB_RETURN_NOT_OK(WithNode(tree, deadline, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(state, link_.Warmup(view_, report, deadline));
    return Status::OK();
  }));
  return state;
}

Result<wire::Coverage> FilesLink::Coverage(const FilesTreePtr& tree, Deadline deadline) {
  wire::Coverage coverage;
  FB_RETURN_NOT_OK(WithNode(tree, deadline, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(Answer answer,
                        link_.Call(wire::GetCoverage{view_}, {}, deadline));
    FB_ASSIGN_OR_RETURN(coverage, Expect<wire::Coverage>(std::move(answer)));
    return Status::OK();
  }));
  return coverage;
}

Result<uint32_t> FilesLink::NodePid(const FilesTreePtr& tree, Deadline deadline) {
  FB_RETURN_NOT_OK(WithNode(tree, deadline, [] { return Status::OK(); }));
  return link_.node().pid;
}

void FilesLink::Poll() {
  (void)link_.Poll();  // a node that has gone is noticed when it is next needed
  TellUnmapped();
}

void FilesLink::TellUnmapped() {
  std::vector<Unmapped::Entry> entries;
  {
    std::lock_guard lock(unmapped_->mutex);
    if (unmapped_->entries.empty()) return;
    entries.swap(unmapped_->entries);
  }
  std::ranges::sort(entries, {}, &Unmapped::Entry::view);
  wire::Release release;
  auto flush = [&] {
    if (release.refs.empty() || !link_.connected()) return;
    (void)link_.Send(release, {}, Deadline::After(kHintTimeout));
    release.refs.clear();
  };
  for (const Unmapped::Entry& entry : entries) {
    if (entry.generation != link_.generation()) continue;
    bool full = release.refs.size() == wire::kRequestRefsMax;
    if (full || release.view != entry.view) flush();
    release.view = entry.view;
    release.refs.push_back(entry.ref);
  }
  flush();
}

void FilesLink::Abandon() {
  new (&unmapped_->mutex) std::mutex;
  unmapped_->entries.clear();
  link_.Disconnect();
}

}  // namespace forebay::reader
