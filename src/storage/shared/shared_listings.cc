// What hosts saw at a source last, for when it cannot be asked.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "base/errno_status.h"
#include "base/unique_fd.h"
#include "storage/file_io.h"
#include "storage/shared/shared_directory.h"

namespace forebay::storage {
namespace {

constexpr size_t kSumBytes = 33;  // the checksum in hex, and a newline

std::string SumOf(const Hash128& asked, std::string_view bytes) {
  return HashBytes(bytes, asked.low).ToHex() + "\n";
}

Result<std::string> ReadAll(const std::string& path) {
  FB_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  std::string text;
  FB_RETURN_NOT_OK(ReadThrough(fd.get(), [&](const char* data, size_t size) {
    text.append(data, size);
    return Status::OK();
  }));
  return text;
}

}  // namespace

std::string SharedDirectory::ListingOf(const Hash128& asked) const {
  return Folder(kSharedListings) + "/" + asked.ToHex();
}

Result<SharedDirectory::SeenListing> SharedDirectory::FindListing(const Hash128& asked) {
  std::string path = ListingOf(asked);
  FB_ASSIGN_OR_RETURN(std::string text, ReadAll(path));
  SeenListing seen{.bytes = {}, .seen_ns = ModifiedNanos(path)};
  if (text.size() > kSumBytes) seen.bytes = text.substr(kSumBytes);
  if (text.substr(0, kSumBytes) == SumOf(asked, seen.bytes)) return seen;
  return Status::Corrupt(path + " does not have the bytes that were put there");
}

Status SharedDirectory::KeepListing(const Hash128& asked, std::string_view bytes) {
  std::string path = ListingOf(asked);
  // All of it is compared: one that rots is written again.
  auto there = FindListing(asked);
  if (there.ok() && there->bytes == bytes) return TouchNow(path);
  std::string sum = SumOf(asked, bytes);
  std::string temp = Folder(kSharedTemp) + "/" + UniqueName();
  UniqueFd fd(::open(temp.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) return ErrnoStatus(errno, "make " + temp);
  ShareLikeFolder(fd.get(), temp);
  Status status = WriteAll(fd.get(), sum.data(), sum.size());
  if (status.ok()) status = WriteAll(fd.get(), bytes.data(), bytes.size());
  if (status.ok() && ::fsync(fd.get()) != 0) status = ErrnoStatus(errno, "write " + temp);
  if (status.ok() && ::rename(temp.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, "write " + path);
  }
  if (!status.ok()) ::unlink(temp.c_str());
  return status;
}

}  // namespace forebay::storage
