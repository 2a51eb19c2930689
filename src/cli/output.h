// Where a verb's words go: data to stdout, messages to stderr.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace CLI {
class App;
}

namespace forebay::cli {

enum class OutputFormat { kTable, kJson };

// Adds `-o, --output table|json`.
void AddOutputOption(CLI::App& app, OutputFormat* format);

// Data: exactly these bytes to stdout.
void Print(std::string_view text);
// Indented, keys in the order they were added, one newline at the end. Bytes that are not
// UTF-8 become replacement characters.
std::string ToText(const nlohmann::ordered_json& json);
// kUnavailable when stdout took not all of it (a full disk, say).
Status FlushData();

// "forebay: <message>" to stderr.
void Complain(std::string_view message);

// The text with control characters replaced, so that no name or path of somebody else
// steers the terminal.
std::string Printable(std::string_view text);

}  // namespace forebay::cli
