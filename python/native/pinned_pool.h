// Batches gathered into page-locked memory, from which a device copies at full speed.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "reader/buffer_pool.h"

namespace forebay::python {

// Functions of the CUDA runtime that the process has loaded, by address: nothing of CUDA
// is linked here.
struct PinnedMemory {
  uintptr_t host_alloc = 0;  // cudaHostAlloc
  uintptr_t free_host = 0;   // cudaFreeHost
  uintptr_t set_device = 0;  // cudaSetDevice
  int device = 0;            // the one whose context allocates
};
std::shared_ptr<reader::BufferPool> MakePinnedPool(const PinnedMemory& memory);

void BindPinnedPool(nanobind::module_& m);

}  // namespace forebay::python
