// Who uses what in a shared directory, and making room in it.
#pragma once

#include <string>

#include "cli/output.h"
#include "cli/verb.h"

namespace forebay::cli {

struct SharedGcArguments {
  std::string directory;
  std::string keep_free;  // "10%", "50GiB"; empty: only debris goes
  std::string grace;      // "10m"; empty: the default
  OutputFormat format = OutputFormat::kTable;
};
Result<ExitCode> CollectShared(const SharedGcArguments& arguments);

Run DeclareStoreUsage(CLI::App& app);

}  // namespace forebay::cli
