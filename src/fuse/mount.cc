#include "fuse/mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/errno_status.h"
#include "base/read_to_end.h"
#include "fuse/channel.h"
#include "fuse/mount_table.h"
#include "wire/channel.h"

extern char** environ;

namespace forebay::fuse {
namespace {

constexpr const char* kDevice = "/dev/fuse";
constexpr const char* kMounter = "fusermount3";
// 1 MiB per request, the most that kernels allow unless told otherwise.
constexpr uint16_t kPagesMax = 256;
constexpr uint16_t kBackgroundMax = 256;
constexpr uint32_t kReadAheadKiB = 4096;

std::string InOneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

// The program from PATH with these words; its error is what it said.
Status RunMounter(const std::vector<std::string>& words, int comm_fd) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::string variable = fmt::format("_FUSE_COMMFD={}", comm_fd);
  std::vector<char*> variables;
  for (char** at = environ; *at != nullptr; ++at) variables.push_back(*at);
  if (comm_fd >= 0) variables.push_back(variable.data());
  variables.push_back(nullptr);
  std::array<int, 2> ends;
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe");
  UniqueFd said(ends[0]);
  UniqueFd its_stderr(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, its_stderr.get(), STDERR_FILENO);
  pid_t pid = 0;
  int error =
      ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  its_stderr.Reset();
  if (error == ENOENT) {
    return Status::NotFound(
        "without root a mount needs the program fusermount3; install the package fuse3");
  }
  if (error != 0) return ErrnoStatus(error, fmt::format("start {}", kMounter));
  std::string text = InOneLine(ReadToEnd(said.get()));
  int code = 0;
  while (::waitpid(pid, &code, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, fmt::format("wait for {}", kMounter));
  }
  if (WIFEXITED(code) && WEXITSTATUS(code) == 0) return Status::OK();
  return Status::Permission(text.empty() ? fmt::format("{} failed", kMounter) : text);
}

// Commas would end the option.
std::string WithoutCommas(std::string text) {
  std::ranges::replace(text, ',', ' ');
  return text;
}

Result<UniqueFd> MountByHelper(const MountOptions& options) {
  std::array<int, 2> ends;
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
    return ErrnoStatus(errno, "make a pair of sockets");
  }
  UniqueFd theirs(ends[0]);
  wire::Channel ours{UniqueFd(ends[1])};
  ::fcntl(ours.fd(), F_SETFD, FD_CLOEXEC);
  std::string text = "ro,nosuid,nodev,default_permissions,subtype=forebay,fsname=" +
                     WithoutCommas(options.name) +
                     (options.allow_other ? ",allow_other" : "");
  FB_RETURN_NOT_OK(
      RunMounter({kMounter, "-o", text, "--", options.directory}, theirs.get()));
  theirs.Reset();
  FB_ASSIGN_OR_RETURN(wire::Packet packet,
                      ours.Receive(Deadline::After(std::chrono::seconds(10))));
  if (packet.fds.size() != 1) return Status::Corrupt("fusermount3 sent no descriptor");
  return std::move(packet.fds[0]);
}

Result<UniqueFd> MountByHand(const MountOptions& options) {
  UniqueFd fd(::open(kDevice, O_RDWR | O_CLOEXEC));
  if (!fd.valid()) {
    return ErrnoStatus(errno, "open /dev/fuse, which every mount needs");
  }
  std::string data = fmt::format(
      "fd={},rootmode=40000,user_id={},group_id={},default_permissions{}", fd.get(),
      ::geteuid(), ::getegid(), options.allow_other ? ",allow_other" : "");
  if (::mount(options.name.c_str(), options.directory.c_str(), kFilesystemType,
              MS_RDONLY | MS_NOSUID | MS_NODEV, data.c_str()) != 0) {
    if (errno == ENOTDIR) {
      return Status::Invalid(options.directory +
                             " is not a folder: give one to mount at");
    }
    return ErrnoStatus(errno, "mount at " + options.directory);
  }
  return fd;
}

}  // namespace

Result<UniqueFd> Mount(const MountOptions& options) {
  if (::geteuid() != 0) return MountByHelper(options);
  auto mounted = MountByHand(options);
  // Root of a container may lack the right and have the helper.
  bool forbidden = !mounted.ok() && mounted.status().code() == StatusCode::kPermission;
  if (forbidden && ::access(kDevice, R_OK | W_OK) == 0) {
    auto helped = MountByHelper(options);
    if (helped.ok()) return helped;
  }
  return mounted;
}

