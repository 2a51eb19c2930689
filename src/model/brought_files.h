// Files manifests that somebody brings: a reader, a head, a directory that hosts share.
#pragma once

#include "base/status.h"
#include "model/files_manifest.h"

namespace forebay::model {

// Such a manifest was made by some node, or so it says: whatever is taken for granted of
// one is looked at, names above all, which must not lead out of the root. kCorrupt when
// it does not add up.
Status CheckBrought(const FilesManifest& manifest);

}  // namespace forebay::model
