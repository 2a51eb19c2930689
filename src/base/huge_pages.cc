#include "base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace forebay {

bool PrepareHugePages(int fd, uint64_t size) {
  if (::ftruncate(fd, static_cast<off_t>(size)) != 0) return false;
  uint64_t whole = size / kHugePageBytes * kHugePageBytes;
  if (whole == 0) return true;
  // The kernel collapses only where at least one small page is; it then clears the rest
  // of the huge page, which is far cheaper than copying it. Written, not touched through
  // the mapping: on a full tmpfs that is an error, not SIGBUS.
  for (uint64_t at = 0; at < whole; at += kHugePageBytes) {
    if (::pwrite(fd, "", 1, static_cast<off_t>(at)) != 1) return false;
  }
  void* data = MapForHugePages({.fd = fd,
                                .size = whole,
                                .protection = PROT_READ | PROT_WRITE,
                                .flags = MAP_SHARED});
  if (data == MAP_FAILED) return false;
  bool collapsed = ::madvise(data, whole, MADV_COLLAPSE) == 0;
  ::munmap(data, whole);
  return collapsed;
}

void* MapForHugePages(const MapRequest& r) {
  if (r.size < kHugePageBytes) {
    return ::mmap(nullptr, r.size, r.protection, r.flags, r.fd, 0);
  }
  // Room for the mapping at a round address, then what is around it is given back.
  size_t room = r.size + kHugePageBytes;
  constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* reserved = ::mmap(nullptr, room, PROT_NONE, kReserve, -1, 0);
  if (reserved == MAP_FAILED) return MAP_FAILED;
  auto begin = reinterpret_cast<uintptr_t>(reserved);
  uintptr_t at = (begin + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  void* data = ::mmap(reinterpret_cast<void*>(at), r.size, r.protection,
                      r.flags | MAP_FIXED, r.fd, 0);
  if (data == MAP_FAILED) {
    ::munmap(reserved, room);
    return MAP_FAILED;
  }
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t end = (at + r.size + page - 1) / page * page;
  if (at > begin) ::munmap(reserved, at - begin);
  if (begin + room > end) ::munmap(reinterpret_cast<void*>(end), begin + room - end);
  return data;
}

}  // namespace forebay
