// The exit codes of `forebay`: a promise to scripts, listed in docs/cli.md.
#pragma once

#include "base/status.h"

namespace forebay::cli {

enum class ExitCode : int {
  kOk = 0,
  kFailure = 1,       // a bug of ours, or a fault nobody has a name for
  kUsage = 2,         // the command line, or what it asks for, makes no sense
  kNotFound = 3,      // no such table, column, store or program
  kPermission = 4,    // credentials or modes forbid it
  kChanged = 5,       // the source was overwritten meanwhile
  kCorrupt = 6,       // bytes do not check out
  kFull = 7,          // no room in the store, on the disk or in memory
  kUnavailable = 8,   // try again: network, throttling, a node that went away
  kDeadline = 9,      // time was up
  kUnsupported = 10,  // valid, but Forebay does not do it
  kPartial = 11,      // some files could not be loaded; they are named on stderr
  kCancelled = 12,    // the work was given up
};

// The one place where a status becomes an exit code.
ExitCode ExitCodeOf(StatusCode code);

}  // namespace forebay::cli
