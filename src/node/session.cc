#include "node/session.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <map>
#include <new>
#include <nlohmann/json.hpp>

#include "base/errno_status.h"
#include "base/log.h"
#include "base/mapping.h"
#include "node/read_whole.h"

namespace forebay::node {
namespace {

constexpr milliseconds kSendTimeout = std::chrono::seconds(30);
// How often a waiting session looks whether its reader is still there.
constexpr milliseconds kPeerCheck = milliseconds(200);
constexpr milliseconds kWarmupReport = milliseconds(200);
// A reader that says what it will need does not wait; its next request would.
constexpr milliseconds kWantTime = milliseconds(0);
constexpr milliseconds kPinnedTime = std::chrono::seconds(60);
constexpr size_t kViewsMax = 1024;
constexpr uint64_t kManifestBytesMax = uint64_t{4} << 30;

Deadline DeadlineOf(uint64_t timeout_ms) {
  constexpr uint64_t kLongest = 24ULL * 3600 * 1000;
  return Deadline::After(
      milliseconds(timeout_ms == 0 ? kLongest : std::min(timeout_ms, kLongest)));
}

Result<UniqueFd> TextFd(const std::string& text) {
  UniqueFd fd(::memfd_create("forebay-text", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "make a memory file");
  size_t done = 0;
  while (done < text.size()) {
    ssize_t n = ::write(fd.get(), text.data() + done, text.size() - done);
    if (n < 0) return ErrnoStatus(errno, "write a memory file");
    done += static_cast<size_t>(n);
  }
  return fd;
}

// The first bytes of a text, without half a character (UTF-8) at the end.
std::string CutText(const std::string& text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

uint64_t EvictedSince(const cache::WarmupProgress& progress, const cache::Coverage& now) {
  return progress.chunks_done > now.chunks_stored
             ? progress.chunks_done - now.chunks_stored
             : 0;
}

wire::WarmupState ToWire(const cache::WarmupProgress& progress, bool done) {
  return {.rows_done = progress.rows_done,
          .row_count = progress.row_count,
          .chunks_done = progress.chunks_done,
          .chunk_count = progress.chunk_count,
          .bytes_stored = progress.bytes_stored,
          .bytes_fetched = progress.bytes_fetched,
          .done = done,
          .failures = done ? progress.failures : std::vector<std::string>()};
}

// A message holds 64 KiB, and a failure may quote what was asked for.
Status ShortEnough(const Status& status) {
  constexpr size_t kBytesMax = 16 * 1024;
  if (status.message().size() <= kBytesMax) return status;
  return {status.code(), CutText(status.message(), kBytesMax) + "…"};
}

uint32_t Micros(std::chrono::nanoseconds time) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(time.count() / 1000, 0, std::numeric_limits<uint32_t>::max()));
}

wire::FillTimes Micros(const cache::FillTimes& times) {
  return {Micros(times.peer), Micros(times.source), Micros(times.decode)};
}

}  // namespace

Session::Session(uint64_t id, wire::Channel channel, Host* host)
    : id_(id), channel_(std::move(channel)), host_(host) {}

Session::~Session() {
  host_->engine().fills().Forget(id_);
  host_->engine().files().Forget(id_);
  host_->engine().next_use().Forget(id_);
  for (const auto& [key, uses] : handed_) {
    for (size_t i = 0; i < uses.size(); ++i) host_->engine().store().DropReader(key);
  }
}

void Session::Run() {
  for (;;) {
    auto packet = channel_.Receive(Deadline::Never());
    Status status = packet.ok() ? Serve(*std::move(packet)) : packet.status();
    if (status.ok()) continue;
    if (status.code() != StatusCode::kUnavailable) {
      spdlog::warn("a reader (pid {}) was turned away: {}", pid_, status.ToString());
      TurnAway(status);
    }
    return;
  }
}

Status Session::Serve(wire::Packet packet) {
  FB_ASSIGN_OR_RETURN(wire::Envelope envelope, wire::Decode(packet.bytes));
  packet_ = std::move(packet);
  request_ = envelope.request;
  if (!greeted_ && !std::holds_alternative<wire::Hello>(envelope.message)) {
    return Status::Invalid("the first message was not a Hello");
  }
  FlushEvicted();
  Status status = Dispatch(envelope.message);
  if (status.ok()) return status;
  if (channel_.PeerGone()) return Status::Unavailable("the reader has gone");
  return Answer(wire::Failure{ShortEnough(status)});
}

// Libraries below throw where memory ends; that is one request's failure and not the
// node's.
Status Session::Dispatch(const wire::Message& message) {
  if (!std::holds_alternative<wire::Hello>(message) &&
      !std::holds_alternative<wire::GetStatus>(message)) {
    in_use_ = true;
  }
  try {
    return std::visit([this](const auto& one) { return On(one); }, message);
  } catch (const std::bad_alloc&) {
    return Status::Full("the node has no memory left for this request");
  } catch (const std::exception& error) {
    return Status::Internal(fmt::format("the node failed: {}", error.what()));
  }
}

Status Session::Answer(wire::Message message, const std::vector<int>& fds) {
  return channel_.Send(wire::Encode({request_, std::move(message)}), fds,
                       Deadline::After(kSendTimeout));
}

Status Session::On(const wire::Hello& hello) {
  {
    std::lock_guard lock(mutex_);
    pid_ = hello.pid;
    program_ = hello.program;
  }
  // A reader of another version is told ours and decides; it gets nothing else from us.
  greeted_ = hello.protocol == wire::kProtocolVersion;
  return Answer(host_->Greeting());
}

Result<std::string> Session::PinnedManifest(uint64_t bytes) const {
  if (packet_.fds.size() != 1 || bytes > kManifestBytesMax) {
    return Status::Invalid("a pinned version comes with its manifest");
  }
  struct stat file {};
  if (::fstat(packet_.fds[0].get(), &file) != 0 ||
      static_cast<uint64_t>(file.st_size) < bytes) {
    return Status::Invalid("a pinned manifest is shorter than was announced");
  }
  std::string manifest(bytes, '\0');
  FB_RETURN_NOT_OK(ReadWhole(packet_.fds[0].get(), manifest.data(), bytes));
  return manifest;
}

Status Session::CheckPinned(const Hash128& key, std::string_view manifest) const {
  FB_ASSIGN_OR_RETURN(uint32_t user, channel_.PeerUser());
  if (user == ::geteuid() || user == 0) return Status::OK();
  auto stored = host_->engine().store().Get(key, Deadline::After(kPinnedTime));
  if (stored.ok()) {
    FB_ASSIGN_OR_RETURN(auto mapping, Mapping::Map(stored->fd->get(), stored->size,
                                                   Mapping::Mode::kShared));
    if (mapping->bytes() == manifest) return Status::OK();
  }
  return Status::Permission(
      "this node no longer has the version, and takes it from its own user only: open "
      "the dataset anew");
}

Status Session::On(const wire::OpenFiles& open) {
  cache::FilesCatalog& catalog = host_->engine().files().catalog();
  std::shared_ptr<const cache::FilesVersion> version;
  if (open.pinned_bytes > 0) {
    FB_ASSIGN_OR_RETURN(std::string manifest, PinnedManifest(open.pinned_bytes));
    FB_ASSIGN_OR_RETURN(auto pinned, model::FilesManifest::View(manifest, nullptr));
    FB_RETURN_NOT_OK(CheckPinned(model::FilesManifestKey(pinned->version()), manifest));
    FB_ASSIGN_OR_RETURN(version,
                        catalog.Adopt(open.uri, open.options, std::move(manifest)));
  } else {
    FB_ASSIGN_OR_RETURN(
        version, catalog.Open(open.uri, open.options, DeadlineOf(open.timeout_ms)));
  }
  wire::FilesOpened opened;
  {
    std::lock_guard lock(mutex_);
    if (views_.size() >= kViewsMax) return Status::Full("too many datasets are open");
    opened.view = static_cast<uint32_t>(views_.size());
    views_.push_back({.files = version});
  }
  opened.manifest_bytes = version->manifest_chunk.size;
  return Answer(opened, {version->manifest_chunk.fd->get()});
}

Status Session::On(const wire::Open& open) {
  std::shared_ptr<const cache::Version> version;
  if (open.pinned_bytes > 0) {
    FB_ASSIGN_OR_RETURN(std::string manifest, PinnedManifest(open.pinned_bytes));
    FB_ASSIGN_OR_RETURN(auto pinned, model::Manifest::View(manifest, nullptr));
    FB_RETURN_NOT_OK(CheckPinned(model::ManifestKey(pinned->version()), manifest));
    FB_ASSIGN_OR_RETURN(version, host_->engine().catalog().Adopt(open.uri, open.options,
                                                                 std::move(manifest)));
  } else {
    FB_ASSIGN_OR_RETURN(version,
                        host_->engine().catalog().Open(open.uri, open.options,
                                                       DeadlineOf(open.timeout_ms)));
  }
  wire::Opened opened;
  {
    std::lock_guard lock(mutex_);
    if (datasets_.size() >= kViewsMax) return Status::Full("too many datasets are open");
    opened.dataset = static_cast<uint32_t>(datasets_.size());
    datasets_.push_back(version);
  }
  opened.columns = version->columns;
  opened.manifest_bytes = version->manifest_chunk.size;
  return Answer(opened, {version->manifest_chunk.fd->get()});
}

Status Session::On(const wire::View& view) {
  std::lock_guard lock(mutex_);
  if (view.dataset >= datasets_.size()) return Status::Invalid("no such dataset");
  if (views_.size() >= kViewsMax) return Status::Full("too many projections are open");
  OpenView open{.view = {datasets_[view.dataset], view.columns}};
  FB_RETURN_NOT_OK(open.CheckColumns());
  views_.push_back(std::move(open));
  return Answer(wire::Viewed{static_cast<uint32_t>(views_.size() - 1)});
}

Result<OpenView> Session::FindView(uint32_t id) const {
  std::lock_guard lock(mutex_);
  if (id >= views_.size()) return Status::Invalid("no such view");
  return views_[id];
}

Result<cache::View> Session::FindTable(uint32_t id) const {
  FB_ASSIGN_OR_RETURN(OpenView open, FindView(id));
  if (open.files != nullptr) return Status::Invalid("files have no rows");
  return std::move(open.view);
}

Status Session::On(const wire::GetChunks& get) {
  Status status = HandOverAll(get);
  // The reader asks for fewer at a time: nothing of the rest is worth a decode.
  if (status.code() == StatusCode::kFull) host_->engine().fills().Forget(id_);
  return status;
}

Status Session::HandOverAll(const wire::GetChunks& get) {
  FB_ASSIGN_OR_RETURN(OpenView view, FindView(get.view));
  FB_RETURN_NOT_OK(view.Check(get.refs));
  Deadline deadline = DeadlineOf(get.timeout_ms);
  auto asked = view.Ask(host_->engine(), get.refs,
                        {.need = cache::Need::kNow, .client = id_, .deadline = deadline});
  std::vector<Handover> ready;
  for (const auto& [ref, future] : asked) {
    bool waits = future.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    if (!ready.empty() && (waits || ready.size() == wire::kMessageFdsMax)) {
      FB_RETURN_NOT_OK(HandOver(get, ready));
      ready.clear();
    }
    FB_ASSIGN_OR_RETURN(cache::Brought brought, Await(future, deadline));
    if (!waits) brought.times = {};
    ready.push_back({ref, std::move(brought)});
  }
  return HandOver(get, ready);
}

Result<cache::Brought> Session::Await(const cache::ChunkFuture& future,
                                      Deadline deadline) {
  while (future.wait_for(std::min(kPeerCheck, deadline.Remaining())) !=
         std::future_status::ready) {
    if (channel_.PeerGone()) return Status::Unavailable("the reader has gone");
    if (deadline.passed()) {
      return Status::Deadline(
          "a chunk did not come from the source in time; give a longer timeout or look "
          "at the source");
    }
  }
  return future.get();
}

// All of them, or none.
Status Session::AddReaders(const wire::GetChunks& get,
                           const std::vector<Handover>& chunks) {
  storage::Store& store = host_->engine().store();
  for (size_t i = 0; i < chunks.size(); ++i) {
    const storage::Chunk& chunk = chunks[i].brought.chunk;
    Status added = Status::OK();
    if (get.keeps_borrowed) {
      added = store.AddKeepingReader(chunk);
    } else {
      store.AddReader(chunk);
    }
    if (added.ok()) continue;
    while (i > 0) store.DropReader(chunks[--i].brought.chunk.key);
    return added;
  }
  return Status::OK();
}

Status Session::HandOver(const wire::GetChunks& get,
                         const std::vector<Handover>& chunks) {
  for (const auto& [ref, brought] : chunks) {
    FB_RETURN_NOT_OK(storage::CheckMappable(brought.chunk));
  }
  FB_RETURN_NOT_OK(AddReaders(get, chunks));
  wire::Chunks message{
      .view = get.view, .tight = host_->engine().store().tight(), .chunks = {}};
  std::vector<int> fds;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [ref, brought] : chunks) {
      // One that was evicted on its way is nobody's to keep either.
      bool borrowed =
          brought.chunk.borrowed || !host_->engine().store().Contains(brought.chunk.key);
      message.chunks.push_back(
          {ref, brought.chunk.size, Micros(brought.times), borrowed});
      fds.push_back(brought.chunk.fd->get());
      handed_[brought.chunk.key].push_back({get.view, ref});
    }
  }
  return Answer(std::move(message), fds);
}

