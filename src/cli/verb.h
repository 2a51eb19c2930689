// What a verb is. Every verb is one file; verbs.cc has the table of all of them.
#pragma once

#include <functional>
#include <span>

#include "base/status.h"
#include "cli/exit_code.h"

namespace CLI {
class App;
}

namespace forebay::cli {

// Runs after the command line was parsed. A status is printed by the caller, as one
// sentence; an exit code means that the verb has said all there is to say.
using Run = std::function<Result<ExitCode>()>;

struct Verb {
  const char* name;
  const char* summary;
  // Adds options to the verb's own parser and returns what to run with them.
  Run (*declare)(CLI::App& app);
};

// Makes each verb a subcommand of `app`, of which exactly one must be given; returns what
// runs that one.
Run DeclareAll(CLI::App& app, std::span<const Verb> verbs);

}  // namespace forebay::cli
