#include "model/brought_files.h"

#include <string>

#include "model/file_names.h"

namespace forebay::model {
namespace {

// Packs are cut far below this.
constexpr uint64_t kPackBytesMax = 64 * kMiB;

}  // namespace

Status CheckBrought(const FilesManifest& manifest) {
  auto wrong = [](const char* what) {
    return Status::Corrupt(std::string("the files manifest does not add up: ") + what);
  };
  if (!manifest.directory_path(0).empty()) return wrong("the root");
  for (uint32_t i = 1; i < manifest.directories().size(); ++i) {
    if (!WhyNoFileName(manifest.directory_path(i)).empty()) return wrong("folders");
  }
  for (uint32_t i = 0; i < manifest.files().size(); ++i) {
    std::string_view name = manifest.file_name(i);
    if (name.find('/') != name.npos || !WhyNoFileName(name).empty()) {
      return wrong("names");
    }
    if (manifest.files()[i].size < 0) return wrong("sizes");
    bool is_link = manifest.files()[i].is_link();
    if (is_link && !WhyNoLinkTarget(manifest.link_target(i)).empty()) {
      return wrong("links");
    }
  }
  for (const PackRecord& pack : manifest.packs()) {
    if (pack.size > kPackBytesMax) return wrong("packs");
    for (uint32_t file : manifest.members(pack)) {
      if (file >= manifest.files().size()) return wrong("members");
    }
  }
  return Status::OK();
}

}  // namespace forebay::model
