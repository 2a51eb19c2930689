// forebay store gc DIR
#include "cli/store_gc.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/size.h"
#include "cli/files/store_usage.h"
#include "cli/output.h"
#include "cli/store.h"
#include "cli/text_table.h"
#include "storage/shared/shared_directory.h"
#include "storage/temp_name.h"

namespace forebay::cli {
namespace {

struct Arguments {
  std::string directory;
  std::string quota;
  std::string keep_free;
  std::string grace;
  bool dry_run = false;
  OutputFormat format = OutputFormat::kTable;
};

struct Collected {
  uint64_t temp_files = 0;
  uint64_t temp_bytes = 0;
  uint64_t foreign_files = 0;
  Evictions evicted;
  Evictions left;
};

Evictions Held(storage::Store& store) {
  Evictions held;
  store.List([&](const storage::ListedChunk& chunk) {
    ++held.chunks;
    held.bytes += chunk.name.size;
  });
  return held;
}

struct Draft {
  std::string path;
  uint64_t bytes;
};

// A draft that nobody will finish (docs/formats/store.md): its writer is of this host and
// gone, or it was not written to for an hour.
bool IsDebris(const std::filesystem::directory_entry& entry) {
  auto name = storage::TempName::Parse(entry.path().filename().string());
  if (name && !name->owner.MayBeAlive()) return true;
  std::error_code error;
  auto written = entry.last_write_time(error);
  auto age = std::filesystem::file_time_type::clock::now() - written;
  return !error && age > std::chrono::hours(1);
}

std::vector<Draft> FindDebris(const std::string& directory) {
  std::vector<Draft> debris;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory + "/tmp", error), end;
       !error && it != end; it.increment(error)) {
    if (!IsDebris(*it)) continue;
    std::error_code no_size;
    uint64_t size = it->file_size(no_size);
    debris.push_back({it->path().string(), no_size ? 0 : size});
  }
  return debris;
}

void CountDebris(const std::vector<Draft>& debris, Collected* collected) {
  for (const Draft& draft : debris) {
    ++collected->temp_files;
    collected->temp_bytes += draft.bytes;
  }
}

Result<Collected> Foresee(const Arguments& arguments, std::optional<uint64_t> quota) {
  FB_ASSIGN_OR_RETURN(auto store, OpenStore({.directory = arguments.directory}));
  Collected collected;
  CountDebris(FindDebris(arguments.directory), &collected);
  std::vector<storage::EvictionCandidate> chunks;
  store->List([&](const storage::ListedChunk& chunk) {
    chunks.push_back({.key = chunk.name.key,
                      .size = chunk.name.size,
                      .kind = chunk.name.kind,
                      .last_use_ns = chunk.last_use_ns});
  });
  Evictions held = Held(*store);
  if (quota) collected.evicted = PlanEvictions(std::move(chunks), *quota);
  collected.left = {held.chunks - collected.evicted.chunks,
                    held.bytes - collected.evicted.bytes};
  return collected;
}

Result<Collected> Collect(const Arguments& arguments, std::optional<uint64_t> quota) {
  // To a store, 0 is no quota at all.
  uint64_t quota_bytes = quota ? std::max<uint64_t>(1, *quota) : 0;
  std::vector<Draft> debris = FindDebris(arguments.directory);
  // Opening a store sweeps it.
  FB_ASSIGN_OR_RETURN(auto store, OpenStore({.directory = arguments.directory,
                                             .mode = storage::OpenMode::kExisting,
                                             .quota_bytes = quota_bytes}));
  Collected collected;
  std::erase_if(debris, [](const Draft& draft) {
    std::error_code error;
    return std::filesystem::exists(draft.path, error);
  });
  CountDebris(debris, &collected);
  collected.foreign_files = store->Stats().quarantined;
  Evictions before = Held(*store);
  if (quota) store->Trim();
  collected.left = Held(*store);
  collected.evicted = {before.chunks - std::min(before.chunks, collected.left.chunks),
                       before.bytes - std::min(before.bytes, collected.left.bytes)};
  return collected;
}

void PrintCollected(const Collected& collected, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    Print(ToText({{"temp_files", collected.temp_files},
                  {"temp_bytes", collected.temp_bytes},
                  {"quarantined_files", collected.foreign_files},
                  {"evicted_chunks", collected.evicted.chunks},
                  {"evicted_bytes", collected.evicted.bytes},
                  {"chunks_left", collected.left.chunks},
                  {"bytes_left", collected.left.bytes}}));
    return;
  }
  auto amount = [](const Evictions& e) {
    return fmt::format("{} chunks, {}", e.chunks, FormatSize(e.bytes));
  };
  Print(FactList({{"debris", fmt::format("{} files, {}", collected.temp_files,
                                         FormatSize(collected.temp_bytes))},
                  {"quarantined", fmt::format("{} files", collected.foreign_files)},
                  {"evicted", amount(collected.evicted)},
                  {"left", amount(collected.left)}}));
}

Result<ExitCode> CollectAndReport(const Arguments& arguments) {
  if (storage::SharedDirectory::IsOne(arguments.directory)) {
    if (arguments.dry_run || !arguments.quota.empty()) {
      return Status::Invalid(
          "--quota and --dry-run are for stores; a shared directory takes --keep-free "
          "and --grace");
    }
    return CollectShared({.directory = arguments.directory,
                          .keep_free = arguments.keep_free,
                          .grace = arguments.grace,
                          .format = arguments.format});
  }
  if (!arguments.keep_free.empty() || !arguments.grace.empty()) {
    return Status::Invalid(
        "--keep-free and --grace are for shared directories; a store "
        "takes --quota");
  }
  std::optional<uint64_t> quota;
  if (!arguments.quota.empty()) {
    FB_ASSIGN_OR_RETURN(quota, ParseSize(arguments.quota));
  }
  auto collected =
      arguments.dry_run ? Foresee(arguments, quota) : Collect(arguments, quota);
  if (!collected.ok()) return collected.status();
  PrintCollected(*collected, arguments.format);
  if (arguments.dry_run) Complain("this was a dry run: nothing was changed");
  if (quota && collected->left.bytes > *quota) {
    return Status::Full(fmt::format(
        "{} are left, more than the quota of {}; other processes are filling the store",
        FormatSize(collected->left.bytes), FormatSize(*quota)));
  }
  return ExitCode::kOk;
}

}  // namespace

Evictions PlanEvictions(std::vector<storage::EvictionCandidate> chunks,
                        uint64_t quota_bytes) {
  uint64_t used = 0;
  for (const auto& chunk : chunks) used += chunk.size;
  storage::LeastRecentUse().Order(chunks);
  Evictions evictions;
  for (const auto& chunk : chunks) {
    if (used - evictions.bytes <= quota_bytes) break;
    ++evictions.chunks;
    evictions.bytes += chunk.size;
  }
  return evictions;
}

Run DeclareStoreGc(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddSharedOrStoreDirectory(app, &arguments->directory);
  app.add_option("--quota", arguments->quota,
                 "evict the least recently used chunks until at most this is left: 50GiB")
      ->option_text("SIZE");
  app.add_option("--keep-free", arguments->keep_free,
                 "of a shared directory: until this is free on its disk, 10% or 50GiB")
      ->option_text("SHARE");
  app.add_option("--grace", arguments->grace,
                 "of a shared directory: what was used or evicted since stays")
      ->option_text("TIME [10m]");
  app.add_flag("--dry-run", arguments->dry_run, "say what would go and change nothing");
  AddOutputOption(app, &arguments->format);
  return [arguments] { return CollectAndReport(*arguments); };
}

}  // namespace forebay::cli
