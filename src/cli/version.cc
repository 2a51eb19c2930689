// forebay version
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/verbs.h"
#include "model/chunk.h"
#include "model/manifest.h"
#include "storage/store_format.h"
#include "wire/message.h"

namespace forebay::cli {

Run DeclareVersion(CLI::App& app) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::kTable);
  AddOutputOption(app, format.get());
  return [format]() -> Result<ExitCode> {
    if (*format == OutputFormat::kTable) {
      Print("forebay " FOREBAY_VERSION "\n");
      return ExitCode::kOk;
    }
    Print(ToText({{"version", FOREBAY_VERSION},
                  {"reader_protocol", wire::kProtocolVersion},
                  {"store_format", storage::kStoreFormatVersion},
                  {"manifest_format", model::Manifest::kFormatVersion},
                  {"chunk_format", model::kChunkFormatVersion}}));
    return ExitCode::kOk;
  };
}

}  // namespace forebay::cli
