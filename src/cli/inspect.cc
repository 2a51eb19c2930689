// forebay inspect URI
#include "cli/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/size.h"
#include "base/uri.h"
#include "cli/dataset_arguments.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

const char* FormatName(model::FileFormat format) {
  switch (format) {
    case model::FileFormat::kParquet: return "parquet";
    case model::FileFormat::kIpcFile: return "arrow";
    case model::FileFormat::kIpcStream: return "arrow stream";
    case model::FileFormat::kOrc: return "orc";
    case model::FileFormat::kAvro: return "avro";
  }
  return "unknown";
}

// Of all objects: most tables have one format, Iceberg tables may have several.
std::string Formats(const model::Manifest& manifest) {
  std::set<std::string> names;
  for (const model::ObjectRecord& object : manifest.objects()) {
    names.insert(FormatName(object.format));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

uint64_t SourceBytes(const model::Manifest& manifest) {
  uint64_t bytes = 0;
  for (const model::ObjectRecord& object : manifest.objects()) {
    bytes += static_cast<uint64_t>(object.size);
  }
  return bytes;
}

// Units in which the column is a chunk of its own.
uint64_t WideUnits(const model::Manifest& manifest, uint32_t column) {
  uint64_t count = 0;
  for (uint32_t unit = 0; unit < manifest.units().size(); ++unit) {
    count += manifest.IsWide(unit, column) ? 1 : 0;
  }
  return count;
}

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 100.0
                    : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Result<Inspection> Inspect(const DatasetArguments& arguments) {
  FB_ASSIGN_OR_RETURN(OpenedDataset dataset, OpenDataset(arguments));
  Inspection inspection{.uri = RedactUri(dataset.table->uri()),
                        .manifest = dataset.table->manifest(),
                        .columns = dataset.columns,
                        .cached = {}};
  FB_ASSIGN_OR_RETURN(inspection.cached, dataset.table->Coverage(dataset.view));
  FB_ASSIGN_OR_RETURN(inspection.node_pid, dataset.table->NodePid());
  return inspection;
}

}  // namespace

nlohmann::ordered_json InspectionJson(const Inspection& inspection) {
  const model::Manifest& manifest = *inspection.manifest;
  auto columns = nlohmann::ordered_json::array();
  for (uint32_t column : inspection.columns) {
    const model::Field& field = manifest.schema().fields[column];
    columns.push_back({{"name", field.name},
                       {"type", model::TypeName(field)},
                       {"nullable", field.nullable},
                       {"wide_units", WideUnits(manifest, column)}});
  }
  return {{"uri", inspection.uri},
          {"version", manifest.version().ToHex()},
          {"format", Formats(manifest)},
          {"rows", manifest.row_count()},
          {"files", manifest.objects().size()},
          {"source_bytes", SourceBytes(manifest)},
          {"units", manifest.units().size()},
          {"ranges", manifest.ranges().size()},
          {"columns", std::move(columns)},
          {"cached",
           {{"rows", inspection.cached.rows_stored},
            {"chunks", inspection.cached.chunks_stored},
            {"chunk_count", inspection.cached.chunk_count}}},
          {"node_pid", inspection.node_pid}};
}

std::string InspectionText(const Inspection& inspection) {
  const model::Manifest& manifest = *inspection.manifest;
  const wire::Coverage& cached = inspection.cached;
  std::string out =
      FactList({{"uri", inspection.uri},
                {"version", manifest.version().ToHex()},
                {"format", Formats(manifest)},
                {"rows", fmt::format("{}", manifest.row_count())},
                {"files", fmt::format("{} ({})", manifest.objects().size(),
                                      FormatSize(SourceBytes(manifest)))},
                {"units", fmt::format("{}", manifest.units().size())},
                {"ranges", fmt::format("{}", manifest.ranges().size())},
                {"cached", fmt::format("{:.1f} %: {} of {} rows, {} of {} chunks",
                                       Percent(cached.rows_stored, manifest.row_count()),
                                       cached.rows_stored, manifest.row_count(),
                                       cached.chunks_stored, cached.chunk_count)}});
  TextTable columns({{"COLUMN"}, {"TYPE"}, {"NULLABLE"}, {"WIDE"}});
  for (uint32_t column : inspection.columns) {
    const model::Field& field = manifest.schema().fields[column];
    columns.Add({field.name, model::TypeName(field), field.nullable ? "yes" : "no",
                 WideUnits(manifest, column) > 0 ? "yes" : "no"});
  }
  return out + "\n" + columns.ToString();
}

Run DeclareInspect(CLI::App& app) {
  struct State {
    DatasetArguments dataset;
    OutputFormat format = OutputFormat::kTable;
  };
  auto state = std::make_shared<State>();
  AddDatasetArguments(app, "10m", &state->dataset);
  AddOutputOption(app, &state->format);
  return [state]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(Inspection inspection, Inspect(state->dataset));
    bool json = state->format == OutputFormat::kJson;
    Print(json ? ToText(InspectionJson(inspection)) : InspectionText(inspection));
    return ExitCode::kOk;
  };
}

}  // namespace forebay::cli
