#include "cli/output.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/errno_status.h"

namespace forebay::cli {

void AddOutputOption(CLI::App& app, OutputFormat* format) {
  static const std::map<std::string, OutputFormat> kNames = {
      {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}};
  app.add_option("-o,--output", *format, "table or json")
      ->transform(CLI::CheckedTransformer(kNames).description(""))
      ->option_text("FORMAT");
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
