// forebay worker HOST PORT: becomes a worker of Kubeflow's data cache. Its head is
// `forebay head HOST PORT`.
#pragma once

#include "cli/verb.h"

namespace forebay::cli {

Run DeclareWorker(CLI::App& app);

}  // namespace forebay::cli
