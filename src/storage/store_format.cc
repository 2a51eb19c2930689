#include "storage/store_format.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/errno_status.h"
#include "storage/file_io.h"
#include "storage/temp_name.h"

namespace forebay::storage {
namespace {

constexpr std::string_view kFormatFile = "FORMAT";
constexpr std::string_view kTempPrefix = ".FORMAT-";
constexpr size_t kFormatBytesMax = 64;

Status CheckIsEmpty(const std::string& directory) {
  std::string other;
  FB_RETURN_NOT_OK(ForEachEntry(directory, [&](std::string_view name, EntryType) {
    bool expected =
        name == kFormatFile || name == "lost+found" || name.starts_with(kTempPrefix);
    if (!expected) other = name;
  }));
  if (other.empty()) return Status::OK();
  return Status::Invalid(fmt::format(
      "{} is not a Forebay store and not empty (it holds '{}'); name an empty "
      "or a new directory",
      directory, other));
}

// Its parent must be there: a folder on a disk that is not mounted, or one misspelt,
// would else fill a disk that nobody meant.
Status MakeStoreDirectory(const std::string& directory) {
  Status made = MakeDirectory(directory);
  if (made.code() != StatusCode::kNotFound) return made;
  return Status::NotFound(
      fmt::format("the store {} cannot be made: {} does not exist; make it, or name "
                  "another directory",
                  directory, std::filesystem::path(directory).parent_path().string()));
}

Status WriteDurably(const std::string& path, std::string_view text) {
  FB_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL));
  FB_RETURN_NOT_OK(WriteAll(fd.get(), text.data(), text.size()));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, "fsync " + path);
  return Status::OK();
}

// By link, so that a newer Forebay that was faster keeps its own file; by rename where
// the file system has no links.
Status GiveName(const std::string& temp, const std::string& path) {
  if (link(temp.c_str(), path.c_str()) == 0 || errno == EEXIST) return Status::OK();
  if ((errno == EPERM || errno == ENOTSUP || errno == ENOSYS) &&
      rename(temp.c_str(), path.c_str()) == 0) {
    return Status::OK();
  }
  return ErrnoStatus(errno, "create " + path);
}

}  // namespace

Status CheckStoreFormat(const std::string& directory) {
  std::string path = fmt::format("{}/{}", directory, kFormatFile);
  FB_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY));
  char text[kFormatBytesMax + 1] = {};
  ssize_t size = pread(fd.get(), text, kFormatBytesMax, 0);
  if (size < 0) return ErrnoStatus(errno, "read " + path);
  uint32_t version = 0;
  char newline = 0;
  if (std::sscanf(text, "forebay-store %u%c", &version, &newline) != 2 ||
      newline != '\n' || version == 0) {
    return Status::Corrupt(
        fmt::format("{} is not the FORMAT file of a store; remove the directory {} to "
                    "start with an empty store",
                    path, directory));
  }
  if (version > kStoreFormatVersion) {
    return Status::Unsupported(fmt::format(
        "the store {} has format {}, and this Forebay knows formats up to {}; "
        "use a newer Forebay or another directory",
        directory, version, kStoreFormatVersion));
  }
  return Status::OK();
}

Status MakeStoreFormat(const std::string& directory) {
  FB_RETURN_NOT_OK(MakeStoreDirectory(directory));
  Status there = CheckStoreFormat(directory);
  if (there.code() != StatusCode::kNotFound) return there;
  if (Status empty = CheckIsEmpty(directory); !empty.ok()) {
    // Another process may have made the whole store since the first look.
    there = CheckStoreFormat(directory);
    return there.code() == StatusCode::kNotFound ? empty : there;
  }
  std::string temp = fmt::format("{}/{}{:016x}", directory, kTempPrefix, RandomNonce());
  std::string path = fmt::format("{}/{}", directory, kFormatFile);
  Status written =
      WriteDurably(temp, fmt::format("forebay-store {}\n", kStoreFormatVersion));
  if (written.ok()) written = GiveName(temp, path);
  (void)unlink(temp.c_str());
  FB_RETURN_NOT_OK(written);
  return CheckStoreFormat(directory);
}

}  // namespace forebay::storage
