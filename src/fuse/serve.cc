#include "fuse/serve.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/log.h"
#include "fuse/changes.h"
#include "fuse/serving.h"
#include "wire/listener.h"

namespace forebay::fuse {
namespace {

// What is mapped costs nothing until it is touched; the budget is for what is.
constexpr uint64_t kMappedShare = 16;
constexpr int kPollEvery = 500;  // ms

// One byte of status, then words.
std::string ControlAnswer(const Status& status) {
  return static_cast<char>(status.code()) + status.message();
}

// The kernel forgets one thing at a time; that it knew nothing of it is fine.
void TellKernel(const Channel& kernel, const Filesystem& filesystem,
                const Sources::Refreshed& step, ChangeCounts* counts) {
  ChangeVisitor visitor{
      .entry =
          [&](uint64_t parent, std::string_view name) {
            fuse_notify_inval_entry_out out{};
            out.parent = parent;
            out.namelen = static_cast<uint32_t>(name.size());
            std::string text = std::string(name) + '\0';
            iovec parts[] = {{&out, sizeof(out)}, {text.data(), text.size()}};
            (void)kernel.Notify(FUSE_NOTIFY_INVAL_ENTRY, parts);
          },
      .directory =
          [&](uint64_t node) {
            fuse_notify_inval_inode_out out{.ino = node, .off = 0, .len = 0};
            iovec part{&out, sizeof(out)};
            (void)kernel.Notify(FUSE_NOTIFY_INVAL_INODE, {&part, 1});
          }};
  ChangeCounts found =
      VisitChanges(filesystem, step.source, *step.before, *step.now, visitor);
  counts->added += found.added;
  counts->changed += found.changed;
  counts->removed += found.removed;
}

class Server {
 public:
  Server(const ServeOptions& options, UniqueFd socket)
      : options_(options), supervisor_(std::move(socket)) {}

  // First what the supervisor has to say, then requests until the mount ends.
  Status Run() {
    for (;;) {
      FB_ASSIGN_OR_RETURN(Letter letter, supervisor_.Receive());
      if (filesystem_ == nullptr) MakeFilesystem(letter.message.time_ns);
      switch (letter.message.say) {
        case Say::kVersion: FB_RETURN_NOT_OK(sources_->Resume(std::move(letter))); break;
        case Say::kOpen: FB_RETURN_NOT_OK(OpenSources()); break;
        case Say::kServe: return ServeKernel(std::move(letter));
        default:
          return Status::Corrupt("the supervisor said something else than expected");
      }
    }
  }

 private:
  void MakeFilesystem(int64_t mounted_ns) {
    Filesystem::Options options{.names = {}, .mounted_ns = mounted_ns};
    for (const SourceSpec& spec : options_.specs) options.names.push_back(spec.name);
    filesystem_ = std::make_unique<Filesystem>(std::move(options));
    sources_ = std::make_unique<Sources>(Sources::Options{
        .specs = options_.specs,
        .open = options_.open,
        .mapped_bytes_max = kMappedShare * options_.memory_bytes,
        .filesystem = filesystem_.get(),
        .supervisor = &supervisor_,
    });
  }

  Status OpenSources() {
    Status opened = sources_->Open();
    if (!opened.ok()) {
      (void)supervisor_.Send(
          {.say = Say::kFailed, .value = static_cast<int32_t>(opened.code())}, {},
          opened.message());
      // The supervisor says it where somebody reads it.
      return Status::Unavailable("the sources cannot be opened");
    }
    Profile profile = ChooseProfile(filesystem_->sizes());
    if (!options_.profile.empty()) {
      FB_ASSIGN_OR_RETURN(profile, ParseProfile(options_.profile));
    }
    return supervisor_.Send(
        {.say = Say::kOpened, .value = static_cast<int32_t>(profile)});
  }

