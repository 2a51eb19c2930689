// Counts what this process has open: for tests of things that must be closed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace forebay::testing_support {

inline size_t OpenDescriptors() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace forebay::testing_support