Status Session::On(const wire::Want& want) {
  FB_ASSIGN_OR_RETURN(OpenView view, FindView(want.view));
  FB_RETURN_NOT_OK(view.Check(want.refs));
  view.Ask(host_->engine(), want.refs,
           {.need = cache::Need::kSoon,
            .client = id_,
            .deadline = Deadline::After(kWantTime)});
  return Status::OK();
}

Status Session::On(const wire::Release& release) {
  FB_ASSIGN_OR_RETURN(OpenView view, FindView(release.view));
  FB_RETURN_NOT_OK(view.Check(release.refs));
  std::vector<Hash128> dropped;
  {
    std::lock_guard lock(mutex_);
    for (const model::ChunkRef& ref : release.refs) {
      auto found = handed_.find(view.Key(ref));
      if (found == handed_.end()) continue;
      auto use = std::ranges::find_if(found->second, [&](const Handed& handed) {
        return handed.view == release.view && handed.ref == ref;
      });
      if (use == found->second.end()) continue;
      found->second.erase(use);
      dropped.push_back(found->first);
      if (found->second.empty()) handed_.erase(found);
    }
  }
  for (const Hash128& key : dropped) host_->engine().store().DropReader(key);
  return Status::OK();
}

Status Session::On(const wire::Hold& hold) {
  FB_ASSIGN_OR_RETURN(OpenView view, FindView(hold.view));
  for (const wire::ChunkHandle& chunk : hold.chunks) {
    FB_RETURN_NOT_OK(view.Check({chunk.ref}));
    Hash128 key = view.Key(chunk.ref);
    host_->engine().store().AddReader(key, chunk.size);
    std::lock_guard lock(mutex_);
    handed_[key].push_back({hold.view, chunk.ref});
  }
  return Status::OK();
}

