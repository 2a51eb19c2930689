#include "fuse/serving.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/log.h"
#include "base/start_thread.h"
#include "base/uri.h"
#include "fuse/kernel_protocol.h"

namespace forebay::fuse {
namespace {

using Patience = WaitingRoom::Patience;

// How long it takes at most to hear from the node that something is not stored.
constexpr milliseconds kTryTime = milliseconds(20);
static_assert(kTryTime <= reader::LinkPool::kBriskTime);

// Until when a task asks that has until `end`.
Deadline Until(Patience patience, Deadline end) {
  if (patience == Patience::kWait) return end;
  return Deadline::After(std::min(kTryTime, end.Remaining()));
}
// It was only tried, and has to be waited for: the source is slow, or the node starts
// anew.
bool IsToWait(Patience patience, const Status& status, Deadline end) {
  return patience == Patience::kTry && reader::LinkPool::IsPassing(status) &&
         !end.passed();
}

// Pages that a question about a name may touch.
constexpr uint64_t kLookupBytes = 4 * 4096;
// What the kernel maps besides, of a file's pages that it has, where some are touched.
constexpr uint64_t kAroundBytes = 64 << 10;
constexpr uint32_t kNameBytes = 1024;
constexpr uint32_t kStatBlockBytes = 4096;

// What the kernel sends after a header, up to the first NUL.
std::string_view Text(std::string_view body) { return body.substr(0, body.find('\0')); }

uint32_t SourceOf(uint64_t node) { return NodeId::From(node).source; }

std::string PathOf(const Filesystem::File& file) {
  const model::FilesManifest& manifest = file.generation->contents->manifest();
  return RedactUri(manifest.root()) + "/" + manifest.FilePath(file.index);
}

// A source that is gone makes every read fail: some lines a second say it.
void LogFailure(const Filesystem::File& file, const Status& status) {
  constexpr int kLinesASecond = 20;
  static std::mutex mutex;
  static int64_t second = 0;
  static int lines = 0;
  std::lock_guard lock(mutex);
  int64_t now = Clock::Real().WallNanos() / 1'000'000'000;
  if (now != second) {
    if (lines > kLinesASecond) {
      spdlog::error("{} more failures were not logged", lines - kLinesASecond);
    }
    second = now;
    lines = 0;
  }
  if (++lines > kLinesASecond) return;
  spdlog::error("{} cannot be read: {}", PathOf(file), status.message());
}

}  // namespace

// A request where it was received. What outlives the buffer is copied by whoever needs
// it.
struct Serving::Request {
  Channel channel;
  fuse_in_header header;
  std::string_view body;

  uint64_t unique() const { return header.unique; }
  uint64_t node() const { return header.nodeid; }
  WaitingRequests::Asker asker() const { return {channel, header.pid}; }
  void Fail(int error) const { channel.Fail(unique(), error); }
  template <typename T>
  bool Answer(const T& value) const {
    return channel.Answer(unique(), BytesOf(value));
  }
  void Done() const { channel.Answer(unique(), std::string_view()); }
  // The struct at the beginning of the body; zeros where the body is too short.
  template <typename T>
  T As() const {
    T out{};
    std::memcpy(&out, body.data(), std::min(sizeof(T), body.size()));
    return out;
  }
};

int ErrnoOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return 0;
    // It is no longer there as it was when it was listed.
    case StatusCode::kChanged:
    case StatusCode::kNotFound: return ESTALE;
    case StatusCode::kPermission: return EACCES;
    case StatusCode::kDeadline: return ETIMEDOUT;
    case StatusCode::kInvalid:
    case StatusCode::kCorrupt:
    case StatusCode::kFull:
    case StatusCode::kUnavailable:
    case StatusCode::kUnsupported:
    case StatusCode::kCancelled:
    case StatusCode::kInternal: return EIO;
  }
  return EIO;
}

Serving::Serving(Options options)
    : options_(std::move(options)),
      waiting_({.source_count = options_.filesystem->source_count()}) {
  for (int fd : options_.channels) {
    auto thread = StartThread([this, fd] { Run(Channel(fd)); });
    // All channels bring the requests of one queue: one thread is enough to go on.
    if (!thread.ok() && !threads_.empty()) break;
    if (!thread.ok()) {
      spdlog::error("{}; the serving process ends", thread.status().message());
      std::_Exit(1);  // the supervisor starts the next one
    }
    threads_.push_back(*std::move(thread));
  }
}

