// A listing becomes the manifest of a files version (model/files_manifest.h).
#pragma once

#include <string>

#include "files/file_list.h"

namespace forebay::files {

struct Place {
  std::string root;    // a URI without '/' at its end
  std::string origin;  // of the source
};

// The bytes of the manifest. The same files with the same identities give the same bytes,
// in whatever order they were listed.
std::string BuildFilesManifest(const Place& place, FileList list);

}  // namespace forebay::files
