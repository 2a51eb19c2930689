#include "reader/remote_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <thread>

#include "base/errno_status.h"
#include "reader/environment/source_environment.h"

namespace forebay::reader {
namespace {

constexpr milliseconds kRetryPause = milliseconds(20);
// A chunk may be evicted between its fill and its hand-over; more often than this in a
// row means that the store is too small for what is asked at once.
constexpr int kCancelledMax = 20;
constexpr milliseconds kHintTimeout = milliseconds(20);
// Mappings a process keeps for one view, below the usual limit of 65530 for all.
constexpr size_t kMappedMax = 40'000;

}  // namespace

RemoteTable::RemoteTable(std::string uri, OpenOptions options)
    : uri_(std::move(uri)),
      options_(std::move(options)),
      pid_(::getpid()),
      link_(options_.node, [this](const wire::Evicted& e) { OnEvicted(e); }),
      unmapped_(std::make_shared<Unmapped>()) {}

Result<std::shared_ptr<RemoteTable>> RemoteTable::Open(const std::string& uri,
                                                       OpenOptions options) {
  FB_RETURN_NOT_OK(AddSourceEnvironment(uri, &options.source));
  FB_ASSIGN_OR_RETURN(std::string absolute, AbsoluteUri(uri));
  auto table = std::shared_ptr<RemoteTable>(
      new RemoteTable(std::move(absolute), std::move(options)));
  FB_RETURN_NOT_OK(table->OpenFirst());
  return table;
}

Result<std::shared_ptr<RemoteTable>> RemoteTable::Again() const {
  auto table = std::shared_ptr<RemoteTable>(new RemoteTable(uri_, options_));
  table->manifest_ = manifest_;
  table->shown_columns_ = shown_columns_;
  table->manifest_fd_ =
      UniqueFd(::fcntl(manifest_fd_.get(), F_DUPFD_CLOEXEC, /*at least*/ 3));
  if (!table->manifest_fd_.valid()) return ErrnoStatus(errno, "keep a manifest open");
  FB_RETURN_NOT_OK(table->OpenFirst());
  return table;
}

Status RemoteTable::OpenFirst() {
  std::lock_guard lock(mutex_);
  Deadline deadline = Deadline::After(options_.timeout);
  std::optional<Deadline> patience;
  for (;;) {
    Status status = OpenOnNode(deadline);
    if (status.ok()) return status;
    // The connection broke: the node may have been leaving. Or a named node does not
    // answer: it may be starting. Anything else is the answer.
    bool gone = status.code() == StatusCode::kUnavailable && !link_.connected();
    if (!patience) patience = PatienceFor(options_.node, deadline);
    bool waits = link_.generation() > 0 ? !deadline.passed() : !patience->passed();
    if (!gone || !waits) return status;
    if (link_.interrupted()) return Status::Cancelled("the wait was interrupted");
    std::this_thread::sleep_for(kRetryPause);
  }
}

// In a child the parent's connection must not be used, and a lock that another thread of
// the parent held would be held for ever.
void RemoteTable::CheckFork() {
  if (pid_ == ::getpid()) return;
  pid_ = ::getpid();
  new (&mutex_) std::mutex;
  new (&unmapped_->mutex) std::mutex;
  unmapped_->entries.clear();
  link_.Disconnect();
}

Status RemoteTable::OpenOnNode(Deadline deadline) {
  FB_RETURN_NOT_OK(link_.Ensure(deadline));
  if (opened_generation_ == link_.generation()) return Status::OK();
  wire::Open open{.uri = uri_,
                  .options = options_.source,
                  .timeout_ms = static_cast<uint64_t>(deadline.Remaining().count())};
  std::vector<int> fds;
  if (manifest_ != nullptr) {
    open.pinned_bytes = manifest_->bytes().size();
    fds.push_back(manifest_fd_.get());
  }
  FB_ASSIGN_OR_RETURN(Answer answer, link_.Call(open, fds, deadline));
  if (answer.fds.size() != 1) return Status::Corrupt("the node sent no manifest");
  UniqueFd fd = std::move(answer.fds[0]);
  FB_ASSIGN_OR_RETURN(auto opened, Expect<wire::Opened>(std::move(answer)));
  if (manifest_ == nullptr) {
    FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(fd.get(), opened.manifest_bytes,
                                                   Mapping::Mode::kShared));
    FB_ASSIGN_OR_RETURN(manifest_, model::Manifest::View(mapping->bytes(), mapping));
    manifest_fd_ = std::move(fd);
    shown_columns_ = std::move(opened.columns);
  }
  dataset_id_ = opened.dataset;
  opened_generation_ = link_.generation();
  return Status::OK();
}

