#include "base/memory_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/size.h"

namespace forebay {
namespace {

TEST(MemoryLimit, IsTheCgroupsWhereItHasOne) {
  auto root = std::filesystem::temp_directory_path() /
              ("forebay-memory-test-" + std::to_string(::getpid()) + "/");
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root / "proc");
  std::filesystem::create_directories(root / "sys/fs/cgroup/memory");
  std::ofstream(root / "proc/meminfo") << "MemFree: 5 kB\nMemTotal:  1048576 kB\n";
  EXPECT_EQ(MemoryLimit(root), kGiB);
  std::ofstream(root / "sys/fs/cgroup/memory.max") << "max\n";
  EXPECT_EQ(MemoryLimit(root), kGiB);
  std::ofstream(root / "sys/fs/cgroup/memory.max") << "536870912\n";
  EXPECT_EQ(MemoryLimit(root), 512 * kMiB);
  std::ofstream(root / "sys/fs/cgroup/memory.max") << 4 * kGiB << "\n";
  EXPECT_EQ(MemoryLimit(root), kGiB) << "no cgroup makes the machine larger";
  std::ofstream(root / "sys/fs/cgroup/memory/memory.limit_in_bytes") << "1048576\n";
  EXPECT_EQ(MemoryLimit(root), kMiB);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace forebay
