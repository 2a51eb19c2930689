#include "reader/files/files_link.h"

#include <algorithm>
#include <new>
#include <thread>

namespace forebay::reader {
namespace {

constexpr milliseconds kRetryPause = milliseconds(20);
// A chunk may be evicted between its fill and its hand-over; more often than this in a
// row means that the store is too small for what is asked at once.
constexpr int kCancelledMax = 20;
constexpr milliseconds kHintTimeout = milliseconds(20);

template <typename T>
Result<T> Expect(Answer answer) {
  if (auto* message = std::get_if<T>(&answer.message)) return std::move(*message);
  return Status::Corrupt("the node gave an answer that does not fit the question");
}

uint64_t Millis(Deadline deadline) {
  return static_cast<uint64_t>(deadline.Remaining().count());
}

}  // namespace

FilesLink::FilesLink(const Context* context, std::shared_ptr<const PinnedFiles> pinned)
    : context_(context),
      pinned_(std::move(pinned)),
      link_(context->options.node,
            [this](const wire::Evicted& evicted) {
              if (evicted.view == view_) context_->on_evicted(evicted.refs);
            }),
      unmapped_(std::make_shared<Unmapped>()) {}

Result<std::shared_ptr<const PinnedFiles>> FilesLink::Open(Deadline deadline) {
  FB_RETURN_NOT_OK(WithNode(deadline, [] { return Status::OK(); }));
  return pinned_;
}

Status FilesLink::EnsureOpen(Deadline deadline) {
  FB_RETURN_NOT_OK(link_.Ensure(deadline));
  if (generation_ == link_.generation()) return Status::OK();
  wire::OpenFiles open{.uri = context_->uri,
                       .options = context_->options.source,
                       .timeout_ms = Millis(deadline)};
  std::vector<int> fds;
  if (pinned_ != nullptr) {
    open.pinned_bytes = pinned_->manifest->bytes().size();
    fds.push_back(pinned_->fd.get());
  }
  FB_ASSIGN_OR_RETURN(Answer answer, link_.Call(open, fds, deadline));
  if (answer.fds.size() != 1) return Status::Corrupt("the node sent no manifest");
  UniqueFd fd = std::move(answer.fds[0]);
  FB_ASSIGN_OR_RETURN(auto opened, Expect<wire::FilesOpened>(std::move(answer)));
  if (pinned_ == nullptr) {
    FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(fd.get(), opened.manifest_bytes,
                                                   Mapping::Mode::kShared));
    auto pinned = std::make_shared<PinnedFiles>();
    FB_ASSIGN_OR_RETURN(pinned->manifest,
                        model::FilesManifest::View(mapping->bytes(), mapping));
    pinned->fd = std::move(fd);
    pinned_ = std::move(pinned);
  }
  view_ = opened.view;
  generation_ = link_.generation();
  return TellHeld(deadline);
}

