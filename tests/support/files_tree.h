// Manifests of made-up trees, for tests.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "model/files_manifest.h"

namespace forebay::testing {

// Path → bytes; the etag of a file is a hash of its bytes, its time is counted from 1.
// A path with '/' at its end is an empty folder, "-> x" instead of bytes a link to x.
using Tree = std::map<std::string, std::string>;
std::shared_ptr<const model::FilesManifest> ManifestOf(const Tree& tree);
// The same without bytes.
std::shared_ptr<const model::FilesManifest> ManifestOfSizes(
    const std::map<std::string, uint64_t>& sizes);

}  // namespace forebay::testing