void Serving::Run(Channel channel) {
  std::vector<char> buffer(kRequestBytesMax);
  // A page that went away would be an error of the request it was wanted for.
  (void)::mlock(buffer.data(), buffer.size());
  for (;;) {
    auto bytes = channel.Receive(buffer);
    if (!bytes.ok()) {
      spdlog::error("{}; the serving process ends", bytes.status().message());
      std::_Exit(1);  // the supervisor starts the next one
    }
    if (bytes->empty()) return options_.on_unmounted();
    Request request{channel, {}, bytes->substr(sizeof(fuse_in_header))};
    std::memcpy(&request.header, bytes->data(), sizeof(fuse_in_header));
    Dispatch(request);
  }
}

void Serving::Dispatch(const Request& request) {
  switch (request.header.opcode) {
    case FUSE_LOOKUP: return OnLookup(request);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
      return;  // inodes are numbers: there is nothing to forget, and no answer
    case FUSE_INTERRUPT: return asked_.OnSignal(request.As<fuse_interrupt_in>().unique);
    case FUSE_GETATTR: return OnGetAttributes(request);
    case FUSE_OPEN: return OnOpen(request);
    case FUSE_RELEASE: return OnRelease(request);
    case FUSE_READ: return OnRead(request);
    case FUSE_READDIR: return OnReadDirectory(request, false);
    case FUSE_READDIRPLUS: return OnReadDirectory(request, true);
    case FUSE_STATFS: return OnStatFilesystem(request);
    case FUSE_GETXATTR: return OnGetExtended(request);
    case FUSE_LISTXATTR: return OnListExtended(request);
    case FUSE_READLINK: return OnReadLink(request);
    case FUSE_RELEASEDIR:
    case FUSE_DESTROY: return request.Done();
    case FUSE_SETATTR:
    case FUSE_WRITE:
    case FUSE_CREATE:
    case FUSE_MKDIR:
    case FUSE_UNLINK:
    case FUSE_SETXATTR: return request.Fail(EROFS);
    default:
      // The kernel does by itself what it need not ask for, OPENDIR among them, and
      // never asks again.
      return request.Fail(ENOSYS);
  }
}

void Serving::OnLookup(const Request& request) {
  options_.memory->Touched(kLookupBytes);
  Attributes attributes;
  int error =
      options_.filesystem->Lookup(request.node(), Text(request.body), &attributes);
  if (error == ENOENT) return void(request.Answer(NoEntry(options_.look)));
  if (error != 0) return request.Fail(error);
  request.Answer(KernelEntry(attributes, options_.look));
}

void Serving::OnGetAttributes(const Request& request) {
  options_.memory->Touched(kLookupBytes);
  Attributes attributes;
  int error = options_.filesystem->GetAttributes(request.node(), &attributes);
  if (error != 0) return request.Fail(error);
  fuse_attr_out out{};
  out.attr_valid = options_.look.valid_seconds;
  out.attr = KernelAttributes(attributes, options_.look);
  request.Answer(out);
}

void Serving::OnOpen(const Request& request) {
  if (options_.opened->without_message()) return request.Fail(ENOSYS);
  auto file = options_.filesystem->FindFile(request.node());
  if (!file) return request.Fail(ESTALE);
  Deadline end = Deadline::After(options_.timeout);
  if (!options_.opened->may_wait(*file)) {
    auto opened = options_.opened->Open(request.node(), request.unique(), *file, end);
    return void(request.Answer(*opened));
  }
  Ahead(*file, request.node(), 0);
  uint32_t source = SourceOf(request.node());
  waiting_.Submit(source, [this, request, end,
                           ticket = asked_.Begin(request.unique(), request.asker()),
                           file = *std::move(file)](Patience patience) {
    auto opened = options_.opened->Open(request.node(), request.unique(), file,
                                        Until(patience, end));
    if (IsToWait(patience, opened.status(), end)) return false;
    if (!ticket->Take()) {
      if (opened.ok()) options_.opened->Release(request.node(), opened->fh);
    } else if (!opened.ok()) {
      LogFailure(file, opened.status());
      request.Fail(ErrnoOf(opened.status()));
    } else if (!request.Answer(*opened)) {
      // Nobody will close what nobody waits for any more.
      options_.opened->Release(request.node(), opened->fh);
    }
    return true;
  });
}

