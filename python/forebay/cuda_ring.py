"""Batches on a GPU ahead of the loop: a fixed ring of pinned buffers, and copies on a
stream of their own."""

from __future__ import annotations

import ctypes
import queue
from collections import deque
from typing import Any, NamedTuple

import torch

from . import _native
from .torch.nested import mapped, tensors

_ALIGNMENT = 256


def pinned_pool(device: int) -> _native.PinnedPool | None:
    """A pool of pinned memory to gather into, from the CUDA runtime that torch has loaded;
    None where that cannot be found. Its memory is taken in the context of this device."""
    name = f"libcudart.so.{(torch.version.cuda or '').split('.')[0]}"
    try:
        runtime = ctypes.CDLL(name)
        functions = [ctypes.cast(function, ctypes.c_void_p).value for function in
                     (runtime.cudaHostAlloc, runtime.cudaFreeHost, runtime.cudaSetDevice)]
    except (OSError, AttributeError):
        return None
    memory = _native.PinnedMemory()
    memory.host_alloc, memory.free_host, memory.set_device = functions
    memory.device = device
    return _native.pinned_pool(memory)


class Sent(NamedTuple):
    """A batch on its way to the device."""

    batch: Any
    copied: torch.cuda.Event


class CudaRing:
    """Sends batches to a device through ``slots`` pinned buffers, each as large as the
    largest batch so far. ``send`` may be called by several threads; it waits only for the
    copy that last used its buffer, and ``busy`` says whether it would. ``receive`` is for the thread that trains: the work it
    queues next waits, on the device, for the copy.

    Tensors that are pinned already, as those gathered into a pinned pool are, are copied
    from where they are; what is to be copied stays until it is.
    """

    def __init__(self, device: Any, slots: int):
        self._device = torch.device(device)
        if self._device.type != "cuda":
            raise ValueError(f"device must be \"cuda\" or \"cuda:N\", not {device!r}")
        if not torch.cuda.is_available():
            raise RuntimeError("device=\"cuda\" needs CUDA, and torch finds none here")
        if self._device.index is None:
            self._device = torch.device("cuda", torch.cuda.current_device())
        # For calls of every step: torch takes a number as it is, and looks into a device.
        self._index = self._device.index
        self._stream = torch.cuda.Stream(self._device)
        self._copies: deque[torch.cuda.Event] = deque(maxlen=slots)  # the last ones
        self._free: queue.SimpleQueue[_Slot] = queue.SimpleQueue()
        for _ in range(slots):
            self._free.put(_Slot())

    @property
    def device(self) -> torch.device:
        return self._device

    def busy(self) -> bool:
        copies = self._copies
        return len(copies) == copies.maxlen and not copies[0].query()

    def send(self, batch: Any) -> Sent:
        slot = self._free.get()
        try:
            slot.wait()
            staged = slot.stage(batch)
            before = torch.cuda.current_stream(self._index)
            # Half as costly as torch.cuda.stream(), which looks at devices as well.
            torch.cuda.set_stream(self._stream)
            try:
                on_device = mapped(staged, self._copy)
                copied = self._stream.record_event()
            finally:
                torch.cuda.set_stream(before)
            slot.hold(staged, copied)
            self._copies.append(copied)
        finally:
            self._free.put(slot)
        return Sent(on_device, copied)

    def receive(self, sent: Sent) -> Any:
        current = torch.cuda.current_stream(self._index)
        current.wait_event(sent.copied)
        for tensor in tensors(sent.batch):
            # Made on the other stream: its memory must not be used again before this
            # stream is done with it.
            tensor.record_stream(current)
        return sent.batch

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(self._device, non_blocking=True)


class _Slot:
    """A pinned buffer, and what is still copied from it."""

    def __init__(self) -> None:
        self._buffer: torch.Tensor | None = None
        self._staged: Any = None
        self._copied: torch.cuda.Event | None = None

    def wait(self) -> None:
        if self._copied is not None:
            self._copied.synchronize()
        self._staged = self._copied = None

    def stage(self, batch: Any) -> Any:
        """The batch with its tensors in pinned memory."""
        unpinned = [t for t in tensors(batch) if t.is_cpu and not t.is_pinned()]
        if not unpinned:
            return batch
        self._reserve(sum(_padded(tensor) for tensor in unpinned))
        free = self._buffer
        staged = {}
        for tensor in unpinned:
            flat = free[:tensor.nbytes].view(tensor.dtype)
            staged[id(tensor)] = flat.view(tensor.shape).copy_(tensor)
            free = free[_padded(tensor):]
        return mapped(batch, lambda tensor: staged.get(id(tensor), tensor))

    def hold(self, staged: Any, copied: torch.cuda.Event) -> None:
        """Pinned tensors of the caller's live until they are copied, too."""
        self._staged = staged
        self._copied = copied

    def _reserve(self, size: int) -> None:
        if self._buffer is None or len(self._buffer) < size:
            self._buffer = torch.empty(max(size, 1), dtype=torch.uint8, pin_memory=True)


def _padded(tensor: torch.Tensor) -> int:
    return -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
