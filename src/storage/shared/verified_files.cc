#include "storage/shared/verified_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/unique_fd.h"

namespace forebay::storage {
namespace {

constexpr std::chrono::milliseconds kLockPause{5};
constexpr size_t kHexDigits = 32;
constexpr size_t kLineBytes = 2 * kHexDigits + 2;

std::string LineOf(std::string_view path, std::string_view state) {
  return HashBytes(path).ToHex() + " " + HashBytes(state).ToHex() + "\n";
}

// Whole lines. What is torn by another process matches nothing.
std::vector<std::string> ReadLines(int fd, size_t count_max) {
  std::string text(count_max * kLineBytes, '\0');
  ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  std::vector<std::string> lines;
  for (ssize_t at = 0; at + static_cast<ssize_t>(kLineBytes) <= size; at += kLineBytes) {
    lines.push_back(text.substr(static_cast<size_t>(at), kLineBytes));
  }
  return lines;
}

// Whoever has the lock has it for a moment; where it stays taken (a home folder's server
// lost its holder) nobody waits: a line that is lost costs one more reading. Where locks
// do not work, a line of another process may be lost.
bool LockSoon(int fd, Deadline deadline) {
  for (;;) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return true;
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(kLockPause);
  }
}

}  // namespace

std::string VerifiedFiles::BucketOf(std::string_view path) const {
  return options_.folder + "/" +
         HashBytes(path).ToHex().substr(0, options_.bucket_digits);
}

bool VerifiedFiles::Has(std::string_view path, std::string_view state) const {
  if (options_.folder.empty()) return false;
  UniqueFd fd(::open(BucketOf(path).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return false;
  auto lines = ReadLines(fd.get(), options_.lines_max);
  return std::ranges::find(lines, LineOf(path, state)) != lines.end();
}

void VerifiedFiles::Remember(std::string_view path, std::string_view state) const {
  if (options_.folder.empty()) return;
  UniqueFd fd(::open(BucketOf(path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return;
  if (!LockSoon(fd.get(), Deadline::After(options_.lock_wait))) return;
  std::string line = LineOf(path, state);
  auto lines = ReadLines(fd.get(), options_.lines_max);
  std::erase_if(lines, [&](const std::string& other) {
    return other.starts_with(line.substr(0, kHexDigits));
  });
  std::string text = line;
  for (size_t i = 0; i < std::min(lines.size(), options_.lines_max - 1); ++i) {
    text += lines[i];
  }
  if (::pwrite(fd.get(), text.data(), text.size(), 0) > 0) {
    (void)!::ftruncate(fd.get(), static_cast<off_t>(text.size()));
  }
}

}  // namespace forebay::storage