Status Session::On(const wire::Progress& progress) {
  FB_ASSIGN_OR_RETURN(cache::View view, FindTable(progress.view));
  host_->engine().next_use().Advance(id_, view, progress.position);
  std::lock_guard lock(mutex_);
  views_[progress.view].position = progress.position;
  views_[progress.view].position_count = progress.position_count;
  return Status::OK();
}

Status Session::On(const wire::Follow& follow) {
  FB_ASSIGN_OR_RETURN(cache::View view, FindTable(follow.view));
  if (follow.mode > static_cast<uint8_t>(plan::OrderMode::kGlobal)) {
    return Status::Invalid("no such order");
  }
  plan::Order::Options order;
  order.mode = static_cast<plan::OrderMode>(follow.mode);
  order.seed = follow.seed;
  order.epoch = follow.epoch;
  order.window_ranges = follow.window_ranges;
  {
    std::lock_guard lock(mutex_);
    OpenView& open = views_[follow.view];
    open.epoch = follow.epoch;
    open.position = follow.position;
    if (open.position_count == 0) {
      open.position_count = static_cast<uint64_t>(view.manifest().row_count());
    }
  }
  return host_->engine().next_use().Follow(id_, view, std::move(order), follow.position);
}

Status Session::On(const wire::Warmup& warmup) {
  FB_ASSIGN_OR_RETURN(OpenView view, FindView(warmup.view));
  TimePoint next_report = Clock::Real().Now();
  Status sent;
  auto report = [&](const cache::WarmupProgress& progress) {
    if (channel_.PeerGone()) return false;
    if (Clock::Real().Now() < next_report) return true;
    next_report = Clock::Real().Now() + kWarmupReport;
    sent = Answer(ToWire(progress, /*done=*/false));
    return sent.ok();
  };
  auto progress =
      view.Warmup(host_->engine(), id_, DeadlineOf(warmup.timeout_ms), report);
  if (!sent.ok()) return sent;
  if (!progress.ok()) return progress.status();
  // A message holds so many names; the count stays exact.
  constexpr size_t kNamesMax = 100;
  size_t failures = progress->failures.size();
  if (failures > kNamesMax) {
    progress->failures.resize(kNamesMax);
    progress->failures.push_back(fmt::format("… and {} more", failures - kNamesMax));
  }
  for (std::string& failure : progress->failures) failure = CutText(failure, 500);
  wire::WarmupState state = ToWire(*progress, /*done=*/true);
  state.evicted = EvictedSince(*progress, view.Covered(host_->engine()));
  return Answer(state);
}

