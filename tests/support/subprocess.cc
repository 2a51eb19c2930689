#include "support/subprocess.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "base/errno_status.h"
#include "base/unique_fd.h"

namespace forebay::testing_support {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> env;
  for (char** e = environ; *e != nullptr; ++e) {
    std::string entry = *e;
    if (!added.contains(entry.substr(0, entry.find('=')))) env.push_back(entry);
  }
  for (const auto& [name, value] : added) env.push_back(name + "=" + value);
  return env;
}

// Between fork and exec: only async-signal-safe calls.
[[noreturn]] void Exec(char** argv, char** env, int output, const char* folder) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(output, 1);
  ::dup2(output, 2);
  if (*folder != '\0' && ::chdir(folder) != 0) ::_exit(126);
  ::execvpe(argv[0], argv, env);
  ::_exit(127);
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

Result<Subprocess> Subprocess::Start(const Options& options) {
  std::vector<std::string> argv_text = options.argv;
  std::vector<std::string> env_text = Environment(options.env);
  std::vector<char*> argv = Pointers(argv_text);
  std::vector<char*> env = Pointers(env_text);
  const char* file =
      options.output_file.empty() ? "/dev/null" : options.output_file.c_str();
  UniqueFd output(::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!output.valid()) return ErrnoStatus(errno, file);
  pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid == 0) Exec(argv.data(), env.data(), output.get(), options.folder.c_str());
  Subprocess process;
  process.pid_ = pid;
  return process;
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)) {}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, -1);
  }
  return *this;
}

bool Subprocess::running() {
  if (pid_ < 0) return false;
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return true;
  pid_ = -1;
  return false;
}

void Subprocess::Kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  Wait();
}

int Subprocess::Wait() {
  if (pid_ < 0) return -1;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Status RunCommand(const Subprocess::Options& options) {
  FB_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(options));
  int code = process.Wait();
  if (code == 0) return Status::OK();
  return Status::Internal(options.argv[0] + " exited with " + std::to_string(code));
}

int FreePort() {
  static std::mutex mutex;
  static std::mt19937 random(std::random_device{}());
  static std::vector<UniqueFd> held;  // their locks end with this process
  std::lock_guard lock(mutex);
  auto folder = std::filesystem::temp_directory_path() /
                ("forebay-test-ports-" + std::to_string(::getuid()));
  std::filesystem::create_directories(folder);
  while (true) {
    int port = std::uniform_int_distribution<int>(20'000, 31'999)(random);
    std::string path = folder / std::to_string(port);
    UniqueFd claim(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    FB_CHECK(claim.get() >= 0);
    if (::flock(claim.get(), LOCK_EX | LOCK_NB) != 0) continue;
    UniqueFd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = Loopback(port);
    if (::bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) !=
        0) {
      continue;
    }
    held.push_back(std::move(claim));
    return port;
  }
}

bool WaitForPort(int port, std::chrono::milliseconds timeout) {
  auto end = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < end) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = Loopback(port);
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) ==
        0) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

}  // namespace forebay::testing_support
