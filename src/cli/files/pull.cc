// forebay pull SRC DST
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>

#include "base/size.h"
#include "base/thread_pool.h"
#include "base/uri.h"
#include "cli/files/copy_out.h"
#include "cli/files/files_arguments.h"
#include "cli/files/pulled_tree.h"
#include "cli/files/shared_files.h"
#include "cli/output.h"
#include "cli/progress_meter.h"
#include "cli/text_table.h"
#include "cli/verbs.h"

namespace forebay::cli {
namespace {

// A pack of which less than this share is needed is not worth loading.
constexpr uint64_t kPackShare = 4;
constexpr size_t kThreads = 8;
constexpr size_t kPacksAtOnce = 64;  // mapped at once: about 1 GiB
constexpr size_t kFilesInARow = 128;

struct Arguments {
  FilesArguments files;
  std::string target;
  std::string shared;
  OutputFormat format = OutputFormat::kTable;
};

struct Pulled {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t files_kept = 0;
  uint64_t left_out = 0;
};

// What one thread does at a time: the files that are needed of one pack, or one file.
struct Task {
  uint32_t pack = model::kNoPack;
  std::vector<uint32_t> files;
};

class Pull {
 public:
  // `shared` may be null: files come from the store then.
  Pull(reader::RemoteFiles& files, PulledTree& tree, storage::SharedDirectory* shared)
      : files_(files), tree_(tree), shared_(shared) {}

  Result<Pulled> Run() {
    FB_RETURN_NOT_OK(tree_.MakeDirectories());
    Plan();
    ThreadPool pool(kThreads);
    ProgressMeter meter(ProgressMeter::Stderr("pull", "files"));
    meter_ = &meter;
    FB_RETURN_NOT_OK(
        ParallelFor(pool, tasks_.size(), [&](size_t i) { return RunTask(tasks_[i]); }));
    for (size_t first = 0; first < packs_.size(); first += kPacksAtOnce) {
      size_t count = std::min(kPacksAtOnce, packs_.size() - first);
      FB_RETURN_NOT_OK(RunPacks(pool, std::span(packs_).subspan(first, count)));
    }
    for (uint32_t link : links_) {
      FB_RETURN_NOT_OK(tree_.MakeLink(link));
      Count(link);
    }
    FB_RETURN_NOT_OK(tree_.Remember());
    pulled_.left_out = manifest().left_out_count();
    return pulled_;
  }

 private:
  const model::FilesManifest& manifest() const { return *files_.manifest(); }

  void Plan() {
    std::vector<Task> packs(manifest().packs().size());
    for (uint32_t file = 0; file < manifest().files().size(); ++file) {
      if (tree_.IsThere(file)) {
        ++pulled_.files_kept;
        continue;
      }
      ++needed_;
      uint32_t pack = manifest().files()[file].pack;
      if (manifest().files()[file].is_link()) {
        links_.push_back(file);
      } else if (shared_ == nullptr && pack < packs.size()) {
        packs[pack].files.push_back(file);
      } else {
        tasks_.push_back({.pack = model::kNoPack, .files = {file}});
      }
    }
    for (uint32_t i = 0; i < packs.size(); ++i) AddPack(i, std::move(packs[i]));
  }

  void AddPack(uint32_t pack, Task task) {
    if (task.files.empty()) return;
    uint64_t bytes = 0;
    for (uint32_t file : task.files) {
      bytes += static_cast<uint64_t>(manifest().files()[file].size);
    }
    bool whole = bytes >= manifest().packs()[pack].size / kPackShare;
    if (whole) task.pack = pack;
    (whole ? packs_ : tasks_).push_back(std::move(task));
  }

  Status RunTask(const Task& task) {
    if (shared_ != nullptr) return RunShared(task);
    std::vector<reader::RemoteFiles::Place> places;
    for (uint32_t file : task.files) places.push_back({file, 0});
    if (places.size() > 1) FB_RETURN_NOT_OK(files_.Bring(places));
    for (uint32_t file : task.files) {
      FB_RETURN_NOT_OK(tree_.Copy(file));
      Count(file);
    }
    return Status::OK();
  }

  Status RunShared(const Task& task) {
    for (uint32_t file : task.files) {
      FB_RETURN_NOT_OK(CopyShared(
          *shared_,
          {.files = files_,
           .file = file,
           .from = [&](const std::string& path) { return tree_.CopyFrom(file, path); },
           .without = [&] { return tree_.Copy(file); }}));
      Count(file);
    }
    return Status::OK();
  }

