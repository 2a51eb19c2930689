// A local folder that a tree is pulled into: which of its files are there already, and
// how a file gets there. Thread-safe.
//
// What was pulled is written down in .forebay-pull, the manifest of that version. A file
// is left alone when its identity is the one of then and nobody has touched it since:
// size and modification time are those it was given.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "reader/files/remote_files.h"

namespace forebay::cli {

class PulledTree {
 public:
  // Makes the folder when it is missing.
  static Result<std::unique_ptr<PulledTree>> Open(
      const std::string& path, std::shared_ptr<reader::RemoteFiles> files);

  ~PulledTree();
  // The notes of pulls, and with a number after it, what they work on.
  static constexpr const char* kReserved = ".forebay-pull";
  static bool IsReserved(std::string_view path);

  // Files and links.
  bool IsThere(uint32_t file) const;
  // Of the tree's file, whatever bytes it has.
  bool HasSizeAndTime(uint32_t file) const;
  // A link in the place of one is removed if a pull made it, and is an error else.
  Status MakeDirectories();
  // Once all files are there: nothing is ever written through a link.
  Status MakeLink(uint32_t link);
  // Under a name of its own first, then renamed: nobody sees a part of a file.
  Status Write(uint32_t file, std::string_view bytes);
  Status Copy(uint32_t file);
  Status CopyFrom(uint32_t file, const std::string& path);
  // That files with the size and time of this version are of it.
  Status Remember();

 private:
  PulledTree(std::string path, std::shared_ptr<reader::RemoteFiles> files)
      : path_(std::move(path)), files_(std::move(files)) {}
  Status LoadPrevious();
  Status NotOfAPull() const;
  bool IsOfAPull(const std::string& link) const;
  Status MakeDirectory(const std::string& path);
  Status WriteBy(uint32_t file, const std::function<Status(int fd)>& write);
  Result<UniqueFd> Create(const std::string& name) const;
  std::string TempName(const std::string& name);
  Status MakeMark();
  Status SweepDead();
  Status Finish(int fd, uint32_t file, const std::string& temp, const std::string& name);

  const std::string path_;
  std::shared_ptr<reader::RemoteFiles> files_;
  std::shared_ptr<const model::FilesManifest> previous_;
  UniqueFd folder_;
  std::string mark_;
  UniqueFd mark_fd_;
  std::atomic<uint64_t> next_temp_{0};
};

}  // namespace forebay::cli
