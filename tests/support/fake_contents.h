// A version whose bytes are in memory, for tests.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "fuse/filesystem.h"
#include "support/files_tree.h"

namespace forebay::fuse {

class FakeContents final : public Contents {
 public:
  explicit FakeContents(testing::Tree tree)
      : tree_(std::move(tree)), manifest_(testing::ManifestOf(tree_)) {}

  const model::FilesManifest& manifest() const override { return *manifest_; }
  // Pieces of at most this many bytes, as if chunks ended there.
  uint64_t piece_bytes = UINT64_MAX;
  bool mapped = true;

  std::optional<FileBytes> TryAt(uint32_t file, uint64_t offset) override {
    if (!mapped) return std::nullopt;
    return Cut(file, offset);
  }
  Result<FileBytes> At(uint32_t file, uint64_t offset, Deadline) override {
    return Cut(file, offset);
  }
  // A memfd with the file's bytes and `extra_bytes` more; an error without `mapped`.
  Result<FileDescriptor> Descriptor(uint32_t file, Deadline) override {
    ++descriptors;
    if (!mapped) return Status::Changed("it is another one now");
    std::string bytes = tree_.at(manifest_->FilePath(file)) + std::string(extra_bytes, 0);
    UniqueFd fd(::memfd_create("fake", 0));
    FB_CHECK(::write(fd.get(), bytes.data(), bytes.size()) ==
             static_cast<ssize_t>(bytes.size()));
    return FileDescriptor{std::move(fd), 0, bytes.size() - extra_bytes};
  }
  size_t extra_bytes = 0;
  int descriptors = 0;
  void Want(std::span<const model::ChunkRef>) override {}
  void Bring(std::span<const reader::RemoteFiles::Place>) override {}

 private:
  FileBytes Cut(uint32_t file, uint64_t offset) {
    std::string_view bytes = tree_.at(manifest_->FilePath(file));
    return {nullptr, bytes.substr(offset, piece_bytes)};
  }
  testing::Tree tree_;
  std::shared_ptr<const model::FilesManifest> manifest_;
};

// The version that follows `before`, or the first one.
inline GenerationPtr NextGeneration(const GenerationPtr& before, testing::Tree tree) {
  auto generation = std::make_shared<Generation>();
  generation->contents = std::make_shared<FakeContents>(std::move(tree));
  if (before != nullptr) {
    generation->number = before->number + 1;
    const model::FilesManifest& now = generation->contents->manifest();
    Births::Known known{&before->contents->manifest(), &before->births};
    UniqueFd fd = Births::Write(known, now, generation->number).ValueOrDie();
    generation->births = Births::View(fd.get(), now).ValueOrDie();
  }
  return generation;
}

}  // namespace forebay::fuse
