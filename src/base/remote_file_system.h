// Which file systems are, or may be, on other machines: there locks cannot be trusted,
// and a mapping turns a server's hiccup into a signal.
#pragma once

#include <cstdint>
#include <string>

namespace forebay {

// What statfs's f_type stands for when the file system is, or may be, on other machines;
// null for those of this host.
const char* RemoteFileSystemName(uint64_t magic);
// Of the file system that holds the path; null also when there is no such path.
const char* RemoteFileSystemOf(const std::string& path);

}  // namespace forebay