  // Packs hold files of all folders; written folder by folder, they take the disk less
  // time.
  Status RunPacks(ThreadPool& pool, std::span<const Task> tasks) {
    std::vector<std::shared_ptr<const reader::MappedChunk>> chunks(tasks.size());
    FB_RETURN_NOT_OK(ParallelFor(pool, tasks.size(), [&](size_t i) -> Status {
      FB_ASSIGN_OR_RETURN(chunks[i], files_.Chunk({tasks[i].pack, model::kPackGroup}));
      return Status::OK();
    }));
    std::vector<std::pair<uint32_t, size_t>> files;  // and its chunk
    for (size_t i = 0; i < tasks.size(); ++i) {
      for (uint32_t file : tasks[i].files) files.emplace_back(file, i);
    }
    std::ranges::sort(files);
    size_t runs = (files.size() + kFilesInARow - 1) / kFilesInARow;
    return ParallelFor(pool, runs, [&](size_t run) -> Status {
      size_t end = std::min(files.size(), (run + 1) * kFilesInARow);
      for (size_t i = run * kFilesInARow; i < end; ++i) {
        auto [file, chunk] = files[i];
        FB_RETURN_NOT_OK(WritePacked(file, chunks[chunk]->mapping->bytes()));
      }
      return Status::OK();
    });
  }

  Status WritePacked(uint32_t file, std::string_view pack) {
    const model::FileRecord& record = manifest().files()[file];
    if (record.pack_offset > pack.size()) return Status::Corrupt("a pack is too short");
    FB_RETURN_NOT_OK(tree_.Write(
        file, pack.substr(record.pack_offset, static_cast<size_t>(record.size))));
    Count(file);
    return Status::OK();
  }

  void Count(uint32_t file) {
    std::lock_guard lock(mutex_);
    ++pulled_.files;
    pulled_.bytes += static_cast<uint64_t>(manifest().files()[file].size);
    meter_->Update({.done = pulled_.files, .total = needed_, .bytes = pulled_.bytes});
  }

  reader::RemoteFiles& files_;
  PulledTree& tree_;
  storage::SharedDirectory* shared_;
  std::vector<Task> tasks_;  // files one by one
  std::vector<Task> packs_;
  std::vector<uint32_t> links_;  // last: nothing may be written through them
  uint64_t needed_ = 0;
  std::mutex mutex_;
  Pulled pulled_;
  ProgressMeter* meter_ = nullptr;
};

void PrintPulled(const Pulled& pulled, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    Print(ToText({{"files", pulled.files},
                  {"bytes", pulled.bytes},
                  {"files_kept", pulled.files_kept},
                  {"left_out", pulled.left_out}}));
    return;
  }
  Print(FactList(
      {{"pulled", fmt::format("{} files, {}", pulled.files, FormatSize(pulled.bytes))},
       {"unchanged", fmt::format("{} files", pulled.files_kept)}}));
}

void WarnOfLeftOut(const model::FilesManifest& manifest) {
  if (manifest.left_out_count() == 0) return;
  std::vector<std::string> names = manifest.left_out();
  Complain(fmt::format(
      "{} objects have names that cannot be file names and were left out; the first: {}",
      manifest.left_out_count(), names.empty() ? "" : Printable(names[0])));
}

// A tree of one file goes to the file DST, as cp would do it; or into the folder DST.
bool IsOneFile(const reader::RemoteFiles& files, const std::string& target) {
  const model::FilesManifest& manifest = *files.manifest();
  if (manifest.files().size() != 1 || manifest.files()[0].is_link()) return false;
  std::string name = manifest.FilePath(0);
  bool named = files.uri().ends_with("/" + name) || files.uri() == name;
  std::error_code error;
  return named && !target.ends_with('/') && !std::filesystem::is_directory(target, error);
}

Status PullOne(reader::RemoteFiles& files, const std::string& target,
               storage::SharedDirectory* shared) {
  if (shared == nullptr) {
    return PulledTree::CopyOne([&](int fd) { return CopyOut(files, 0, fd); }, target);
  }
  auto copy = [&](const std::string& path) {
    return PulledTree::CopyOne([&](int fd) { return CopyFile(path, fd); }, target);
  };
  return CopyShared(*shared, {.files = files, .file = 0, .from = copy, .without = [&] {
                                return PullOne(files, target, nullptr);
                              }});
}

Result<ExitCode> RunPull(const Arguments& arguments) {
  std::unique_ptr<storage::SharedDirectory> shared;
  if (!arguments.shared.empty()) {
    FB_ASSIGN_OR_RETURN(shared, OpenShared(arguments.shared, /*create=*/true));
  }
  FB_ASSIGN_OR_RETURN(auto files, OpenFiles(arguments.files));
  Pulled pulled;
  if (IsOneFile(*files, arguments.target)) {
    FB_RETURN_NOT_OK(PullOne(*files, arguments.target, shared.get()));
    pulled.files = 1;
    pulled.bytes = files->manifest()->file_bytes();
  } else {
    FB_ASSIGN_OR_RETURN(auto tree, PulledTree::Open(arguments.target, files));
    FB_ASSIGN_OR_RETURN(pulled, Pull(*files, *tree, shared.get()).Run());
  }
  WarnOfLeftOut(*files->manifest());
  PrintPulled(pulled, arguments.format);
  return ExitCode::kOk;
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
