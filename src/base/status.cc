#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace forebay {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kInvalid: return "invalid";
    case StatusCode::kNotFound: return "not found";
    case StatusCode::kPermission: return "permission denied";
    case StatusCode::kChanged: return "source changed";
    case StatusCode::kCorrupt: return "corrupt";
    case StatusCode::kFull: return "no room";
    case StatusCode::kUnavailable: return "unavailable";
    case StatusCode::kDeadline: return "deadline passed";
    case StatusCode::kUnsupported: return "not supported";
    case StatusCode::kCancelled: return "cancelled";
    case StatusCode::kInternal: return "internal error";
  }
  return "unknown";
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return std::string(StatusCodeName(code_)) + ": " + message_;
}

Status Status::WithContext(std::string_view context) const {
  if (ok()) return *this;
  return {code_, std::string(context) + ": " + message_};
}

std::ostream& operator<<(std::ostream& os, const Status& status) {
  return os << status.ToString();
}

bool IsRetryable(const Status& status) {
  return status.code() == StatusCode::kUnavailable;
}

void Die(const Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace forebay
