// forebay store ls DIR
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/size.h"
#include "cli/output.h"
#include "cli/store.h"
#include "cli/text_table.h"

namespace forebay::cli {
namespace {

std::string TimeText(int64_t nanos) {
  std::time_t seconds = nanos / 1'000'000'000;
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr) return "-";
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// The last used first: what would be evicted first is at the end.
std::vector<storage::ListedChunk> Chunks(storage::Store& store) {
  std::vector<storage::ListedChunk> chunks;
  store.List([&](const storage::ListedChunk& chunk) { chunks.push_back(chunk); });
  std::ranges::sort(chunks, [](const auto& a, const auto& b) {
    if (a.last_use_ns != b.last_use_ns) return a.last_use_ns > b.last_use_ns;
    return a.name.key < b.name.key;
  });
  return chunks;
}

uint64_t BytesOf(const std::vector<storage::ListedChunk>& chunks) {
  uint64_t bytes = 0;
  for (const auto& chunk : chunks) bytes += chunk.name.size;
  return bytes;
}

void PrintJson(const std::vector<storage::ListedChunk>& chunks) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& chunk : chunks) {
    list.push_back({{"key", chunk.name.key.ToHex()},
                    {"kind", storage::KindName(chunk.name.kind)},
                    {"bytes", chunk.name.size},
                    {"last_use", TimeText(chunk.last_use_ns)}});
  }
  Print(ToText({{"chunk_count", chunks.size()},
                {"bytes", BytesOf(chunks)},
                {"chunks", std::move(list)}}));
}

void PrintTable(const std::vector<storage::ListedChunk>& chunks) {
  TextTable table({{"KEY"}, {"KIND"}, {"SIZE", Align::kRight}, {"LAST USE"}});
  for (const auto& chunk : chunks) {
    table.Add({chunk.name.key.ToHex(), std::string(storage::KindName(chunk.name.kind)),
               FormatSize(chunk.name.size), TimeText(chunk.last_use_ns)});
  }
  Print(table.ToString());
  Complain(fmt::format("{} chunks, {}", chunks.size(), FormatSize(BytesOf(chunks))));
}

}  // namespace

Run DeclareStoreLs(CLI::App& app) {
  struct State {
    std::string directory;
    OutputFormat format = OutputFormat::kTable;
  };
  auto state = std::make_shared<State>();
  AddStoreDirectory(app, &state->directory);
  AddOutputOption(app, &state->format);
  return [state]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(auto store, OpenStore({.directory = state->directory}));
    auto chunks = Chunks(*store);
    state->format == OutputFormat::kJson ? PrintJson(chunks) : PrintTable(chunks);
    return ExitCode::kOk;
  };
}

}  // namespace forebay::cli
