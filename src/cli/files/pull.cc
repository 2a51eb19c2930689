// forebay pull SRC DST
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/size.h"
#include "base/uri.h"
#include "cli/files/copy_out.h"
#include "cli/files/files_arguments.h"
#include "cli/files/pulled_file.h"
#include "cli/files/shared_files.h"
#include "cli/files/shared_tree.h"
#include "cli/files/tree_pull.h"
#include "cli/output.h"
#include "cli/text_table.h"
#include "cli/verbs.h"
#include "reader/environment/source_environment.h"

namespace forebay::cli {
namespace {

constexpr size_t kFailuresShown = 20;

struct Arguments {
  FilesArguments files;
  std::string target;
  std::optional<std::string> shared;
  OutputFormat format = OutputFormat::kTable;
};

void PrintPulled(const Pulled& pulled, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    Print(ToText({{"files", pulled.files},
                  {"bytes", pulled.bytes},
                  {"files_kept", pulled.files_kept},
                  {"left_out", pulled.left_out},
                  {"failed", pulled.failures.size()}}));
    return;
  }
  Print(FactList(
      {{"pulled", fmt::format("{} files, {}", pulled.files, FormatSize(pulled.bytes))},
       {"unchanged", fmt::format("{} files", pulled.files_kept)}}));
}

void WarnOfLeftOut(const model::FilesManifest& manifest, const Pulled& pulled) {
  uint64_t reserved = pulled.left_out - manifest.left_out_count();
  if (reserved != 0) {
    Complain(
        fmt::format("{} files have names that pulls use themselves ({}…) and were "
                    "left out",
                    reserved, PulledTree::kReserved));
  }
  if (manifest.left_out_count() == 0) return;
  std::vector<std::string> names = manifest.left_out();
  Complain(fmt::format(
      "{} objects have names that cannot be file names and were left out; the first: {}",
      manifest.left_out_count(), names.empty() ? "" : Printable(names[0])));
}

ExitCode NameFailures(const Pulled& pulled) {
  if (pulled.failures.empty()) return ExitCode::kOk;
  size_t shown = std::min(pulled.failures.size(), kFailuresShown);
  for (size_t i = 0; i < shown; ++i) Complain("could not pull " + pulled.failures[i]);
  if (shown < pulled.failures.size()) {
    Complain(fmt::format("and {} more", pulled.failures.size() - shown));
  }
  return ExitCode::kPartial;
}

// A pull that changes its own source would never end.
Status CheckTarget(const std::string& source, const std::string& target) {
  if (target.empty()) return Status::Invalid("give a folder or file to pull to");
  FB_ASSIGN_OR_RETURN(std::string absolute, reader::AbsoluteUri(source));
  auto uri = Uri::Parse(absolute);
  if (!uri.ok() || uri->scheme != "file") return Status::OK();
  std::error_code error;
  std::string from = std::filesystem::weakly_canonical(uri->path, error).string();
  std::string to = std::filesystem::weakly_canonical(target, error).string();
  if (error || !(to + "/").starts_with(from + "/")) return Status::OK();
  return Status::Invalid(target +
                         " is the source itself, or lies in it: pull to another "
                         "place");
}

// One file goes to the file DST, as cp would do it; or into the folder DST.
bool GoesToAFile(const reader::RemoteFiles& files, const std::string& target) {
  std::error_code error;
  return NamesOneFile(files) && !target.ends_with('/') &&
         !std::filesystem::is_directory(target, error);
}

Status PullOne(reader::RemoteFiles& files, const std::string& target,
               storage::SharedDirectory* shared) {
  if (shared == nullptr) {
    return CopyOne(files, target, [&](int fd) { return CopyOut(files, 0, fd); });
  }
  auto copy = [&](const std::string& path) {
    return CopyOne(files, target, [&](int fd) { return CopyFile(path, fd); });
  };
  return CopyShared(*shared, {.files = files, .file = 0, .from = copy, .without = [&] {
                                return PullOne(files, target, nullptr);
                              }});
}

Result<ExitCode> PullFiles(const Arguments& arguments,
                           std::shared_ptr<reader::RemoteFiles> files,
                           storage::SharedDirectory* shared) {
  Pulled pulled;
  if (!GoesToAFile(*files, arguments.target)) {
    FB_ASSIGN_OR_RETURN(auto tree, PulledTree::Open(arguments.target, files));
    FB_ASSIGN_OR_RETURN(pulled, TreePull(*files, *tree, shared).Run());
  } else if (IsCopyOf(*files, arguments.target)) {
    pulled.files_kept = 1;
  } else {
    FB_RETURN_NOT_OK(PullOne(*files, arguments.target, shared));
    pulled.files = 1;
    pulled.bytes = files->manifest()->file_bytes();
  }
  WarnOfLeftOut(*files->manifest(), pulled);
  PrintPulled(pulled, arguments.format);
  return NameFailures(pulled);
}

Result<ExitCode> RunPull(const Arguments& arguments) {
  FB_RETURN_NOT_OK(CheckTarget(arguments.files.uri, arguments.target));
  if (!arguments.shared) {
    FB_ASSIGN_OR_RETURN(auto files, OpenFiles(arguments.files));
    return PullFiles(arguments, std::move(files), nullptr);
  }
  FB_ASSIGN_OR_RETURN(auto shared, OpenShared(*arguments.shared, /*create=*/true));
  FB_ASSIGN_OR_RETURN(SharedTree tree, SharedTree::Open(arguments.files, *shared));
  auto pulled = PullFiles(arguments, tree.files(), shared.get());
  if (!pulled.ok()) return tree.Explain(pulled.status());
  tree.Keep(*shared);
  return pulled;
}

}  // namespace

Run DeclarePull(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  AddFilesArguments(app, "24h", &arguments->files);
  app.add_option("DST", arguments->target, "a local folder; for one file also its name")
      ->required();
  app.add_option("--shared", arguments->shared,
                 "a directory that hosts share: looked into first, and filled")
      ->option_text("DIR");
  AddOutputOption(app, &arguments->format);
  return [arguments] { return RunPull(*arguments); };
}

}  // namespace forebay::cli