Status Session::On(const wire::GetCoverage& get) {
  FB_ASSIGN_OR_RETURN(OpenView view, FindView(get.view));
  cache::Coverage coverage = view.Covered(host_->engine());
  return Answer(wire::Coverage{.chunk_count = coverage.chunk_count,
                               .chunks_stored = coverage.chunks_stored,
                               .rows_stored = coverage.rows_stored});
}

Status Session::On(const wire::GetStatus&) {
  std::string text = host_->StatusJson();
  FB_ASSIGN_OR_RETURN(UniqueFd fd, TextFd(text));
  return Answer(wire::Text{text.size()}, {fd.get()});
}

void Session::OnEvicted(const Hash128& key) {
  {
    std::lock_guard lock(mutex_);
    auto found = handed_.find(key);
    if (found == handed_.end()) return;
    evicted_.insert(evicted_.end(), found->second.begin(), found->second.end());
    // One that took no messages is told with its next request.
    if (deaf_) return;
  }
  FlushEvicted();
}

bool Session::SendEvicted(uint32_t view, std::span<const model::ChunkRef> refs) {
  wire::Envelope event{0, wire::Evicted{view, {refs.begin(), refs.end()}}};
  return channel_.Send(wire::Encode(event), {}, Deadline::After(milliseconds(0))).ok();
}