void Serving::Ahead(const Filesystem::File& file, uint64_t node, uint64_t offset) {
  const model::FilesManifest& manifest = file.generation->contents->manifest();
  LookAhead::Ahead ahead = look_ahead_.OnRead(
      {.manifest = &manifest, .node = node, .file = file.index, .offset = offset});
  if (ahead.empty()) return;
  waiting_.Submit(SourceOf(node), [contents = file.generation->contents,
                                   ahead = std::move(ahead)](Patience patience) {
    if (patience == Patience::kTry) return true;  // there are those who wait
    if (!ahead.chunks.empty()) contents->Want(ahead.chunks);
    if (!ahead.files.empty()) contents->Bring(ahead.files);
    return true;
  });
}

void Serving::OnRelease(const Request& request) {
  options_.opened->Release(request.node(), request.As<fuse_release_in>().fh);
  request.Done();
}

void Serving::OnRead(const Request& request) {
  auto in = request.As<fuse_read_in>();
  auto file = options_.filesystem->FindFile(request.node());
  if (!file) return request.Fail(ESTALE);
  Ahead(*file, request.node(), in.offset);
  uint64_t touched = in.size + kAroundBytes;
  if (auto pieces = Filesystem::TryRead(*file, in.offset, in.size)) {
    options_.memory->Touched(touched);
    request.channel.Answer(request.unique(), *pieces);
    return;
  }
  uint32_t source = SourceOf(request.node());
  waiting_.Submit(source, [request, in, touched, memory = options_.memory,
                           end = Deadline::After(options_.timeout),
                           ticket = asked_.Begin(request.unique(), request.asker()),
                           file = *std::move(file)](Patience patience) {
    auto pieces = Filesystem::Read(file, in.offset, in.size, Until(patience, end));
    if (IsToWait(patience, pieces.status(), end)) return false;
    if (!ticket->Take()) return true;
    if (pieces.ok()) {
      memory->Touched(touched);
      request.channel.Answer(request.unique(), *pieces);
    } else {
      LogFailure(file, pieces.status());
      request.Fail(ErrnoOf(pieces.status()));
    }
    return true;
  });
}

void Serving::OnReadDirectory(const Request& request, bool plus) {
  auto in = request.As<fuse_read_in>();
  DirectoryAnswer answer(in.size, plus);
  int error =
      options_.filesystem->List(request.node(), in.offset, [&](const Entry& entry) {
        Attributes attributes;
        bool linked = plus && entry.current &&
                      options_.filesystem->GetAttributes(entry.node, &attributes) == 0;
        if (!linked) return answer.Add(entry, nullptr);
        fuse_entry_out out = KernelEntry(attributes, options_.look);
        return answer.Add(entry, &out);
      });
  if (error != 0) return request.Fail(error);
  options_.memory->Touched(4 * answer.bytes().size());  // records, names, tables
  request.channel.Answer(request.unique(), answer.bytes());
}

void Serving::OnReadLink(const Request& request) {
  std::string target;
  int error = options_.filesystem->ReadLink(request.node(), &target);
  if (error != 0) return request.Fail(error);
  request.channel.Answer(request.unique(), target);
}

void Serving::OnStatFilesystem(const Request& request) {
  Filesystem::Totals totals = options_.filesystem->totals();
  fuse_statfs_out out{};
  out.st.blocks = (totals.bytes + kStatBlockBytes - 1) / kStatBlockBytes;
  out.st.files = totals.files;
  out.st.bsize = out.st.frsize = kStatBlockBytes;
  out.st.namelen = kNameBytes;
  request.Answer(out);
}

// With no room given, the answer is how much there must be.
void Serving::AnswerExtended(const Request& request, std::string_view value,
                             uint32_t room) {
  if (room == 0) {
    fuse_getxattr_out out{.size = static_cast<uint32_t>(value.size()), .padding = 0};
    return void(request.Answer(out));
  }
  if (value.size() > room) return request.Fail(ERANGE);
  request.channel.Answer(request.unique(), value);
}

void Serving::OnGetExtended(const Request& request) {
  auto in = request.As<fuse_getxattr_in>();
  if (request.body.size() < sizeof(in)) return request.Fail(EINVAL);
  std::string value;
  int error = options_.filesystem->ExtendedAttribute(
      request.node(), Text(request.body.substr(sizeof(in))), &value);
  if (error != 0) return request.Fail(error);
  AnswerExtended(request, value, in.size);
}

void Serving::OnListExtended(const Request& request) {
  std::string names;
  for (const std::string& name :
       options_.filesystem->ExtendedAttributeNames(request.node())) {
    names += name;
    names += '\0';
  }
  AnswerExtended(request, names, request.As<fuse_getxattr_in>().size);
}

}  // namespace forebay::fuse
