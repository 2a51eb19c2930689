// Names and file work of a shared directory, on any file system: NFS, SMB, a local disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace forebay::storage {

inline constexpr const char* kSharedFormat = "FOREBAY-SHARED";
inline constexpr const char* kSharedFormatText = "forebay-shared 1\n";
// Folders of a shared directory.
inline constexpr const char* kSharedEntries = "files";
inline constexpr const char* kSharedTemp = "tmp";
inline constexpr const char* kSharedTrash = "trash";
inline constexpr const char* kSharedLocks = "locks";
inline constexpr const char* kSharedListings = "listings";
inline constexpr const char* kSharedFolders[] = {
    kSharedEntries, kSharedTemp, kSharedTrash, kSharedLocks, kSharedListings};
// What an entry holds.
inline constexpr const char* kSharedContent = "content";
inline constexpr const char* kSharedDataset = "dataset";
inline constexpr const char* kSharedUsed = "used";
inline constexpr const char* kSharedPin = "pin";

// Names in a folder, without "." and ".."; kNotFound when there is no such folder.
Result<std::vector<std::string>> ListFolder(const std::string& path);
// What is made in a shared directory has the permissions of the folder it is in, whatever
// the umask: who may use the one may use the other.
Status MakeFolder(const std::string& path);
void ShareLikeFolder(int fd, const std::string& path);
Status WriteSmallFile(const std::string& path, const std::string& text);
struct SharedRoom {
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
};
// Of the file system.
Result<SharedRoom> RoomOf(const std::string& path);
// By a process on this host. Others cannot be seen.
bool IsOpenHere(const std::string& path);
// Everything below and itself; what is gone already is no failure.
void RemoveTree(const std::string& path);
// A name that no other process on any host makes.
std::string UniqueName();
// What the file system's own clock says now: hosts may disagree, their server does not.
// Writes nothing, so that it works on a disk that is full.
Result<int64_t> ServerNanos(const std::string& folder);
// By the server's clock. This host then looks at the folder anew: a change that it makes
// itself ends what a network file system's client remembers of names and listings there.
Status TouchNow(const std::string& path);

}  // namespace forebay::storage
