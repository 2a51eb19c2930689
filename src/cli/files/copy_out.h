// Writes one file of a tree to a local place: by sharing blocks where the file system
// can, by copying where it cannot, and never by a link that would let an edit reach the
// store.
#pragma once

#include <cstdint>
#include <string>

#include "base/hash.h"
#include "base/status.h"
#include "reader/files/remote_files.h"

namespace forebay::cli {

// Appends a whole file to an open, empty one.
Status CopyOut(reader::RemoteFiles& files, uint32_t file, int to);
// The same from a plain file.
Status CopyFile(const std::string& path, int to);
// The source's time, where it has one; 0: it has none.
Status SetFileTime(int fd, int64_t mtime_ns, const std::string& name);
// All of it, by write(2).
Status WriteAll(int fd, std::string_view bytes, const std::string& name);

}  // namespace forebay::cli
