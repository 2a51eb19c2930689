// Status and Result: how every fallible call of Forebay reports. Arrow-free, so that the
// reader side can use it; Arrow's statuses become ours in base/arrow_status.h.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace forebay {

// A code exists only if a caller acts on it. The numbers travel in the reader protocol.
enum class StatusCode : int {
  kOk = 0,
  kInvalid = 1,      // the caller asked for something that makes no sense
  kNotFound = 2,     // the named thing is not there
  kPermission = 3,   // credentials or modes forbid it; never falls back, never retried
  kChanged = 4,      // the source object is no longer the one that was pinned
  kCorrupt = 5,      // bytes do not check out
  kFull = 6,         // no room: disk, quota, memory cap
  kUnavailable = 7,  // try again: network, throttling, a node that went away
  kDeadline = 8,     // time was up
  kUnsupported = 9,  // valid, but Forebay does not do it
  kCancelled = 10,   // the caller gave up
  kInternal = 11,    // our bug, or a fault nobody has a name for
};

std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  static Status OK() { return {}; }
  static Status Invalid(std::string m) { return {StatusCode::kInvalid, std::move(m)}; }
  static Status NotFound(std::string m) { return {StatusCode::kNotFound, std::move(m)}; }
  static Status Permission(std::string m) {
    return {StatusCode::kPermission, std::move(m)};
  }
  static Status Changed(std::string m) { return {StatusCode::kChanged, std::move(m)}; }
  static Status Corrupt(std::string m) { return {StatusCode::kCorrupt, std::move(m)}; }
  static Status Full(std::string m) { return {StatusCode::kFull, std::move(m)}; }
  static Status Unavailable(std::string m) {
    return {StatusCode::kUnavailable, std::move(m)};
  }
  static Status Deadline(std::string m) { return {StatusCode::kDeadline, std::move(m)}; }
  static Status Unsupported(std::string m) {
    return {StatusCode::kUnsupported, std::move(m)};
  }
  static Status Cancelled(std::string m) {
    return {StatusCode::kCancelled, std::move(m)};
  }
  static Status Internal(std::string m) { return {StatusCode::kInternal, std::move(m)}; }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  std::string ToString() const;

  // The same code with `context` before the message: "context: message".
  Status WithContext(std::string_view context) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline bool operator==(const Status& a, const Status& b) {
  return a.code() == b.code() && a.message() == b.message();
}
std::ostream& operator<<(std::ostream& os, const Status& status);

// True where the same call may succeed later with nothing else changed.
bool IsRetryable(const Status& status);

// Prints the status and aborts.
[[noreturn]] void Die(const Status& status);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT
    if (status_.ok()) status_ = Status::Internal("a Result was made from an OK status");
  }
  template <typename U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::decay_t<U>, T> &&
             !std::is_same_v<std::decay_t<U>, Status> &&
             !std::is_same_v<std::decay_t<U>, Result<T>>)
  Result(U&& value) : value_(std::forward<U>(value)) {}  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  const T& operator*() const& { return *value_; }
  T& operator*() & { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  const T* operator->() const { return &*value_; }
  T* operator->() { return &*value_; }

  // Aborts with the status when there is no value: for tests and mains.
  T& ValueOrDie() & {
    if (!ok()) Die(status_);
    return *value_;
  }
  T ValueOrDie() && {
    if (!ok()) Die(status_);
    return *std::move(value_);
  }

 private:
  Status status_;
  std::optional<T> value_;
};

// For our own bugs only: prints the condition and aborts.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

}  // namespace forebay

#define FB_CONCAT_INNER(a, b) a##b
#define FB_CONCAT(a, b) FB_CONCAT_INNER(a, b)

#define FB_RETURN_NOT_OK(expr)               \
  do {                                       \
    ::forebay::Status fb_status_ = (expr);   \
    if (!fb_status_.ok()) return fb_status_; \
  } while (false)

#define FB_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return tmp.status();             \
  lhs = *std::move(tmp)

#define FB_ASSIGN_OR_RETURN(lhs, expr) \
  FB_ASSIGN_OR_RETURN_INNER(FB_CONCAT(fb_result_, __LINE__), lhs, expr)

#define FB_CHECK(condition) \
  ((condition) ? void(0) : ::forebay::CheckFailed(#condition, __FILE__, __LINE__))
