// forebay warmup URI
#include "cli/warmup.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/size.h"
#include "base/uri.h"
#include "cli/cluster/cluster_warmup.h"
#include "cli/dataset_arguments.h"
#include "cli/output.h"
#include "cli/progress_meter.h"
#include "cli/text_table.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

uint64_t EvictedChunks(const WarmupOutcome& outcome) {
  uint64_t stored = outcome.coverage.chunks_stored;
  return outcome.state.chunks_done > stored ? outcome.state.chunks_done - stored : 0;
}

std::string Plural(uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Result<WarmupOutcome> Warm(const DatasetArguments& arguments) {
  FB_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDataset(arguments));
  WarmupOutcome outcome{
      .uri = RedactUri(dataset.table->uri()), .state = {}, .coverage = {}};
  TimePoint start = Clock::Real().Now();
  {
    ProgressMeter meter(ProgressMeter::Stderr("warmup", "rows"));
    auto report = [&](const wire::WarmupState& state) {
      meter.Update({.done = state.rows_done,
                    .total = state.row_count,
                    .bytes = state.bytes_stored});
    };
    FB_ASSIGN_OR_RETURN(outcome.state, dataset.table->Warmup(dataset.view, report));
  }
  outcome.elapsed = std::chrono::duration_cast<milliseconds>(Clock::Real().Now() - start);
  FB_ASSIGN_OR_RETURN(outcome.coverage, dataset.table->Coverage(dataset.view));
  return outcome;
}

}  // namespace

WarmupVerdict Judge(const WarmupOutcome& outcome) {
  const wire::WarmupState& state = outcome.state;
  WarmupVerdict verdict;
  for (const std::string& failure : state.failures) {
    verdict.messages.push_back("could not load " + failure);
  }
  if (!state.failures.empty() || !state.done || state.rows_done != state.row_count) {
    verdict.code = ExitCode::kPartial;
    verdict.messages.push_back(
        fmt::format("only {} of {} were loaded; run warmup again once the cause is gone",
                    state.rows_done, Plural(state.row_count, "row")));
    return verdict;
  }
  if (uint64_t evicted = EvictedChunks(outcome); evicted > 0) {
    verdict.code = ExitCode::kFull;
    verdict.messages.push_back(fmt::format(
        "the store is smaller than the table: {} of {} left it again while it was "
        "loaded; give --store at least {}, or name fewer --columns",
        evicted, Plural(state.chunk_count, "chunk"), FormatSize(state.bytes_stored)));
  }
  return verdict;
}

nlohmann::ordered_json WarmupJson(const WarmupOutcome& outcome) {
  const wire::WarmupState& state = outcome.state;
  return {{"uri", outcome.uri},
          {"rows", state.rows_done},
          {"row_count", state.row_count},
          {"chunks", state.chunks_done},
          {"chunk_count", state.chunk_count},
          {"evicted_chunks", EvictedChunks(outcome)},
          {"chunk_bytes", state.bytes_stored},
          {"fetched_bytes", state.bytes_fetched},
          {"seconds", static_cast<double>(outcome.elapsed.count()) / 1000},
          {"failures", state.failures}};
}

std::string WarmupText(const WarmupOutcome& outcome) {
  const wire::WarmupState& state = outcome.state;
  return FactList(
      {{"uri", outcome.uri},
       {"rows", fmt::format("{} of {}", state.rows_done, state.row_count)},
       {"chunks", fmt::format("{} of {}", state.chunks_done, state.chunk_count)},
       {"evicted", fmt::format("{} chunks", EvictedChunks(outcome))},
       {"cached", FormatSize(state.bytes_stored)},
       {"fetched", FormatSize(state.bytes_fetched)},
       {"time",
        fmt::format("{:.1f} s", static_cast<double>(outcome.elapsed.count()) / 1000)}});
}

Run DeclareWarmup(CLI::App& app) {
  struct State {
    DatasetArguments dataset;
    std::string head;
    bool wait = false;
    OutputFormat format = OutputFormat::kTable;
  };
  auto state = std::make_shared<State>();
  AddDatasetArguments(app, "1d", &state->dataset);
  AddOutputOption(app, &state->format);
  app.add_option("--head", state->head,
                 "URI is the name of a dataset of this head's cluster: its nodes load it")
      ->option_text("HOST:PORT");
  app.add_flag(
      "--wait", state->wait,
      "with a dataset of a cluster: come back when it is loaded (a table of this "
      "host is always waited for)");
  return [state]() -> Result<ExitCode> {
    if (auto dataset = ClusterDatasetOf(state->dataset.uri, state->head)) {
      return WarmUpInCluster({*dataset, state->wait, state->format});
    }
    FB_ASSIGN_OR_RETURN(WarmupOutcome outcome, Warm(state->dataset));
    bool json = state->format == OutputFormat::kJson;
    Print(json ? ToText(WarmupJson(outcome)) : WarmupText(outcome));
    WarmupVerdict verdict = Judge(outcome);
    for (const std::string& message : verdict.messages) Complain(message);
    return verdict.code;
  };
}

}  // namespace forebay::cli
