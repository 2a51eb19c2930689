#include "base/errno_status.h"

#include <cerrno>
#include <system_error>

namespace forebay {

StatusCode CodeFromErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS: return StatusCode::kPermission;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return StatusCode::kFull;
    case EINVAL:
    case ENAMETOOLONG:
    case EISDIR: return StatusCode::kInvalid;
    case EAGAIN:
    case ESTALE:  // a file server's: the next look may go well
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENETUNREACH:
    case EHOSTUNREACH: return StatusCode::kUnavailable;
    case ETIMEDOUT: return StatusCode::kDeadline;
    default: return StatusCode::kInternal;
  }
}

Status ErrnoStatus(int error, std::string_view what) {
  return {CodeFromErrno(error),
          std::string(what) + ": " + std::generic_category().message(error)};
}

}  // namespace forebay
