#include "storage/temp_name.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "base/hash.h"

namespace forebay::storage {
namespace {

std::string ReadSmallFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

uint64_t HostToken() {
  std::string text = ReadSmallFile("/proc/sys/kernel/random/boot_id");
  char pid_namespace[64] = {};
  ssize_t size = readlink("/proc/self/ns/pid", pid_namespace, sizeof(pid_namespace));
  if (size > 0) text.append(pid_namespace, static_cast<size_t>(size));
  if (text.empty()) {
    char name[256] = {};
    gethostname(name, sizeof(name) - 1);
    text = name;
  }
  return HashBytes(text).low;
}

// Field 22 of /proc/PID/stat, counted after the command, which may hold spaces.
std::optional<uint64_t> StartOf(int64_t pid) {
  std::string stat = ReadSmallFile(fmt::format("/proc/{}/stat", pid));
  size_t at = stat.rfind(')');
  if (at == stat.npos) return std::nullopt;
  for (int field = 2; field < 22; ++field) {
    at = stat.find(' ', at + 1);
    if (at == stat.npos) return std::nullopt;
  }
  return std::strtoull(stat.c_str() + at + 1, nullptr, 10);
}

}  // namespace

ProcessIdentity ProcessIdentity::Self() {
  static const uint64_t host = HostToken();
  int64_t pid = getpid();
  return {.host = host, .pid = pid, .start = StartOf(pid).value_or(0)};
}

bool ProcessIdentity::MayBeAlive() const {
  ProcessIdentity self = Self();
  if (host != self.host) return true;
  if (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return false;
  auto now_there = StartOf(pid);
  return !now_there || *now_there == start;
}

std::string TempName::ToString() const {
  return fmt::format("{:016x}-{}-{}-{:016x}-{}-{}", owner.host, owner.pid, owner.start,
                     store, number, claimed_bytes);
}

std::optional<TempName> TempName::Parse(std::string_view text) {
  TempName name;
  std::string terminated(text);
  int fields = std::sscanf(terminated.c_str(),
                           "%16" SCNx64 "-%" SCNd64 "-%" SCNu64 "-%16" SCNx64 "-%" SCNu64
                           "-%" SCNu64,
                           &name.owner.host, &name.owner.pid, &name.owner.start,
                           &name.store, &name.number, &name.claimed_bytes);
  if (fields != 6 || name.ToString() != text) return std::nullopt;
  return name;
}

uint64_t RandomNonce() {
  uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce)) {
    // Names must only differ between stores; creation with O_EXCL catches the rest.
    nonce = HashBytes(fmt::format("{}", reinterpret_cast<uintptr_t>(&nonce))).low;
  }
  return nonce;
}

}  // namespace forebay::storage
