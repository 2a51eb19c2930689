// The verbs of `forebay`.
#pragma once

#include <span>

#include "cli/verb.h"

namespace forebay::cli {

// In the order that help lists them.
std::span<const Verb> Verbs();

Run DeclareInspect(CLI::App& app);
Run DeclareWarmup(CLI::App& app);
Run DeclarePull(CLI::App& app);
Run DeclarePath(CLI::App& app);
Run DeclareMount(CLI::App& app);
Run DeclareUmount(CLI::App& app);
Run DeclareRefresh(CLI::App& app);
Run DeclareStatus(CLI::App& app);
Run DeclareStore(CLI::App& app);
Run DeclareNode(CLI::App& app);
Run DeclareNodeStop(CLI::App& app);
Run DeclareNodeDrain(CLI::App& app);
Run DeclareNodes(CLI::App& app);
Run DeclareServe(CLI::App& app);
Run DeclareHead(CLI::App& app);
Run DeclareDataset(CLI::App& app);
Run DeclareBench(CLI::App& app);
Run DeclareOrder(CLI::App& app);
Run DeclareVersion(CLI::App& app);

}  // namespace forebay::cli
