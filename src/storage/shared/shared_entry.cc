#include "storage/shared/shared_entry.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <memory>
#include <vector>

#include "base/errno_status.h"
#include "base/size.h"
#include "base/unique_fd.h"
#include "storage/shared/shared_files.h"

namespace forebay::storage {
namespace {

constexpr size_t kHexDigits = 32;
constexpr size_t kSizeAt = 2 * (kHexDigits + 1);
constexpr size_t kReadBytes = 4 * kMiB;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::string SharedName::ToString() const {
  return fmt::format("{}-{}-{}", key.ToHex(), checksum.ToHex(), size);
}

std::optional<SharedName> SharedName::Parse(std::string_view text) {
  if (text.size() <= kSizeAt) return std::nullopt;
  auto key = Hash128::FromHex(text.substr(0, kHexDigits));
  auto checksum = Hash128::FromHex(text.substr(kHexDigits + 1, kHexDigits));
  if (!key || !checksum) return std::nullopt;
  SharedName name{.key = *key, .checksum = *checksum, .size = 0};
  std::from_chars(text.data() + kSizeAt, text.data() + text.size(), name.size);
  if (name.ToString() != text) return std::nullopt;
  return name;
}

Result<SharedEntry> ReadSharedEntry(const std::string& folder, const SharedName& name) {
  SharedEntry entry{.name = name, .folder = folder, .file_name = {}, .dataset = {}};
  FB_ASSIGN_OR_RETURN(auto content, ListFolder(folder + "/" + kSharedContent));
  if (content.size() != 1) return Status::Corrupt(folder + " holds not one file");
  entry.file_name = std::string(kSharedContent) + "/" + content[0];
  entry.dataset = FirstLine(folder + "/" + kSharedDataset);
  struct stat st {};
  if (::stat((folder + "/" + kSharedUsed).c_str(), &st) == 0) {
    entry.last_use_ns = st.st_mtim.tv_sec * 1'000'000'000LL + st.st_mtim.tv_nsec;
    entry.uses = static_cast<uint64_t>(st.st_size);
  }
  entry.pinned = ::access((folder + "/" + kSharedPin).c_str(), F_OK) == 0;
  return entry;
}

Status VerifySharedFile(const SharedEntry& entry) {
  std::string path = entry.file_path();
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return ErrnoStatus(errno, "open " + path);
  Hasher hasher(entry.name.key.low);
  auto buffer = std::make_unique_for_overwrite<char[]>(kReadBytes);
  uint64_t size = 0;
  for (;;) {
    ssize_t n = ::read(fd.get(), buffer.get(), kReadBytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + path);
    if (n == 0) break;
    hasher.Update(buffer.get(), static_cast<size_t>(n));
    size += static_cast<uint64_t>(n);
  }
  if (size == entry.name.size && hasher.Digest() == entry.name.checksum) {
    return Status::OK();
  }
  return Status::Corrupt(fmt::format(
      "the shared file {} does not have the bytes that were put there", path));
}

}  // namespace forebay::storage