Status Unmount(const std::string& directory, bool lazy) {
  if (::umount2(directory.c_str(), UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0) {
    return Status::OK();
  }
  int error = errno;
  if (error == EBUSY) {
    return Status::Unavailable(directory +
                               " is in use: end what has files open there, or give "
                               "--lazy");
  }
  if (error == EINVAL) return Status::NotFound("nothing is mounted at " + directory);
  if (error != EPERM) return ErrnoStatus(error, "unmount " + directory);
  std::vector<std::string> words = {kMounter, "-u"};
  if (lazy) words.emplace_back("-z");
  words.push_back("--");
  words.push_back(directory);
  return RunMounter(words, -1);
}

kernel::InitOut AnswerTo(const fuse_init_in& in, bool privileged, Agreement* agreement) {
  uint64_t offered = in.flags;
  if ((offered & kernel::kInitExtended) != 0) {
    offered |= uint64_t{in.flags2} << 32;
  }
  // The inodes of a mount never change: the kernel keeps what it has of them.
  uint64_t wanted =
      FUSE_ASYNC_READ | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | FUSE_ASYNC_DIO |
      FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES | FUSE_NO_OPEN_SUPPORT |
      FUSE_NO_OPENDIR_SUPPORT | FUSE_EXPLICIT_INVAL_DATA | FUSE_CACHE_SYMLINKS |
      kernel::kInitExtended | kernel::kDirectIoAllowMmap | kernel::kHasResend;
  if (privileged) wanted |= kernel::kPassthrough;
  agreement->kernel_minor = in.minor;
  agreement->flags = offered & wanted;
  kernel::InitOut out{};
  out.major = FUSE_KERNEL_VERSION;
  out.minor = kernel::kMinor;
  out.max_readahead = std::max<uint32_t>(in.max_readahead, kReadAheadKiB * 1024);
  out.flags = static_cast<uint32_t>(agreement->flags);
  out.flags2 = static_cast<uint32_t>(agreement->flags >> 32);
  out.max_background = kBackgroundMax;
  out.congestion_threshold = kBackgroundMax / 4 * 3;
  out.max_write = 4096;  // nothing is written; the least the kernel takes
  out.time_gran = 1;
  out.max_pages = kPagesMax;
  // A store on a plain file system: one on an overlay is read through us.
  out.max_stack_depth = agreement->passthrough() ? 1 : 0;
  return out;
}

Result<Agreement> Greet(int fuse_fd, bool privileged) {
  std::vector<char> buffer(kRequestBytesMax);
  Channel channel(fuse_fd);
  FB_ASSIGN_OR_RETURN(std::string_view bytes, channel.Receive(buffer));
  fuse_in_header header{};
  fuse_init_in in{};
  if (bytes.size() < sizeof(header) + 16) {
    return Status::Unavailable("the mount was taken away before it began");
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes.remove_prefix(sizeof(header));
  std::memcpy(&in, bytes.data(), std::min(sizeof(in), bytes.size()));
  if (header.opcode != FUSE_INIT || in.major != FUSE_KERNEL_VERSION ||
      in.minor < kernel::kMinorMin) {
    channel.Fail(header.unique, EPROTO);
    return Status::Unsupported(fmt::format(
        "this kernel speaks FUSE {}.{}; mounts need 7.{} (Linux 5.4) or newer", in.major,
        in.minor, kernel::kMinorMin));
  }
  Agreement agreement;
  kernel::InitOut out = AnswerTo(in, privileged, &agreement);
  channel.Answer(header.unique,
                 std::string_view(reinterpret_cast<const char*>(&out), sizeof(out)));
  return agreement;
}

Result<UniqueFd> Clone(int fuse_fd) {
  UniqueFd fd(::open(kDevice, O_RDWR | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "open /dev/fuse once more");
  auto from = static_cast<uint32_t>(fuse_fd);
  if (::ioctl(fd.get(), kernel::kIoctlClone, &from) != 0) {
    return ErrnoStatus(errno, "clone a descriptor of the mount");
  }
  return fd;
}

Status Resend(int fuse_fd) { return Channel(fuse_fd).Notify(kernel::kNotifyResend, {}); }

bool IsOver(int fuse_fd) {
  pollfd one{fuse_fd, 0, 0};
  return ::poll(&one, 1, 0) > 0 && (one.revents & (POLLERR | POLLNVAL)) != 0;
}

void RaiseReadAhead(const std::string& directory) {
  auto entry = MountAt(directory);
  if (!entry.ok() || !*entry) return;
  std::ofstream file(fmt::format("/sys/class/bdi/{}/read_ahead_kb", (*entry)->device));
  file << kReadAheadKiB;
}

}  // namespace forebay::fuse