  Status ServeKernel(Letter letter) {
    if (letter.fds.empty()) return Status::Corrupt("the supervisor sent no channels");
    const Message& message = letter.message;
    OpenedFiles opened({.profile = static_cast<Profile>(message.value),
                        .passthrough = (message.flags & kFlagPassthrough) != 0,
                        .supervisor = &supervisor_});
    MemoryBudget memory({.bytes_max = options_.memory_bytes,
                         .resident = ResidentBytes,
                         .let_go = [this] { sources_->LetGoOfPages(); }});
    std::vector<int> channels;
    for (const UniqueFd& fd : letter.fds) channels.push_back(fd.get());
    Serving serving({.filesystem = filesystem_.get(),
                     .opened = &opened,
                     .memory = &memory,
                     .channels = channels,
                     .look = {.user = ::geteuid(), .group = ::getegid()},
                     .timeout = options_.open.timeout,
                     // Threads may wait for a source that hangs: nothing is tidied up.
                     .on_unmounted = [] { std::_Exit(0); }});
    Channel kernel(channels[0]);
    if ((message.flags & kFlagUnsettled) != 0) {
      ChangeCounts ignored;
      for (const auto& step : sources_->LastSteps()) {
        TellKernel(kernel, *filesystem_, step, &ignored);
      }
      FB_RETURN_NOT_OK(supervisor_.Send({.say = Say::kSettled}));
    }
    FB_RETURN_NOT_OK(supervisor_.Send({.say = Say::kReady}));
    Listen(kernel, serving);
    std::_Exit(1);
  }

  // Answers the command line until the supervisor has gone.
  void Listen(const Channel& kernel, Serving& serving) {
    wire::Listener listener;
    if (!options_.control.empty()) {
      ::unlink(options_.control.c_str());
      auto made = wire::Listener::At(options_.control, ControlAnswer);
      if (made.ok()) listener = *std::move(made);
      if (!made.ok()) spdlog::error("{}; refresh will not work", made.status().message());
    }
    for (;;) {
      pollfd waiting[] = {{supervisor_.fd(), 0, 0}, {listener.fd(), POLLIN, 0}};
      if (::poll(waiting, 2, kPollEvery) < 0) continue;
      sources_->Poll();
      serving.Check();
      if ((waiting[0].revents & (POLLHUP | POLLERR)) != 0) return;
      if ((waiting[1].revents & POLLIN) == 0) continue;
      auto client = listener.Accept(Deadline::After(milliseconds(0)));
      if (client.ok() && *client) AnswerClient(**client, kernel);
    }
  }

  void AnswerClient(wire::Channel& client, const Channel& kernel) {
    auto user = client.PeerUser();
    if (!user.ok() || (*user != 0 && *user != ::geteuid())) return;
    auto packet = client.Receive(Deadline::After(std::chrono::seconds(5)));
    if (!packet.ok()) return;
    Result<std::string> answer = packet->bytes == "refresh"
                                     ? Refresh(kernel)
                                     : Status::Unsupported("a mount cannot do that");
    std::string bytes = answer.ok() ? '\0' + *answer : ControlAnswer(answer.status());
    (void)client.Send(bytes, {}, Deadline::After(std::chrono::seconds(5)));
  }

  Result<std::string> Refresh(const Channel& kernel) {
    std::vector<Sources::Refreshed> steps;
    Status status = sources_->Refresh(&steps);
    ChangeCounts counts;
    for (const auto& step : steps) TellKernel(kernel, *filesystem_, step, &counts);
    if (!steps.empty()) FB_RETURN_NOT_OK(supervisor_.Send({.say = Say::kSettled}));
    FB_RETURN_NOT_OK(status);
    return fmt::format("{} {} {}", counts.added, counts.changed, counts.removed);
  }

  const ServeOptions& options_;
  SupervisorLink supervisor_;
  std::unique_ptr<Filesystem> filesystem_;
  std::unique_ptr<Sources> sources_;
};

}  // namespace

int Serve(const ServeOptions& options, UniqueFd supervisor) {
  Server server(options, std::move(supervisor));
  Status status = server.Run();
  if (status.code() != StatusCode::kUnavailable) spdlog::error("{}", status.message());
  return 1;
}

}  // namespace forebay::fuse
