// forebay path SRC --shared DIR
#include <CLI/App.hpp>
#include <memory>

#include "base/uri.h"
#include "cli/files/files_arguments.h"
#include "cli/files/shared_files.h"
#include "cli/files/shared_tree.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

struct Arguments {
  FilesArguments files;
  std::string shared;
  bool pin = false;
  bool unpin = false;
};

Result<ExitCode> PrintPath(const Arguments& arguments) {
  FB_ASSIGN_OR_RETURN(auto shared, OpenShared(arguments.shared, /*create=*/true));
  FB_ASSIGN_OR_RETURN(SharedTree tree, SharedTree::Open(arguments.files, *shared));
  if (!NamesOneFile(*tree.files())) {
    return Status::Invalid(RedactUri(tree.files()->uri()) +
                           " is a folder: give one file of it, or pull the folder");
  }
  auto entry = BringShared(*shared, *tree.files(), 0);
  if (!entry.ok()) return tree.Explain(entry.status());
  tree.Keep(*shared);
  if (arguments.pin || arguments.unpin) {
    FB_RETURN_NOT_OK(shared->Pin(*entry, arguments.pin));
  }
  Print(entry->file_path() + "\n");
  return ExitCode::kOk;
}

}  // namespace

Run DeclarePath(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddFilesArguments(app, "24h", &arguments->files);
  app.get_option("SRC")->description("a file: /data/model.bin, s3://bucket/model.bin");
  app.add_option("--shared", arguments->shared,
                 "the directory that hosts share; made if it is missing")
      ->required()
      ->option_text("DIR");
  auto* pin =
      app.add_flag("--pin", arguments->pin, "gc leaves the file alone from now on");
  app.add_flag("--unpin", arguments->unpin, "gc may take it again")->excludes(pin);
  return [arguments] { return PrintPath(*arguments); };
}

}  // namespace forebay::cli
