#include "native/pinned_pool.h"

#include <nanobind/stl/shared_ptr.h>

namespace nb = nanobind;

namespace forebay::python {
namespace {

using HostAlloc = int (*)(void** out, size_t size, unsigned flags);
using FreeHost = int (*)(void* block);
using SetDevice = int (*)(int device);

constexpr unsigned kPortable = 1;  // cudaHostAllocPortable: pinned for every device

uint8_t* Allocate(const PinnedMemory& memory, uint64_t size) {
  void* block = nullptr;
  // A thread of ours has no device yet, and would open a context on the first one.
  if (reinterpret_cast<SetDevice>(memory.set_device)(memory.device) != 0) return nullptr;
  int error = reinterpret_cast<HostAlloc>(memory.host_alloc)(&block, size, kPortable);
  return error == 0 ? static_cast<uint8_t*>(block) : nullptr;
}

}  // namespace

std::shared_ptr<reader::BufferPool> MakePinnedPool(const PinnedMemory& memory) {
  reader::BufferPool::Memory functions{
      .allocate = [memory](uint64_t size) { return Allocate(memory, size); },
      .release =
          [memory](uint8_t* block) {
            reinterpret_cast<FreeHost>(memory.free_host)(block);
          },
  };
  // Freeing such memory waits for the device, so blocks are kept: as many as are ever in
  // use at once.
  return reader::BufferPool::Make(
      {.kept_bytes_max = ~uint64_t{0}, .memory = std::move(functions)});
}

void BindPinnedPool(nb::module_& m) {
  nb::class_<reader::BufferPool>(m, "PinnedPool")
      .def_prop_ro("kept_bytes", &reader::BufferPool::kept_bytes)
      .def_prop_ro("fresh_count", &reader::BufferPool::fresh_count);
  nb::class_<PinnedMemory>(m, "PinnedMemory")
      .def(nb::init<>())
      .def_rw("host_alloc", &PinnedMemory::host_alloc)
      .def_rw("free_host", &PinnedMemory::free_host)
      .def_rw("set_device", &PinnedMemory::set_device)
      .def_rw("device", &PinnedMemory::device);
  m.def("pinned_pool", &MakePinnedPool, nb::arg("memory"));
}

}  // namespace forebay::python
