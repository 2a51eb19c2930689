#include "cli/output.h"

#include <fmt/format.h>

// All of CLI11, help texts included; every other file needs only its App.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/errno_status.h"

namespace forebay::cli {

void AddOutputOption(CLI::App& app, OutputFormat* format) {
  auto set = [format](const std::string& name) {
    if (name != "table" && name != "json") {
      throw CLI::ValidationError("--output",
                                 fmt::format("'{}' is neither table nor json", name));
    }
    *format = name == "json" ? OutputFormat::kJson : OutputFormat::kTable;
  };
  app.add_option_function<std::string>("-o,--output", set, "table or json")
      ->option_text("FORMAT [table]");
}

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string ToText(const nlohmann::ordered_json& json) {
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

Status FlushData() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return Status::OK();
  return ErrnoStatus(errno != 0 ? errno : EIO, "write to stdout");
}

void Complain(std::string_view message) {
  fmt::print(stderr, "forebay: {}\n", Printable(message));
}

std::string Printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return out;
}

}  // namespace forebay::cli
