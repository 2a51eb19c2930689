#include "cli/main.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/log_level.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

// The parser of the verb that was given, as far as it was: `store ls`, `store`, or `app`.
const CLI::App& Deepest(const CLI::App& app) {
  auto chosen = app.get_subcommands();
  return chosen.empty() ? app : Deepest(*chosen.back());
}

std::string FullName(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : FullName(*parent) + " " + app.get_name();
}

// Why no verb of this parser was chosen.
std::string NoVerb(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) {
    names.push_back(verb->get_name());
  }
  std::string given = app.remaining().empty() ? "" : app.remaining()[0];
  return fmt::format(
      "{}; the verbs of {} are {}",
      given.empty() ? "a verb is missing" : fmt::format("there is no verb '{}'", given),
      FullName(app), fmt::join(names, ", "));
}

// Help goes to stdout and is a success; anything else is one sentence on stderr.
int ReportParse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return app.exit(error);
  }
  const CLI::App& verb = Deepest(app);
  bool lacks_verb = !verb.get_subcommands(nullptr).empty();
  std::string why = lacks_verb ? NoVerb(verb) : error.what();
  Complain(fmt::format("{}; see {} --help", why, FullName(verb)));
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
  try {
    if (Status level = CheckLogLevel(); !level.ok()) return Fail(level);
    InitLog("forebay", spdlog::level::warn);
    return ParseAndRun(argc, argv);
  } catch (const std::exception& error) {
    // Of the standard library or of a parser: out of memory, or a bug.
    Complain(fmt::format("internal error: {}", error.what()));
    return static_cast<int>(ExitCode::kFailure);
  }
}

}  // namespace forebay::cli
