// forebay head: becomes forebay-head, which lies beside this program.
#include <CLI/CLI.hpp>

#include "cli/become.h"
#include "cli/verbs.h"

namespace forebay::cli {

Run DeclareHead(CLI::App& app) {
  app.allow_extras();
  app.footer("All options go to forebay-head; see forebay-head --help.");
  return [&app]() -> Result<ExitCode> {
    FB_ASSIGN_OR_RETURN(std::string binary,
                        FindBeside("forebay-head", "FOREBAY_HEAD_BINARY"));
    std::vector<std::string> command = {binary};
    for (const std::string& word : app.remaining()) command.push_back(word);
    return Become(command);
  };
}

}  // namespace forebay::cli
