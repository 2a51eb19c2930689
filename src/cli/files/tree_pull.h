// Brings what is missing of a tree into a local folder. Files that cannot be had are
// named and left out; the others come all the same.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "cli/files/pulled_tree.h"
#include "cli/progress_meter.h"
#include "storage/shared/shared_directory.h"

namespace forebay::cli {

struct Pulled {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t files_kept = 0;
  uint64_t left_out = 0;
  std::vector<std::string> failures{};  // a sentence for each file
};

class TreePull {
 public:
  // `shared` may be null: files come from the store then.
  TreePull(reader::RemoteFiles& files, PulledTree& tree, storage::SharedDirectory* shared)
      : files_(files), tree_(tree), shared_(shared) {}

  Result<Pulled> Run();

 private:
  // What one thread does at a time: the files that are needed of one pack, or one file.
  struct Task {
    uint32_t pack = model::kNoPack;
    std::vector<uint32_t> files;
  };

  const model::FilesManifest& manifest() const { return *files_.manifest(); }
  void Plan();
  void AddPack(uint32_t pack, Task task);
  Status RunTask(const Task& task);
  Status BringFile(uint32_t file);
  Status RunPacks(ThreadPool& pool, std::span<const Task> tasks);
  Status WritePacked(uint32_t file, std::string_view pack);
  Status Note(uint32_t file, Status status);

  reader::RemoteFiles& files_;
  PulledTree& tree_;
  storage::SharedDirectory* shared_;
  std::vector<Task> tasks_;  // files one by one
  std::vector<Task> packs_;
  std::vector<uint32_t> links_;  // last: nothing may be written through them
  uint64_t needed_ = 0;
  // Whether what is needed can be told from what is there by sizes and times.
  bool can_tell_ = true;
  std::mutex mutex_;
  Pulled pulled_;
  ProgressMeter* meter_ = nullptr;
};

}  // namespace forebay::cli
