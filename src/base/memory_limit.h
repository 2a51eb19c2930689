// How much memory this process may use.
#pragma once

#include <cstdint>
#include <string>

namespace forebay {

// The limit of this process's cgroup (version 2 or 1), or the machine's memory where it
// has none. `root` is "/" but in tests.
uint64_t MemoryLimit(const std::string& root = "/");

}  // namespace forebay
