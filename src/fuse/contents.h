// The seam between what a mount shows and where its bytes are: one version of one source.
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/files_manifest.h"
#include "reader/files/remote_files.h"

namespace forebay::fuse {

using reader::FileBytes;
using reader::FileDescriptor;

class Contents {
 public:
  virtual ~Contents() = default;
  virtual const model::FilesManifest& manifest() const = 0;
  // Bytes from `offset` on, at least one, empty at the end; nullopt: they must be asked
  // for, which may take long.
  virtual std::optional<FileBytes> TryAt(uint32_t file, uint64_t offset) = 0;
  virtual Result<FileBytes> At(uint32_t file, uint64_t offset, Deadline deadline) = 0;
  // All of a file that is one chunk.
  virtual Result<FileDescriptor> Descriptor(uint32_t file, Deadline deadline) = 0;
  // Hints: these will be needed soon, the chunks in the store, the files here. The second
  // waits until they are.
  virtual void Want(std::span<const model::ChunkRef> refs) = 0;
  virtual void Bring(std::span<const reader::RemoteFiles::Place> places) = 0;
};

// As this host's node serves it.
class RemoteContents final : public Contents {
 public:
  explicit RemoteContents(std::shared_ptr<reader::RemoteFiles> files)
      : files_(std::move(files)) {}
  const model::FilesManifest& manifest() const override { return *files_->manifest(); }
  std::optional<FileBytes> TryAt(uint32_t file, uint64_t offset) override {
    return files_->TryAt(file, offset);
  }
  Result<FileBytes> At(uint32_t file, uint64_t offset, Deadline deadline) override {
    return files_->At(file, offset, deadline);
  }
  Result<FileDescriptor> Descriptor(uint32_t file, Deadline deadline) override {
    return files_->Descriptor(file, 0, deadline);
  }
  void Want(std::span<const model::ChunkRef> refs) override { files_->Want(refs); }
  void Bring(std::span<const reader::RemoteFiles::Place> places) override {
    (void)files_->Bring(places);  // who reads them hears what is wrong
  }

 private:
  std::shared_ptr<reader::RemoteFiles> files_;
};

}  // namespace forebay::fuse
