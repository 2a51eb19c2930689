// forebay store usage DIR, and `gc` of a shared directory
#include "cli/files/store_usage.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/size.h"
#include "cli/duration.h"
#include "cli/files/shared_files.h"
#include "cli/output.h"
#include "cli/store.h"
#include "cli/text_table.h"

namespace forebay::cli {
namespace {

struct Usage {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t uses = 0;
  uint64_t pinned = 0;
  int64_t last_use_ns = 0;
};
using Usages = std::map<std::string, Usage>;

Result<Usages> UsageOfShared(const std::string& directory) {
  FB_ASSIGN_OR_RETURN(auto shared, OpenShared(directory, /*create=*/false));
  FB_ASSIGN_OR_RETURN(auto entries, shared->List());
  Usages usages;
  for (const storage::SharedEntry& entry : entries) {
    Usage& usage = usages[entry.dataset];
    ++usage.files;
    usage.bytes += entry.name.size;
    usage.uses += entry.uses;
    usage.pinned += entry.pinned ? 1 : 0;
    usage.last_use_ns = std::max(usage.last_use_ns, entry.last_use_ns);
  }
  return usages;
}

// A store does not know whose its chunks are: by kind.
Result<Usages> UsageOfStore(const std::string& directory) {
  FB_ASSIGN_OR_RETURN(auto store, OpenStore({.directory = directory}));
  Usages usages;
  store->List([&](const storage::ListedChunk& chunk) {
    Usage& usage = usages[std::string(storage::KindName(chunk.name.kind)) + " chunks"];
    ++usage.files;
    usage.bytes += chunk.name.size;
    usage.last_use_ns = std::max(usage.last_use_ns, chunk.last_use_ns);
  });
  return usages;
}

void PrintUsages(const Usages& usages, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    auto rows = nlohmann::ordered_json::array();
    for (const auto& [dataset, usage] : usages) {
      rows.push_back({{"dataset", dataset},
                      {"files", usage.files},
                      {"bytes", usage.bytes},
                      {"last_use_ns", usage.last_use_ns},
                      {"uses", usage.uses},
                      {"pinned", usage.pinned}});
    }
    Print(ToText({{"datasets", rows}}));
    return;
  }
  TextTable table({{"DATASET"},
                   {"FILES", Align::kRight},
                   {"SIZE", Align::kRight},
                   {"LAST USE"},
                   {"USES", Align::kRight},
                   {"PINNED", Align::kRight}});
  for (const auto& [dataset, usage] : usages) {
    table.Add({dataset, fmt::to_string(usage.files), FormatSize(usage.bytes),
               FormatAgo(usage.last_use_ns), fmt::to_string(usage.uses),
               fmt::to_string(usage.pinned)});
  }
  Print(table.ToString());
}

struct Arguments {
  std::string directory;
  OutputFormat format = OutputFormat::kTable;
};

Result<ExitCode> ShowUsage(const Arguments& arguments) {
  bool shared = storage::SharedDirectory::IsOne(arguments.directory);
  FB_ASSIGN_OR_RETURN(Usages usages, shared ? UsageOfShared(arguments.directory)
                                            : UsageOfStore(arguments.directory));
  PrintUsages(usages, arguments.format);
  return ExitCode::kOk;
}

// "10%" of `total`, or a size with its unit: who writes 10 hardly means bytes.
Result<uint64_t> ParseShare(const std::string& text, uint64_t total) {
  char* end = nullptr;
  double percent = std::strtod(text.c_str(), &end);
  bool is_number = end != text.c_str();
  if (is_number && std::string_view(end) == "%" && percent >= 0 && percent <= 100) {
    return static_cast<uint64_t>(static_cast<double>(total) * percent / 100);
  }
  auto size = ParseSize(text);
  if (size.ok() && (*end != 0 || *size == 0)) return size;
  return Status::Invalid(
      fmt::format("--keep-free wants a share as 10% or a size as 50GiB, not '{}'", text));
}

}  // namespace

Result<ExitCode> CollectShared(const SharedGcArguments& arguments) {
  FB_ASSIGN_OR_RETURN(auto shared, OpenShared(arguments.directory, /*create=*/false));
  storage::SharedDirectory::CollectOptions options;
  FB_ASSIGN_OR_RETURN(storage::SharedRoom room, shared->Room());
  if (!arguments.keep_free.empty()) {
    FB_ASSIGN_OR_RETURN(options.keep_free_bytes,
                        ParseShare(arguments.keep_free, room.total_bytes));
  }
  if (!arguments.grace.empty()) {
    FB_ASSIGN_OR_RETURN(options.grace, ParseDuration(arguments.grace));
    options.lately = options.grace;
  }
  auto made = shared->Collect(options);
  if (!made.ok()) {
    return made.status().WithContext("no room can be made in " + arguments.directory);
  }
  const storage::SharedDirectory::Collected& collected = *made;
  if (arguments.format == OutputFormat::kJson) {
    Print(ToText({{"evicted_files", collected.files},
                  {"evicted_bytes", collected.bytes},
                  {"trash_removed", collected.trash_removed},
                  {"temp_removed", collected.temp_removed},
                  {"free_bytes", collected.free_bytes}}));
  } else {
    Print(FactList({{"evicted", fmt::format("{} files, {}", collected.files,
                                            FormatSize(collected.bytes))},
                    {"trash removed", fmt::to_string(collected.trash_removed)},
                    {"debris removed", fmt::to_string(collected.temp_removed)},
                    {"free", FormatSize(collected.free_bytes)}}));
  }
  if (collected.free_bytes >= options.keep_free_bytes) return ExitCode::kOk;
  return Status::Full(fmt::format(
      "{} are free, less than {}: what is left is pinned, open or was used lately",
      FormatSize(collected.free_bytes), FormatSize(options.keep_free_bytes)));
}

Run DeclareStoreUsage(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddSharedOrStoreDirectory(app, &arguments->directory);
  AddOutputOption(app, &arguments->format);
  return [arguments] { return ShowUsage(*arguments); };
}

}  // namespace forebay::cli