uint32_t RemoteTable::ViewOf(const model::Projection& columns) {
  CheckFork();
  std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < views_.size(); ++i) {
    if (views_[i]->columns == columns) return i;
  }
  views_.push_back(std::make_unique<View>());
  views_.back()->columns = columns;
  return static_cast<uint32_t>(views_.size() - 1);
}

Status RemoteTable::EnsureView(View& view, Deadline deadline) {
  FB_RETURN_NOT_OK(OpenOnNode(deadline));
  if (view.generation == link_.generation()) return Status::OK();
  wire::View request{.dataset = dataset_id_, .columns = view.columns};
  FB_ASSIGN_OR_RETURN(Answer answer, link_.Call(request, {}, deadline));
  FB_ASSIGN_OR_RETURN(auto viewed, Expect<wire::Viewed>(std::move(answer)));
  view.id = viewed.view;
  view.generation = link_.generation();
  if (view.follow) {
    view.follow->view = view.id;
    FB_RETURN_NOT_OK(link_.Send(*view.follow, {}, deadline).status());
  }
  return TellHeld(view, deadline);
}

Status RemoteTable::TellHeld(View& view, Deadline deadline) {
  std::vector<wire::ChunkHandle> held;
  auto flush = [&]() -> Status {
    wire::Hold hold{.view = view.id, .chunks = std::move(held)};
    held.clear();
    return link_.Send(std::move(hold), {}, deadline).status();
  };
  for (auto& [ref, chunk] : view.mapped) {
    held.push_back({ref, chunk->mapping->size()});
    chunk->handed = {view.generation, view.id, ref};
    if (held.size() == wire::kRequestRefsMax / 2) FB_RETURN_NOT_OK(flush());
  }
  return held.empty() ? Status::OK() : flush();
}

Status RemoteTable::WithNode(View& view, Deadline deadline,
                             const std::function<Status()>& attempt) {
  int cancelled = 0;
  for (;;) {
    Status status = EnsureView(view, deadline);
    if (status.ok()) status = attempt();
    if (status.ok()) return status;
    bool gone = status.code() == StatusCode::kUnavailable && !link_.connected();
    // An interrupted wait loses the connection; a chunk that was evicted does not.
    bool evicted = status.code() == StatusCode::kCancelled && link_.connected();
    bool again = gone || (evicted && ++cancelled <= kCancelledMax);
    if (!again || deadline.passed()) return status;
    if (link_.interrupted()) return Status::Cancelled("the wait was interrupted");
    std::this_thread::sleep_for(kRetryPause);
  }
}

Result<std::vector<RemoteTable::ChunkPtr>> RemoteTable::Acquire(
    uint32_t view_index, std::span<const model::ChunkRef> refs, MapOptions map,
    Times* times) {
  CheckFork();
  auto start = std::chrono::steady_clock::now();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  std::vector<ChunkPtr> out(refs.size());
  std::vector<model::ChunkRef> missing;
  std::vector<size_t> places;
  for (size_t i = 0; i < refs.size(); ++i) {
    auto found = view.mapped.find(refs[i]);
    if (map.mode == Mapping::Mode::kShared && found != view.mapped.end()) {
      out[i] = found->second;
    } else {
      missing.push_back(refs[i]);
      places.push_back(i);
    }
  }
  if (!missing.empty()) TellUnmapped();  // the node may need that room for these
  Deadline deadline = Deadline::After(options_.timeout);
  view.slowest = {};
  for (size_t first = 0; first < missing.size(); first += wire::kRequestRefsMax) {
    size_t count = std::min(wire::kRequestRefsMax, missing.size() - first);
    std::vector<std::shared_ptr<MappedChunk>> chunks;
    Status fetched =
        Fetch(view, std::span(missing).subspan(first, count), map, deadline, &chunks);
    if (map.borrowed == Borrowed::kCopy) TellUnmapped();
    FB_RETURN_NOT_OK(fetched);
    for (size_t i = 0; i < count; ++i) out[places[first + i]] = chunks[i];
  }
  if (times != nullptr) {
    *times += TimesOf(view.slowest, std::chrono::steady_clock::now() - start);
  }
  return out;
}

// A wait is a fill's as long as the fill took, and in the same parts.
RemoteTable::Times RemoteTable::TimesOf(const wire::FillTimes& fill,
                                        std::chrono::nanoseconds waited) {
  using std::chrono::microseconds;
  Times times{.store = {},
              .peer = microseconds(fill.peer_us),
              .source = microseconds(fill.source_us),
              .decode = microseconds(fill.decode_us)};
  auto took = times.total();
  if (took > waited) {
    double share =
        static_cast<double>(waited.count()) / static_cast<double>(took.count());
    for (auto* part : {&times.peer, &times.source, &times.decode}) {
      *part = std::chrono::nanoseconds(
          static_cast<int64_t>(share * static_cast<double>(part->count())));
    }
  }
  times.store = waited - times.total();
  return times;
}