Status FilesLink::TellHeld(Deadline deadline) {
  std::vector<wire::ChunkHandle> held;
  for (const auto& chunk : context_->held(unmapped_.get())) {
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

Status FilesLink::WithNode(Deadline deadline, const std::function<Status()>& attempt) {
  int cancelled = 0;
  for (;;) {
    Status status = EnsureOpen(deadline);
    if (status.ok()) status = attempt();
    if (status.ok()) return status;
    // Who has a version goes on with it at the next node.
    bool gone = status.code() == StatusCode::kUnavailable && !link_.connected() &&
                (link_.generation() > 0 || pinned_ != nullptr);
    // An interrupted wait loses the connection; a chunk that was evicted does not.
    bool evicted = status.code() == StatusCode::kCancelled && link_.connected();
    bool again = gone || (evicted && ++cancelled <= kCancelledMax);
    if (!again || deadline.passed()) return status;
    std::this_thread::sleep_for(kRetryPause);
  }
}

Status FilesLink::Get(std::span<const model::ChunkRef> refs, const Take& take,
                      Deadline deadline) {
  size_t done = 0;
  return WithNode(deadline, [&]() -> Status {
    while (done < refs.size()) {
      // After a broken connection the rest is asked for again.
      auto rest = refs.subspan(done, std::min(wire::kRequestRefsMax, refs.size() - done));
      wire::GetChunks get{.view = view_,
                          .timeout_ms = Millis(deadline),
                          .refs = {rest.begin(), rest.end()}};
      FB_ASSIGN_OR_RETURN(uint64_t request, link_.Send(std::move(get), {}, deadline));
      for (size_t end = done + rest.size(); done < end;) {
        FB_ASSIGN_OR_RETURN(Answer answer, link_.Receive(request, deadline));
        FB_ASSIGN_OR_RETURN(size_t taken,
                            TakeAnswer(std::move(answer), end - done, take));
        done += taken;
      }
    }
    return Status::OK();
  });
}

Result<size_t> FilesLink::TakeAnswer(Answer answer, size_t wanted, const Take& take) {
  if (auto* failure = std::get_if<wire::Failure>(&answer.message)) return failure->status;
  auto* chunks = std::get_if<wire::Chunks>(&answer.message);
  if (chunks == nullptr || chunks->chunks.size() != answer.fds.size() ||
      chunks->chunks.empty() || chunks->chunks.size() > wanted) {
    return Status::Corrupt("the node handed over other chunks than asked for");
  }
  tight_ = chunks->tight;
  for (size_t i = 0; i < chunks->chunks.size(); ++i) {
    const wire::ChunkHandle& handle = chunks->chunks[i];
    if (!pinned_->manifest->Contains(handle.ref) ||
        pinned_->manifest->ChunkBytes(handle.ref) != handle.size) {
      return Status::Corrupt("the node handed over a chunk of another size");
    }
    FB_RETURN_NOT_OK(take(handle, std::move(answer.fds[i])));
  }
  return chunks->chunks.size();
}

Result<std::shared_ptr<MappedChunk>> FilesLink::Map(const wire::ChunkHandle& handle,
                                                    int fd) {
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

void FilesLink::Want(std::span<const model::ChunkRef> refs) {
  if (!link_.connected() || generation_ != link_.generation() || refs.empty()) return;
  auto part = refs.subspan(0, std::min(refs.size(), wire::kRequestRefsMax));
  wire::Want want{.view = view_, .refs = {part.begin(), part.end()}};
  (void)link_.Send(std::move(want), {}, Deadline::After(kHintTimeout));
}

Result<wire::WarmupState> FilesLink::Warmup(
    const std::function<void(const wire::WarmupState&)>& report, Deadline deadline) {
  wire::WarmupState state;
  FB_RETURN_NOT_OK(WithNode(deadline, [&]() -> Status {
    wire::Warmup warmup{.view = view_, .timeout_ms = Millis(deadline)};
    FB_ASSIGN_OR_RETURN(uint64_t request, link_.Send(warmup, {}, deadline));
    do {
      FB_ASSIGN_OR_RETURN(Answer answer, link_.Receive(request, deadline));
      if (auto* failure = std::get_if<wire::Failure>(&answer.message)) {
        return failure->status;
      }
      FB_ASSIGN_OR_RETURN(state, Expect<wire::WarmupState>(std::move(answer)));
      if (report) report(state);
    } while (!state.done);
    return Status::OK();
  }));
  return state;
}

Result<wire::Coverage> FilesLink::Coverage(Deadline deadline) {
  wire::Coverage coverage;
  FB_RETURN_NOT_OK(WithNode(deadline, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(Answer answer,
                        link_.Call(wire::GetCoverage{view_}, {}, deadline));
    FB_ASSIGN_OR_RETURN(coverage, Expect<wire::Coverage>(std::move(answer)));
    return Status::OK();
  }));
  return coverage;
}

Result<uint32_t> FilesLink::NodePid(Deadline deadline) {
  FB_RETURN_NOT_OK(WithNode(deadline, [] { return Status::OK(); }));
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
  wire::Release release{.view = view_, .refs = {}};
  auto flush = [&] {
    if (release.refs.empty() || !link_.connected()) return;
    (void)link_.Send(release, {}, Deadline::After(kHintTimeout));
    release.refs.clear();
  };
  for (const Unmapped::Entry& entry : entries) {
    if (entry.generation != link_.generation()) continue;
    release.refs.push_back(entry.ref);
    if (release.refs.size() == wire::kRequestRefsMax) flush();
  }
  flush();
}

void FilesLink::Abandon() {
  new (&unmapped_->mutex) std::mutex;
  unmapped_->entries.clear();
  link_.Disconnect();
}

}  // namespace forebay::reader
