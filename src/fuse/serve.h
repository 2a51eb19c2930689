// The serving process of a mount, from the first word of its supervisor to the end.
#pragma once

#include <string>

#include "fuse/opened_files.h"
#include "fuse/sources.h"

namespace forebay::fuse {

struct ServeOptions {
  std::vector<SourceSpec> specs;
  reader::OpenOptions open;
  uint64_t memory_bytes = 0;
  std::string profile;  // small, large; empty: chosen from the sizes
  std::string control;  // where the command line asks; empty: nowhere
};

// Returns what the process shall exit with: 0 after the mount was taken away.
int Serve(const ServeOptions& options, UniqueFd supervisor);

}  // namespace forebay::fuse
