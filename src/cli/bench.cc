// forebay bench URI: a quick check of this host. Every pass copies each row once into
// memory of this process, batch by batch: `copy` from plain memory, `sequential` from
// mapped chunks, `global` by gathering. So the ratios say what Forebay costs, and nothing
// about the host.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/size.h"
#include "base/uri.h"
#include "cli/column_bytes.h"
#include "cli/dataset_arguments.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "cli/verbs.h"
#include "cli/warmup.h"
#include "reader/batches/batch_stream.h"

namespace forebay::cli {
namespace {

// Plain memory to copy from; larger than any last-level cache.
constexpr uint64_t kPlainBytes = 512 * kMiB;
// Below this a table lives in the processor's caches and the ratios say little.
constexpr uint64_t kTableBytesMin = 256 * kMiB;

struct Arguments {
  DatasetArguments dataset;
  uint64_t batch_size = 1024;
  uint64_t pass_count = 3;
  uint64_t seed = 0;
  OutputFormat format = OutputFormat::kTable;
};

struct Pass {
  std::string name;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  double seconds = 0;

  double rows_per_second() const { return static_cast<double>(rows) / seconds; }
  double gigabytes_per_second() const {
    return static_cast<double>(bytes) / seconds / 1e9;
  }
};

double SecondsSince(TimePoint start) {
  double seconds = std::chrono::duration<double>(Clock::Real().Now() - start).count();
  return std::max(seconds, 1e-9);
}

// Keeps the compiler from leaving out copies that nobody reads.
void Observe(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

class Scratch {
 public:
  // Copies what a batch slices out of chunks; returns its bytes.
  uint64_t TakeIn(const reader::Batch& batch) {
    uint64_t bytes = 0;
    for (const reader::Column& column : batch.columns) {
      ForEachPiece(column, [&](const uint8_t* data, uint64_t size) {
        if (memory_.size() < bytes + size) memory_.resize((bytes + size) * 2);
        std::memcpy(memory_.data() + bytes, data, size);
        bytes += size;
      });
    }
    Observe(memory_.data());
    return bytes;
  }

 private:
  std::vector<uint8_t> memory_;
};

// Kept from pass to pass, so that all but the first write to pages touched before.
struct Memory {
  std::shared_ptr<reader::BufferPool> pool = reader::BufferPool::Make();
  Scratch scratch;
};

uint64_t BytesOf(const reader::Batch& batch) {
  uint64_t bytes = 0;
  for (const reader::Column& column : batch.columns) {
    ForEachPiece(column, [&](const uint8_t*, uint64_t size) { bytes += size; });
  }
  return bytes;
}

Result<Pass> RunPass(const OpenedDataset& dataset, const Arguments& arguments,
                     plan::OrderMode mode, Memory* memory) {
  reader::BatchOptions options{.columns = dataset.columns,
                               .order = {.mode = mode, .seed = arguments.seed},
                               .shards = {.batch_size = arguments.batch_size,
                                          .remainder = plan::Remainder::kKeep}};
  FB_ASSIGN_OR_RETURN(auto stream, reader::BatchStream::Make(dataset.table, memory->pool,
                                                             std::move(options)));
  Pass pass{.name = std::string(plan::OrderModeName(mode))};
  TimePoint start = Clock::Real().Now();
  for (;;) {
    FB_ASSIGN_OR_RETURN(std::optional<reader::Batch> batch, stream->Next());
    if (!batch) break;
    pass.rows += batch->row_count;
    pass.bytes += mode == plan::OrderMode::kSequential ? memory->scratch.TakeIn(*batch)
                                                       : BytesOf(*batch);
  }
  pass.seconds = SecondsSince(start);
  return pass;
}

// The first pass maps the chunks; the best of the others counts.
Result<Pass> BestPass(const OpenedDataset& dataset, const Arguments& arguments,
                      plan::OrderMode mode) {
  Memory memory;
  FB_ASSIGN_OR_RETURN(Pass best, RunPass(dataset, arguments, mode, &memory));
  for (uint64_t i = 0; i < arguments.pass_count; ++i) {
    FB_ASSIGN_OR_RETURN(Pass pass, RunPass(dataset, arguments, mode, &memory));
    if (i == 0 || pass.seconds < best.seconds) best = std::move(pass);
  }
  return best;
}

// The same bytes as `like`, in as many pieces as it had batches, out of plain memory.
Pass PlainCopy(const Pass& like, const Arguments& arguments) {
  uint64_t batches = (like.rows + arguments.batch_size - 1) / arguments.batch_size;
  uint64_t piece = std::max<uint64_t>(1, like.bytes / std::max<uint64_t>(1, batches));
  piece = std::min(piece, kPlainBytes);
  std::vector<uint8_t> plain(std::clamp(like.bytes, piece, kPlainBytes), 1);
  std::vector<uint8_t> scratch(piece);
  Pass best{.name = "copy", .rows = like.rows};
  for (uint64_t i = 0; i <= arguments.pass_count; ++i) {
    TimePoint start = Clock::Real().Now();
    uint64_t bytes = 0;
    for (uint64_t at = 0; bytes < like.bytes; bytes += piece, at += piece) {
      if (at + piece > plain.size()) at = 0;
      std::memcpy(scratch.data(), plain.data() + at, piece);
      Observe(scratch.data());
    }
    double seconds = SecondsSince(start);
    if (i == 0) continue;
    if (i == 1 || seconds < best.seconds) best.seconds = seconds;
    best.bytes = bytes;
  }
  return best;
}

struct Figures {
  std::string uri;
  Arguments arguments;
  std::vector<Pass> passes;  // the plain copy first

  double OfCopy(const Pass& pass) const {
    return pass.gigabytes_per_second() / passes[0].gigabytes_per_second();
  }
};

void PrintFigures(const Figures& figures) {
  if (figures.arguments.format == OutputFormat::kTable) {
    TextTable table({{"PASS"},
                     {"ROWS/S", Align::kRight},
                     {"GB/S", Align::kRight},
                     {"OF COPY", Align::kRight}});
    for (const Pass& pass : figures.passes) {
      table.Add({pass.name, fmt::format("{:.0f}", pass.rows_per_second()),
                 fmt::format("{:.2f}", pass.gigabytes_per_second()),
                 fmt::format("{:.2f}", figures.OfCopy(pass))});
    }
    return Print(table.ToString());
  }
  auto passes = nlohmann::ordered_json::array();
  for (const Pass& pass : figures.passes) {
    passes.push_back({{"pass", pass.name},
                      {"rows", pass.rows},
                      {"bytes", pass.bytes},
                      {"seconds", pass.seconds},
                      {"rows_per_second", pass.rows_per_second()},
                      {"gb_per_second", pass.gigabytes_per_second()},
                      {"of_copy", figures.OfCopy(pass)}});
  }
  Print(ToText({{"uri", figures.uri},
                {"batch_size", figures.arguments.batch_size},
                {"passes", std::move(passes)}}));
}

Result<ExitCode> Bench(const Arguments& arguments) {
  FB_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDataset(arguments.dataset));
  if (dataset.manifest().row_count() == 0) {
    return Status::Invalid("the table has no rows: there is nothing to measure");
  }
  WarmupOutcome warm{.uri = RedactUri(dataset.table->uri()), .state = {}, .coverage = {}};
  FB_ASSIGN_OR_RETURN(warm.state, dataset.table->Warmup(dataset.view, nullptr));
  FB_ASSIGN_OR_RETURN(warm.coverage, dataset.table->Coverage(dataset.view));
  WarmupVerdict verdict = Judge(warm);
  for (const std::string& message : verdict.messages) Complain(message);
  if (verdict.code != ExitCode::kOk) return verdict.code;
  Figures figures{.uri = warm.uri, .arguments = arguments, .passes = {}};
  FB_ASSIGN_OR_RETURN(Pass sequential,
                      BestPass(dataset, arguments, plan::OrderMode::kSequential));
  FB_ASSIGN_OR_RETURN(Pass global,
                      BestPass(dataset, arguments, plan::OrderMode::kGlobal));
  figures.passes = {PlainCopy(sequential, arguments), sequential, global};
  PrintFigures(figures);
  if (sequential.bytes < kTableBytesMin) {
    Complain(fmt::format(
        "the table has only {}: the processor's caches hold much of it, and the ratios "
        "say little about a large one",
        FormatSize(sequential.bytes)));
  }
  return ExitCode::kOk;
}

}  // namespace

Run DeclareBench(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddDatasetArguments(app, "1d", &arguments->dataset);
  app.add_option("--batch-size", arguments->batch_size, "rows of a batch")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 32).description(""))
      ->option_text("ROWS [1024]");
  app.add_option("--passes", arguments->pass_count, "of which the best counts")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1000}).description(""))
      ->option_text("COUNT [3]");
  app.add_option("--seed", arguments->seed, "of the global order")
      ->option_text("SEED [0]");
  AddOutputOption(app, &arguments->format);
  return [arguments] { return Bench(*arguments); };
}

}  // namespace forebay::cli
