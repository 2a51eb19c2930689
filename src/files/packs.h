// Small files become packs: leaves of a tree over the hashes of their paths. A leaf that
// grows past the limit is cut in two by the next bit, so a file that comes or goes
// changes its own pack and no other.
#pragma once

#include <cstdint>
#include <vector>

#include "base/size.h"

namespace forebay::files {

// A leaf has more than half of this when it was just cut, so about 16 MiB on average.
constexpr uint64_t kPackBytesMax = 24 * kMiB;
constexpr size_t kPackFilesMax = 8192;

struct SmallFile {
  uint64_t hash;  // of the path
  uint64_t size;
  uint32_t file;
};

// Sorts the files by hash and cuts them; each pack is given by the end of its files.
std::vector<size_t> CutPacks(std::vector<SmallFile>* files);

}  // namespace forebay::files
