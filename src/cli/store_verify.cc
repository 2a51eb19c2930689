// forebay store verify DIR
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/size.h"
#include "cli/output.h"
#include "cli/progress_meter.h"
#include "cli/store.h"
#include "cli/text_table.h"

namespace forebay::cli {
namespace {

struct Bad {
  std::string key;
  std::string why;
};

struct Verification {
  storage::VerifyReport report;
  std::vector<Bad> bad;
};

Verification Verify(storage::Store& store) {
  uint64_t total = 0;
  store.List([&](const storage::ListedChunk&) { ++total; });
  Verification verification;
  ProgressMeter meter(ProgressMeter::Stderr("verify", "chunks"));
  Progress progress{.total = total};
  verification.report =
      store.VerifyAll([&](const storage::ListedChunk& chunk, const Status& status) {
        ++progress.done;
        progress.bytes += chunk.name.size;
        meter.Update(progress);
        if (status.ok()) return;
        verification.bad.push_back({chunk.name.key.ToHex(), status.message()});
      });
  return verification;
}

void PrintVerification(const Verification& verification, OutputFormat format) {
  const storage::VerifyReport& report = verification.report;
  if (format == OutputFormat::kTable) {
    Print(FactList({{"chunks", fmt::format("{}", report.chunk_count)},
                    {"bytes", FormatSize(report.bytes)},
                    {"corrupt", fmt::format("{}", report.corrupt)}}));
    return;
  }
  auto bad = nlohmann::ordered_json::array();
  for (const Bad& chunk : verification.bad) {
    bad.push_back({{"key", chunk.key}, {"why", chunk.why}});
  }
  Print(ToText({{"chunk_count", report.chunk_count},
                {"bytes", report.bytes},
                {"corrupt", report.corrupt},
                {"bad", std::move(bad)}}));
}

}  // namespace

Run DeclareStoreVerify(CLI::App& app) {
  struct State {
    std::string directory;
    OutputFormat format = OutputFormat::kTable;
  };
  auto state = std::make_shared<State>();
  AddStoreDirectory(app, &state->directory);
  AddOutputOption(app, &state->format);
  return [state]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(auto store, OpenStore({.directory = state->directory,
                                               .mode = storage::OpenMode::kExisting}));
    Verification verification = Verify(*store);
    PrintVerification(verification, state->format);
    for (const Bad& chunk : verification.bad) {
      Complain(fmt::format("chunk {}: {}", chunk.key, chunk.why));
    }
    if (verification.report.corrupt > 0) {
      return Status::Corrupt(fmt::format(
          "{} of {} chunks are corrupt and no longer served; they are in {}/quarantine "
          "and will be read from the source again",
          verification.report.corrupt, verification.report.chunk_count,
          state->directory));
    }
    // Not corrupt, but could not be read either: no memory, say.
    return verification.bad.empty() ? ExitCode::kOk : ExitCode::kFailure;
  };
}

}  // namespace forebay::cli