void Session::FlushEvicted() {
  std::map<uint32_t, std::vector<model::ChunkRef>> by_view;
  {
    std::lock_guard lock(mutex_);
    for (const Handed& handed : evicted_) by_view[handed.view].push_back(handed.ref);
    evicted_.clear();
    deaf_ = false;
  }
  bool deaf = false;
  for (const auto& [view, refs] : by_view) {
    std::span<const model::ChunkRef> rest = refs;
    while (!rest.empty() && !deaf) {
      auto part = rest.first(std::min(rest.size(), wire::kRequestRefsMax));
      deaf = !SendEvicted(view, part);
      if (!deaf) rest = rest.subspan(part.size());
    }
    if (rest.empty()) continue;
    std::lock_guard lock(mutex_);
    for (const model::ChunkRef& ref : rest) evicted_.push_back({view, ref});
    deaf_ = true;
  }
}

nlohmann::json Session::Describe() const {
  std::lock_guard lock(mutex_);
  auto views = nlohmann::json::array();
  for (const OpenView& open : views_) views.push_back(open.Describe());
  return {{"pid", pid_},
          {"program", program_},
          {"chunks", handed_.size()},
          {"views", std::move(views)}};
}

void Session::AppendJobs(std::vector<cluster::JobReport>* jobs) const {
  std::lock_guard lock(mutex_);
  for (const OpenView& open : views_) {
    if (open.files != nullptr || open.position_count == 0) continue;
    jobs->push_back({.job = fmt::format("{} ({})", program_, pid_),
                     .version = open.view.manifest().version().ToHex(),
                     .epoch = open.epoch,
                     .position = open.position,
                     .rows = open.position_count});
  }
}

}  // namespace forebay::node