RemoteTable::Times& RemoteTable::Times::operator+=(const Times& other) {
  store += other.store;
  peer += other.peer;
  source += other.source;
  decode += other.decode;
  return *this;
}

Status RemoteTable::Fetch(View& view, std::span<const model::ChunkRef> refs,
                          MapOptions map, Deadline deadline,
                          std::vector<std::shared_ptr<MappedChunk>>* out) {
  return WithNode(view, deadline, [&]() -> Status {
    // Chunks come in the order asked for; after a broken connection the rest is asked
    // for again.
    auto rest = refs.subspan(out->size());
    wire::GetChunks get{.view = view.id,
                        .timeout_ms = static_cast<uint64_t>(deadline.Remaining().count()),
                        .keeps_borrowed = map.borrowed == Borrowed::kMap,
                        .refs = {rest.begin(), rest.end()}};
    FB_ASSIGN_OR_RETURN(uint64_t request, link_.Send(std::move(get), {}, deadline));
    while (out->size() < refs.size()) {
      FB_ASSIGN_OR_RETURN(Answer answer, link_.Receive(request, deadline));
      if (auto* failure = std::get_if<wire::Failure>(&answer.message)) {
        return failure->status;
      }
      auto* chunks = std::get_if<wire::Chunks>(&answer.message);
      if (chunks == nullptr || chunks->chunks.size() != answer.fds.size() ||
          chunks->chunks.empty() || chunks->chunks.size() > refs.size() - out->size()) {
        return Status::Corrupt("the node handed over other chunks than asked for");
      }
      tight_ = chunks->tight;
      for (size_t i = 0; i < chunks->chunks.size(); ++i) {
        const wire::FillTimes& took = chunks->chunks[i].times;
        view.slowest.peer_us = std::max(view.slowest.peer_us, took.peer_us);
        view.slowest.source_us = std::max(view.slowest.source_us, took.source_us);
        view.slowest.decode_us = std::max(view.slowest.decode_us, took.decode_us);
        if (chunks->chunks[i].ref != refs[out->size()]) {
          return Status::Corrupt("the node handed over chunks out of order");
        }
        FB_ASSIGN_OR_RETURN(auto chunk,
                            MapChunk(view, chunks->chunks[i], answer.fds[i].get(), map));
        if (map.mode == Mapping::Mode::kShared && !chunk->borrowed) Keep(view, chunk);
        out->push_back(std::move(chunk));
      }
    }
    return Status::OK();
  });
}

Result<std::shared_ptr<MappedChunk>> RemoteTable::MapChunk(
    const View& view, const wire::ChunkHandle& handle, int fd, MapOptions map) {
  const model::RangeRecord& range = manifest_->ranges()[handle.ref.range];
  std::vector<const model::Field*> fields;
  for (uint32_t column :
       model::GroupColumns(*manifest_, range.unit, handle.ref.group, view.columns)) {
    fields.push_back(&manifest_->schema().fields[column]);
  }
  // Where it is on a disk: rows are touched in any order, and page by page that is slow.
  (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
  auto chunk = std::make_shared<MappedChunk>();
  // From here on the node hears when it is let go of, also where this fails.
  chunk->handed = {link_.generation(), view.id, handle.ref};
  chunk->unmapped = unmapped_;
  chunk->borrowed = handle.borrowed;
  bool copies = handle.borrowed && map.borrowed == Borrowed::kCopy;
  FB_ASSIGN_OR_RETURN(
      chunk->mapping,
      Mapping::Map(fd, handle.size, copies ? Mapping::Mode::kCopy : map.mode));
  if (copies) chunk->GiveBack();
  FB_ASSIGN_OR_RETURN(chunk->columns,
                      ParseChunk(chunk->mapping->bytes(), fields, range.stored_rows));
  return chunk;
}

void RemoteTable::Keep(View& view, const std::shared_ptr<MappedChunk>& chunk) {
  if (view.mapped.size() >= kMappedMax) {
    std::erase_if(view.mapped, [](const auto& e) { return e.second.use_count() == 1; });
  }
  view.mapped[chunk->handed.ref] = chunk;
}

void RemoteTable::OnEvicted(const wire::Evicted& evicted) {
  for (auto& view : views_) {
    if (view->generation != link_.generation() || view->id != evicted.view) continue;
    for (const model::ChunkRef& ref : evicted.refs) {
      auto found = view->mapped.find(ref);
      if (found == view->mapped.end()) continue;
      found->second->evicted = true;
      view->mapped.erase(found);
      ++evictions_;
    }
  }
}

void RemoteTable::Want(uint32_t view_index, std::span<const model::ChunkRef> refs) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  if (view.generation != link_.generation() || !link_.connected()) return;
  wire::Want want{.view = view.id, .refs = {}};
  for (const model::ChunkRef& ref : refs) {
    if (!view.mapped.contains(ref)) want.refs.push_back(ref);
  }
  want.refs.resize(std::min(want.refs.size(), wire::kRequestRefsMax));
  // A hint that does not get through is no loss: the chunk will be asked for.
  if (!want.refs.empty()) {
    (void)link_.Send(std::move(want), {}, Deadline::After(kHintTimeout));
  }
}

