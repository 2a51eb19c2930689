#include "cli/files/shared_files.h"

#include <filesystem>
#include <mutex>

#include "base/uri.h"
#include "cli/files/copy_out.h"
#include "cli/output.h"

namespace forebay::cli {
namespace {

// Where this user's cache is; empty when there is none.
std::string VerifiedFolder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string base;
  if (cache != nullptr && *cache != 0) {
    base = cache;
  } else if (home != nullptr && *home != 0) {
    base = std::string(home) + "/.cache";
  }
  if (base.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(base + "/forebay/verified", error);
  return error ? std::string() : base + "/forebay/verified";
}

// Full, or not to be written.
bool HasNoRoom(const Status& status) {
  return status.code() == StatusCode::kFull || status.code() == StatusCode::kPermission;
}

}  // namespace

Result<std::unique_ptr<storage::SharedDirectory>> OpenShared(const std::string& path,
                                                             bool create) {
  std::error_code error;
  auto absolute = std::filesystem::absolute(path, error);
  if (path.empty() || error) return Status::Invalid("--shared wants a folder");
  std::string folder = absolute.lexically_normal().string();
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  if (std::filesystem::exists(folder, error) &&
      !std::filesystem::is_directory(folder, error)) {
    return Status::Invalid(path + " is not a folder: give one that hosts share");
  }
  return storage::SharedDirectory::Open(
      {.path = folder, .create = create, .memory = VerifiedFolder()});
}

Result<storage::SharedEntry> BringShared(storage::SharedDirectory& shared,
                                         reader::RemoteFiles& files, uint32_t file) {
  const model::FilesManifest& manifest = *files.manifest();
  storage::SharedDirectory::Content content{
      .key = manifest.object(file).ContentHash(manifest.origin()),
      .file_name = std::string(manifest.file_name(file)),
      .dataset = Printable(RedactUri(manifest.root())),
      .size = static_cast<uint64_t>(manifest.files()[file].size),
      .write = [&](int fd) { return CopyOut(files, file, fd); }};
  FB_ASSIGN_OR_RETURN(auto entry,
                      shared.Bring(content, Deadline::After(files.timeout())));
  shared.NoteUse(entry);
  return entry;
}

Status CopyShared(storage::SharedDirectory& shared, const SharedCopy& copy) {
  constexpr int kAttempts = 6;
  for (int attempt = 1;; ++attempt) {
    auto entry = BringShared(shared, copy.files, copy.file);
    if (!entry.ok()) {
      if (!HasNoRoom(entry.status())) return entry.status();
      static std::once_flag told;
      std::call_once(told, [&] {
        Complain("files come without the shared directory: " + entry.status().message());
      });
      return copy.without();
    }
    Status copied = copy.from(entry->file_path());
    // Another host evicts it, or its server restarts.
    bool gone = copied.code() == StatusCode::kNotFound ||
                copied.code() == StatusCode::kUnavailable;
    if (!gone || attempt == kAttempts) return copied;
  }
}

}  // namespace forebay::cli
