// Runs a fuzzer's function over its kept corpus as a plain test: each file as it is, cut
// short, and with bytes changed. Always the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::fuzz {

inline void RunCorpus(const char* target, void (*fuzz)(std::string_view)) {
  auto folder = std::filesystem::path(FOREBAY_ROOT) / "tests/fuzz/corpus" / target;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  EXPECT_GE(paths.size(), 3U);
  for (const auto& path : paths) {
    SCOPED_TRACE(path.string());
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    fuzz(bytes);
    size_t step = std::max<size_t>(1, bytes.size() / 120);
    for (size_t i = 0; i < bytes.size(); i += step) {
      fuzz(std::string_view(bytes).substr(0, i));
      char kept = bytes[i];
      for (char c : {'\0', '\xff', '\n', ' ', ':', static_cast<char>(kept ^ 1),
                     static_cast<char>(kept ^ 64)}) {
        bytes[i] = c;
        fuzz(bytes);
      }
      bytes[i] = kept;
      fuzz(bytes.substr(0, i) + bytes.substr(i / 2));  // a part twice
    }
  }
}

}  // namespace forebay::fuzz