void RemoteTable::ReportProgress(uint32_t view_index, uint64_t position,
                                 uint64_t position_count) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  if (view.generation != link_.generation() || !link_.connected()) return;
  wire::Progress progress{
      .view = view.id, .position = position, .position_count = position_count};
  (void)link_.Send(progress, {}, Deadline::After(kHintTimeout));
}

void RemoteTable::Follow(uint32_t view_index, const plan::Order::Options& order,
                         uint64_t position) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  view.follow = wire::Follow{.view = view.id,
                             .mode = static_cast<uint8_t>(order.mode),
                             .seed = order.seed,
                             .epoch = order.epoch,
                             .window_ranges = order.window_ranges,
                             .position = position};
  // A connection that does not know the view hears of it when it does.
  if (!link_.connected() || view.generation != link_.generation()) return;
  (void)link_.Send(*view.follow, {}, Deadline::After(kHintTimeout));
}

bool RemoteTable::tight() {
  CheckFork();
  std::lock_guard lock(mutex_);
  return tight_;
}

void RemoteTable::ForgetUnused(uint32_t view) {
  CheckFork();
  std::lock_guard lock(mutex_);
  std::erase_if(views_[view]->mapped,
                [](const auto& entry) { return entry.second.use_count() == 1; });
}

void RemoteTable::TellUnmappedIfIdle() {
  CheckFork();
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) TellUnmapped();
}

uint64_t RemoteTable::Poll() {
  CheckFork();
  std::lock_guard lock(mutex_);
  (void)link_.Poll();  // a node that has gone is noticed when it is next needed
  TellUnmapped();
  return evictions_;
}

void RemoteTable::TellUnmapped() {
  std::vector<Unmapped::Entry> entries;
  {
    std::lock_guard lock(unmapped_->mutex);
    if (unmapped_->entries.empty()) return;
    entries.swap(unmapped_->entries);
  }
  std::map<uint32_t, std::vector<model::ChunkRef>> by_view;
  for (const Unmapped::Entry& entry : entries) {
    if (entry.generation == link_.generation()) by_view[entry.view].push_back(entry.ref);
  }
  for (auto& [view, refs] : by_view) {
    for (size_t first = 0; first < refs.size(); first += wire::kRequestRefsMax) {
      size_t last = std::min(refs.size(), first + wire::kRequestRefsMax);
      wire::Release release{.view = view,
                            .refs = {refs.begin() + static_cast<ptrdiff_t>(first),
                                     refs.begin() + static_cast<ptrdiff_t>(last)}};
      (void)link_.Send(std::move(release), {}, Deadline::After(kHintTimeout));
    }
  }
}

Result<wire::WarmupState> RemoteTable::Warmup(
    uint32_t view_index, const std::function<void(const wire::WarmupState&)>& report) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  Deadline deadline = Deadline::After(options_.timeout);
  wire::WarmupState state;
  FB_RETURN_NOT_OK(WithNode(view, deadline, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(state, link_.Warmup(view.id, report, deadline));
    return Status::OK();
  }));
  return state;
}

Result<wire::Coverage> RemoteTable::Coverage(uint32_t view_index) {
  CheckFork();
  std::lock_guard lock(mutex_);
  View& view = *views_[view_index];
  Deadline deadline = Deadline::After(options_.timeout);
  wire::Coverage coverage;
  FB_RETURN_NOT_OK(WithNode(view, deadline, [&]() -> Status {
    FB_ASSIGN_OR_RETURN(Answer answer,
                        link_.Call(wire::GetCoverage{view.id}, {}, deadline));
    FB_ASSIGN_OR_RETURN(coverage, Expect<wire::Coverage>(std::move(answer)));
    return Status::OK();
  }));
  return coverage;
}

Result<uint32_t> RemoteTable::NodePid() {
  CheckFork();
  std::lock_guard lock(mutex_);
  FB_RETURN_NOT_OK(OpenOnNode(Deadline::After(options_.timeout)));
  return link_.node().pid;
}

Result<std::string> RemoteTable::Store() {
  CheckFork();
  std::lock_guard lock(mutex_);
  FB_RETURN_NOT_OK(OpenOnNode(Deadline::After(options_.timeout)));
  return link_.node().store;
}

}  // namespace forebay::reader
