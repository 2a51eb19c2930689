#include "cli/main.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/log.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

// "store ls ", as far as it was given.
std::string VerbOf(const CLI::App& app) {
  std::string verb;
  for (const CLI::App* chosen : app.get_subcommands()) {
    verb += chosen->get_name() + " " + VerbOf(*chosen);
  }
  return verb;
}

// Help goes to stdout and is a success; anything else is one sentence on stderr.
int ReportParse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return app.exit(error);
  }
  Complain(fmt::format("{}; see forebay {}--help", error.what(), VerbOf(app)));
  return static_cast<int>(ExitCode::kUsage);
}

int Fail(const Status& status) {
  Complain(status.message());
  return static_cast<int>(ExitCodeOf(status.code()));
}

int ParseAndRun(int argc, char** argv) {
  CLI::App app("Forebay keeps training data right beside the training processes.",
               "forebay");
  app.set_version_flag("--version", "forebay " FOREBAY_VERSION);
  Run run = DeclareAll(app, Verbs());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportParse(app, error);
  }
  Result<ExitCode> code = run();
  Status written = FlushData();
  if (!code.ok()) return Fail(code.status());
  if (!written.ok()) return Fail(written);
  return static_cast<int>(*code);
}

}  // namespace

int Main(int argc, char** argv) {
  InitLog("forebay", spdlog::level::warn);
  try {
    return ParseAndRun(argc, argv);
  } catch (const std::exception& error) {
    // Of the standard library or of a parser: out of memory, or a bug.
    Complain(fmt::format("internal error: {}", error.what()));
    return static_cast<int>(ExitCode::kFailure);
  }
}

}  // namespace forebay::cli
