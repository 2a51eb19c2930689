// forebay head: becomes forebay-head, which lies beside this program; or, as `forebay
// head HOST PORT`, the head of Kubeflow's data cache.
#include <CLI/App.hpp>

#include "cli/become.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

bool IsKubeflow(const std::vector<std::string>& words) {
  return words.size() == 2 && !words[0].starts_with('-') && !words[1].starts_with('-');
}

}  // namespace

Run DeclareHead(CLI::App& app) {
  app.allow_extras();
  app.footer(
      "All options go to forebay-head; see forebay-head --help. With HOST PORT alone it "
      "is the head of Kubeflow's data cache.");
  return [&app]() -> Result<ExitCode> {
    bool kubeflow = IsKubeflow(app.remaining());
    FB_ASSIGN_OR_RETURN(std::string binary,
                        kubeflow
                            ? FindBeside("forebay-kubeflow", "FOREBAY_KUBEFLOW_BINARY")
                            : FindBeside("forebay-head", "FOREBAY_HEAD_BINARY"));
    std::vector<std::string> command = {binary};
    if (kubeflow) command.emplace_back("head");
    for (const std::string& word : app.remaining()) command.push_back(word);
    return Become(command);
  };
}

}  // namespace forebay::cli
