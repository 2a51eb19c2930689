// The few system calls the tiers are made of, with EINTR and short counts dealt with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace forebay::storage {

Status WriteAll(int fd, const void* data, size_t size);
Result<UniqueFd> OpenFile(const std::string& path, int flags);
Result<uint64_t> FileSize(int fd);
// Calls `take` with the file's bytes from the start, in large pieces, until its end.
Status ReadThrough(int fd, const std::function<Status(const char*, size_t)>& take);
// XXH3 of the file's bytes, of which there must be `size`; else kCorrupt.
Result<Hash128> HashFile(int fd, uint64_t size, uint64_t seed);
Status SyncDirectory(const std::string& path);
// 0700; there already is fine.
Status MakeDirectory(const std::string& path);
// With its parents.
Status MakeDirectories(const std::string& path);
int64_t ModifiedNanos(const std::string& path);  // 0 when it is not there
void SetModified(int fd, int64_t wall_ns);

enum class EntryType { kFile, kDirectory, kOther };
// Calls `each` for the entries but "." and "..", in no order. A directory that is not
// there is kNotFound.
Status ForEachEntry(const std::string& path,
                    const std::function<void(std::string_view name, EntryType)>& each);

}  // namespace forebay::storage
