#include "base/huge_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include "base/unique_fd.h"

namespace forebay {
namespace {

TEST(HugePages, FilesArePreparedAtTheirSizeAndReadAsZeros) {
  for (uint64_t size :
       {uint64_t{0}, uint64_t{100}, kHugePageBytes, 5 * kHugePageBytes + 7}) {
    UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
    PrepareHugePages(fd.get(), size);  // may decline; the file must be right all the same
    struct stat info {};
    ASSERT_EQ(fstat(fd.get(), &info), 0);
    ASSERT_EQ(static_cast<uint64_t>(info.st_size), size);
    if (size == 0) continue;
    auto* data = static_cast<char*>(MapForHugePages({.fd = fd.get(),
                                                     .size = size,
                                                     .protection = PROT_READ | PROT_WRITE,
                                                     .flags = MAP_SHARED}));
    ASSERT_NE(data, MAP_FAILED);
    for (uint64_t i = 0; i < size; i += 997) ASSERT_EQ(data[i], 0);
    std::memset(data, 1, size);
    munmap(data, size);
  }
}

TEST(HugePages, MappingsOfLargeFilesStartAtARoundAddress) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC));
  uint64_t size = 3 * kHugePageBytes + 5000;
  ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  void* data = MapForHugePages(
      {.fd = fd.get(), .size = size, .protection = PROT_READ, .flags = MAP_SHARED});
  ASSERT_NE(data, MAP_FAILED);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % kHugePageBytes, 0U);
  EXPECT_EQ(munmap(data, size), 0);
}

TEST(HugePages, AMappingThatFailsSaysSo) {
  EXPECT_EQ(MapForHugePages({.fd = -1,
                             .size = 3 * kHugePageBytes,
                             .protection = PROT_READ,
                             .flags = MAP_SHARED}),
            MAP_FAILED);
}

TEST(HugePages, DeclinesWhatCannotGrow) { EXPECT_FALSE(PrepareHugePages(-1, 100)); }

}  // namespace
}  // namespace forebay
