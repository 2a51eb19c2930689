#include "support/files_tree.h"

#include "base/hash.h"
#include "files/build_manifest.h"

namespace forebay::testing {

namespace {

constexpr std::string_view kLinkTo = "-> ";

std::shared_ptr<const model::FilesManifest> Build(files::FileList list) {
  auto bytes = std::make_shared<const std::string>(
      files::BuildFilesManifest({.root = "s3://b/p", .origin = "o"}, std::move(list)));
  return model::FilesManifest::View(*bytes, bytes).ValueOrDie();
}

}  // namespace

std::shared_ptr<const model::FilesManifest> ManifestOf(const Tree& tree) {
  files::FileList list;
  int64_t time = 0;
  for (const auto& [path, bytes] : tree) {
    model::ObjectIdentity identity;
    identity.size = static_cast<int64_t>(bytes.size());
    identity.etag = HashBytes(bytes).ToHex();
    identity.mtime_ns = ++time * 1'000'000'000;
    if (path.ends_with('/')) {
      list.AddFolder(path.substr(0, path.size() - 1));
    } else if (bytes.starts_with(kLinkTo)) {
      list.AddLink(path, bytes.substr(kLinkTo.size()), identity.mtime_ns);
    } else {
      list.Add(path, identity);
    }
  }
  return Build(std::move(list));
}

std::shared_ptr<const model::FilesManifest> ManifestOfSizes(
    const std::map<std::string, uint64_t>& sizes) {
  files::FileList list;
  for (const auto& [path, size] : sizes) {
    model::ObjectIdentity identity;
    identity.size = static_cast<int64_t>(size);
    identity.etag = path;
    list.Add(path, identity);
  }
  return Build(std::move(list));
}

}  // namespace forebay::testing
