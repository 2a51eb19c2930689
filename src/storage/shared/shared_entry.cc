#include "storage/shared/shared_entry.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "base/unique_fd.h"
#include "storage/file_io.h"
#include "storage/shared/shared_files.h"

namespace forebay::storage {
namespace {

constexpr size_t kHexDigits = 32;
constexpr size_t kSizeAt = 2 * (kHexDigits + 1);

// Waits for nobody, whatever lies there.
std::string FirstLine(const std::string& path) {
  char text[4096];
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  ssize_t size = fd.valid() ? ::read(fd.get(), text, sizeof(text)) : 0;
  std::string_view bytes(text, size > 0 ? static_cast<size_t>(size) : 0);
  return std::string(bytes.substr(0, bytes.find('\n')));
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
  FB_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY | O_NOFOLLOW));
  auto checksum = HashFile(fd.get(), entry.name.size, entry.name.key.low);
  if (!checksum.ok()) return checksum.status().WithContext(path);
  if (*checksum == entry.name.checksum) return Status::OK();
  return Status::Corrupt(fmt::format(
      "the shared file {} does not have the bytes that were put there", path));
}

}  // namespace forebay::storage
