#include "cli/exit_code.h"

namespace forebay::cli {

ExitCode ExitCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return ExitCode::kOk;
    case StatusCode::kInvalid: return ExitCode::kUsage;
    case StatusCode::kNotFound: return ExitCode::kNotFound;
    case StatusCode::kPermission: return ExitCode::kPermission;
    case StatusCode::kChanged: return ExitCode::kChanged;
    case StatusCode::kCorrupt: return ExitCode::kCorrupt;
    case StatusCode::kFull: return ExitCode::kFull;
    case StatusCode::kUnavailable: return ExitCode::kUnavailable;
    case StatusCode::kDeadline: return ExitCode::kDeadline;
    case StatusCode::kUnsupported: return ExitCode::kUnsupported;
    case StatusCode::kCancelled: return ExitCode::kCancelled;
    case StatusCode::kInternal: return ExitCode::kFailure;
  }
  return ExitCode::kFailure;
}

}  // namespace forebay::cli
