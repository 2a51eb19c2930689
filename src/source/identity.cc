#include "source/identity.h"

#include <algorithm>
#include <string>
#include <thread>

#include "base/uri.h"

namespace forebay::source {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kSettledNanos = 2 * kNanosPerSecond;
// The clock may be a fake one that another thread moves, so it is asked often.
constexpr int64_t kWaitStepNanos = 20'000'000;

int64_t Nanos(const struct timespec& t) { return t.tv_sec * kNanosPerSecond + t.tv_nsec; }

// ctime moves with every write and cannot be set by hand; only where there is none
// (HDFS) mtime speaks.
int64_t LastChange(const model::ObjectIdentity& identity) {
  return identity.ctime_ns != 0 ? identity.ctime_ns : identity.mtime_ns;
}

}  // namespace

model::ObjectIdentity FileIdentity(const struct stat& st) {
  model::ObjectIdentity identity;
  identity.size = st.st_size;
  identity.mtime_ns = Nanos(st.st_mtim);
  identity.ctime_ns = Nanos(st.st_ctim);
  identity.inode = st.st_ino;
  return identity;
}

std::string StrongEtag(std::string_view header) {
  if (header.starts_with("W/") || header.starts_with("w/")) return {};
  if (header.size() >= 2 && header.front() == '"' && header.back() == '"') {
    header = header.substr(1, header.size() - 2);
  }
  return std::string(header);
}

std::string QuoteEtag(std::string_view etag) { return '"' + std::string(etag) + '"'; }

Status ChangedStatus(const model::Object& object) {
  return Status::Changed("source changed: " + RedactUri(object.uri) +
                         " is no longer the object that was pinned; open the dataset "
                         "again to read its new version");
}

Status DeadlineStatus(std::string_view doing) {
  return Status::Deadline("time was up while " + std::string(doing));
}

Status CheckRange(const model::Object& object, int64_t offset, size_t size) {
  if (offset >= 0 && offset <= object.identity.size &&
      size <= static_cast<uint64_t>(object.identity.size - offset)) {
    return Status::OK();
  }
  return Status::Invalid("read past the end: " + RedactUri(object.uri) + " offset=" +
                         std::to_string(offset) + " length=" + std::to_string(size) +
                         " size=" + std::to_string(object.identity.size));
}

Status WaitUntilSettled(const std::vector<model::Object>& objects, const Clock& clock,
                        Deadline deadline) {
  int64_t now = clock.WallNanos();
  int64_t until = now;
  for (const model::Object& object : objects) {
    // Web servers have clocks of their own, by which their source has waited.
    bool web = object.uri.starts_with("http://") || object.uri.starts_with("https://");
    if (web || !object.identity.etag.empty()) continue;
    // A change in the future is another host's clock: it happened by now.
    int64_t change = std::min(LastChange(object.identity), now);
    until = std::max(until, change + kSettledNanos);
  }
  while (now < until) {
    if (deadline.passed()) return DeadlineStatus("waiting for fresh files to settle");
    auto step = std::chrono::nanoseconds(std::min(until - now, kWaitStepNanos));
    SleepFor(std::chrono::ceil<milliseconds>(step), deadline);
    now = clock.WallNanos();
  }
  return Status::OK();
}

}  // namespace forebay::source
