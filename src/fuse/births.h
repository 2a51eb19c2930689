// Where the files and directories of a version first appeared. Those of a mount's first
// version appeared in it, so it needs no table; later ones have one, which is a block of
// memory that the supervisor keeps for the next serving process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/mapping.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "model/files_manifest.h"

namespace forebay::fuse {

class Births {
 public:
  struct Birth {
    uint32_t generation = 0;
    uint32_t index = 0;
  };

  // Of a first version.
  explicit Births(uint32_t generation) : generation_(generation) {}
  // What a process before this one wrote; kCorrupt when it does not fit the manifest.
  static Result<Births> View(int fd, const model::FilesManifest& manifest);

  Birth file(uint32_t index) const { return Find(files_, index); }
  Birth directory(uint32_t index) const { return Find(directories_, index); }

  struct Known {
    const model::FilesManifest* manifest;
    const Births* births;
  };
  // Of the version that comes after `before`, as a memfd.
  static Result<UniqueFd> Write(const Known& before, const model::FilesManifest& now,
                                uint32_t generation);

 private:
  Birth Find(std::span<const Birth> table, uint32_t index) const {
    return table.empty() ? Birth{generation_, index} : table[index];
  }

  uint32_t generation_ = 0;
  std::shared_ptr<const Mapping> mapping_;
  std::span<const Birth> files_;
  std::span<const Birth> directories_;
};

// The same bytes under the same name.
bool SameFile(const model::FilesManifest& a, uint32_t file_a,
              const model::FilesManifest& b, uint32_t file_b);

}  // namespace forebay::fuse
