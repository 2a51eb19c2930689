#include "cli/open_arguments.h"

#include <fmt/format.h>

#include <CLI/App.hpp>

#include "cli/duration.h"
#include "cli/output.h"

namespace forebay::cli {

void AddSourceOptions(CLI::App& app, std::vector<std::string>* options) {
  app.add_option("-O,--option", *options,
                 "of the source or catalog, for example s3.endpoint=http://host:9000; "
                 "may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->option_text("KEY=VALUE");
}

void AddOpenArguments(CLI::App& app, const char* default_timeout,
                      OpenArguments* arguments) {
  arguments->timeout = default_timeout;
  AddSourceOptions(app, &arguments->options);
  app.add_option("--store", arguments->node.store,
                 "where chunks are kept (default: FOREBAY_STORE, else the default store)")
      ->option_text("SPEC");
  app.add_option("--node", arguments->node.socket,
                 "the socket of the node to use (default: FOREBAY_NODE, else found or "
                 "started)")
      ->option_text("PATH");
  app.add_option("--timeout", arguments->timeout, "give up waiting after so long")
      ->option_text(fmt::format("TIME [{}]", default_timeout));
}

Result<reader::OpenOptions> OpenOptionsOf(const OpenArguments& arguments) {
  reader::OpenOptions options{.node = arguments.node, .source = {}};
  FB_ASSIGN_OR_RETURN(options.timeout, ParseDuration(arguments.timeout));
  FB_ASSIGN_OR_RETURN(options.source, ParseOptions(arguments.options));
  for (const std::string& warning : reader::StoreWarnings(options.node)) {
    Complain(warning);
  }
  return options;
}

Result<std::map<std::string, std::string>> ParseOptions(
    const std::vector<std::string>& options) {
  std::map<std::string, std::string> out;
  for (const std::string& text : options) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      // The text may be a secret that lost its name: it is not repeated.
      return Status::Invalid("--option wants KEY=VALUE");
    }
    std::string key = text.substr(0, equals);
    if (!out.emplace(key, text.substr(equals + 1)).second) {
      return Status::Invalid(fmt::format("--option {} is given twice", key));
    }
  }
  return out;
}

}  // namespace forebay::cli
