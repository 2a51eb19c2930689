// Huge pages for memory that processes share. A table in 4 KiB pages costs a page walk
// for almost every shuffled row (measured: 1.5 to 2 times the time of a gather), and a
// page fault every 4 KiB while it is filled (measured: 10 times the time of a fill).
// Shared memory has them only on request where
// /sys/kernel/mm/transparent_hugepage/shmem_enabled says never, as most systems do.
// Everything here is advice: where the kernel (before 6.1) or the file system declines,
// things work as well, in small pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

constexpr uint64_t kHugePageBytes = uint64_t{2} << 20;

// Gives a memfd or tmpfs file that is still empty huge pages for its first `size` bytes
// and makes it that long. Call it before anything is written: later the pages must be
// copied. Does not reserve: a full tmpfs shows when it is written or allocated. True when
// all whole huge pages of `size` are there.
bool PrepareHugePages(int fd, uint64_t size);

// mmap at an address where the file's huge pages can be mapped as such. Like mmap it
// returns MAP_FAILED and sets errno; unmap with munmap(address, size).
struct MapRequest {
  int fd;
  size_t size;
  int protection;  // PROT_…
  int flags;       // MAP_SHARED or MAP_PRIVATE, …
};
void* MapForHugePages(const MapRequest& request);

}  // namespace forebay
