#include "cli/verb.h"

#include <CLI/App.hpp>
#include <utility>
#include <vector>

namespace forebay::cli {

Run DeclareAll(CLI::App& app, std::span<const Verb> verbs) {
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Run>> declared;
  for (const Verb& verb : verbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    declared.emplace_back(sub, verb.declare(*sub));
  }
  return [declared = std::move(declared)]() -> Result<ExitCode> {
    for (const auto& [sub, run] : declared) {
      if (sub->parsed()) return run();
    }
    return Status::Internal("no verb was chosen");
  };
}

}  // namespace forebay::cli
