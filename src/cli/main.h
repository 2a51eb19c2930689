// The command line of Forebay: parses, runs one verb, reports.
#pragma once

namespace forebay::cli {

// Data goes to stdout, everything else to stderr. Returns an exit code (exit_code.h).
int Main(int argc, char** argv);

}  // namespace forebay::cli
