#include "fuse/births.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/errno_status.h"

namespace forebay::fuse {
namespace {

using Birth = Births::Birth;

Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "write the table of inodes");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return Status::OK();
}

void BirthsOfFiles(const Births::Known& before, const model::FilesManifest& now,
                   uint32_t directory, std::optional<uint32_t> was, Birth* files) {
  if (!was) return;
  for (uint32_t file : now.FilesIn(directory)) {
    auto old = before.manifest->FindFileIn(*was, now.file_name(file));
    if (old && SameFile(*before.manifest, *old, now, file)) {
      files[file] = before.births->file(*old);
    }
  }
}

}  // namespace

bool SameFile(const model::FilesManifest& a, uint32_t file_a,
              const model::FilesManifest& b, uint32_t file_b) {
  return a.files()[file_a].size == b.files()[file_b].size &&
         a.etag(file_a) == b.etag(file_b) &&
         a.object(file_a).identity == b.object(file_b).identity;
}

Result<Births> Births::View(int fd, const model::FilesManifest& manifest) {
  size_t files = manifest.files().size();
  size_t directories = manifest.directories().size();
  Births out(0);
  FB_ASSIGN_OR_RETURN(
      out.mapping_,
      Mapping::Map(fd, (files + directories) * sizeof(Birth), Mapping::Mode::kShared));
  const auto* table = reinterpret_cast<const Birth*>(out.mapping_->data());
  out.files_ = {table, files};
  out.directories_ = {table + files, directories};
  return out;
}

Result<UniqueFd> Births::Write(const Known& before, const model::FilesManifest& now,
                               uint32_t generation) {
  size_t files = now.files().size();
  size_t directories = now.directories().size();
  std::vector<Birth> table(files + directories);
  for (uint32_t i = 0; i < files; ++i) table[i] = {generation, i};
  for (uint32_t i = 0; i < directories; ++i) {
    auto was = before.manifest->FindDirectory(now.directory_path(i));
    table[files + i] = was ? before.births->directory(*was) : Birth{generation, i};
    BirthsOfFiles(before, now, i, was, table.data());
  }
  UniqueFd fd(::memfd_create("forebay-inodes", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "make a table of inodes");
  FB_RETURN_NOT_OK(WriteAll(fd.get(), {reinterpret_cast<const char*>(table.data()),
                                       table.size() * sizeof(Birth)}));
  return fd;
}

}  // namespace forebay::fuse
