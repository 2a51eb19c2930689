"""The loader: batches made ready ahead of the loop by threads of its process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from .. import _native
from .._arguments import whole
from ..loader_stats import LoaderStats, costs_of
from ..ordered_map import OrderedMap
from .batch import Batch
from .dataset import _ALL_STEPS, Dataset
from .nested import mapped

_THREADS_MAX = 8
# Below this a wait is the cost of handing over; asking what it was for would cost more.
_READY_SECONDS = 50e-6


class Loader:
    """The batches of a dataset, gathered by native threads ahead of the loop.

    threads     that gather, and that run ``transform``; default: the cores that a rank has
    prefetch    batches that are ready or in the making
    from_arrow  makes of a :class:`forebay.Batch` what is delivered, instead of tensors
    transform   is called with each batch, ahead of the loop, by several threads at once
    pin_memory  gives tensors in page-locked memory, from which copies to a GPU are fast
    device      gives tensors on that GPU, copied ahead of the loop
    """

    def __init__(self, dataset: Dataset, *, threads: int | None = None,
                 prefetch: int | None = None,
                 transform: Callable[[Any], Any] | None = None,
                 from_arrow: Callable[[_native.Batch], Any] | None = None,
                 pin_memory: bool = False, device: Any = None):
        if not isinstance(dataset, Dataset):
            raise TypeError(f"a Loader is for a forebay.torch.Dataset, not for a "
                            f"{type(dataset).__name__}")
        self.dataset = dataset
        self._threads = whole("threads", _threads() if threads is None else threads, 1)
        self._prefetch = whole("prefetch", max(4, 2 * self._threads) if prefetch is None
                               else prefetch, 1)
        self._convert = dataset.converter(from_arrow)
        self._converts_itself = bool(from_arrow or dataset.from_arrow)
        self._transform = transform
        self._pin_memory = pin_memory
        self._ring = _ring(device, self._prefetch)
        if pin_memory and self._ring is None and not torch.cuda.is_available():
            raise RuntimeError("pin_memory=True needs CUDA, and torch finds none here: leave "
                               "it out on machines without a GPU")
        self._stats = LoaderStats(dataset.epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("a Loader has threads and no workers: iterate over it in the "
                               "training process")
        self.dataset.check_place()
        return _Pass(self)

    def state_dict(self) -> dict[str, Any]:
        """The dataset's: where the loop is, by what it has received."""
        return self.dataset.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.dataset.load_state_dict(state)

    def stats(self) -> dict[str, Any]:
        """Of this epoch, or the last one: steps, seconds, and how long the loop waited for
        what; docs/python.md has the names."""
        return self._stats.as_dict()

    def _begin(self) -> tuple[int, _native.Stream, LoaderStats]:
        epoch, start = self.dataset.progress.begin()
        self._stats = LoaderStats(epoch)
        return epoch, self._stream(epoch, start), self._stats

    def _stream(self, epoch: int, start: int) -> _native.Stream:
        options = self.dataset.stream_options(epoch, start)
        options.threads = self._threads
        options.ahead = self._prefetch
        return self.dataset.dataset._table.stream(options)

    def _needs_threads(self) -> bool:
        """Whether something of the user's, or slow, is to be done ahead of the loop."""
        return bool(self._transform or self._pin_memory or self._ring
                    or self._converts_itself)


class _Made:
    """A batch, where it ends, and what went into it."""

    __slots__ = ("batch", "position", "_native", "_seconds", "_costs")

    def __init__(self, batch: Any, position: int, native: _native.Batch,
                 seconds: dict[str, float]):
        self.batch = batch
        self.position = position
        self._native: _native.Batch | None = native
        self._seconds = seconds
        self._costs: dict[str, float] | None = None

    def costs(self) -> dict[str, float]:
        """Seconds by cause."""
        if self._costs is None:
            self._costs = costs_of(self._seconds, getattr(self._native, "times", {}))
            self._native = None
        return self._costs


class _Pass:
    """One iteration over what is left of an epoch."""

    def __init__(self, loader: Loader):
        self._dataset = loader.dataset
        self._epoch, self._stream, self._stats = loader._begin()
        self._workshop = _Workshop(loader, self._stream, self._epoch)
        self._ring = loader._ring
        self._ahead: OrderedMap | None = None
        self._over = False
        self._broken = False
        if loader._needs_threads():
            self._ahead = OrderedMap(self._workshop.pull, self._workshop.make_ahead,
                                     threads=loader._threads, ahead=loader._prefetch,
                                     cancel=self._stream.cancel)

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        if self._broken:
            raise RuntimeError("this iteration ended with an error: begin a new one. "
                               "dataset.state_dict() is from before the batch that failed")
        began = time.perf_counter()
        made = self._next_made()
        if made is None:
            self._finish()
            raise StopIteration
        waited = time.perf_counter() - began
        if waited < _READY_SECONDS and self._stats.steps:
            self._stats.add_ready(waited)
        else:
            self._stats.add(waited, made.costs())
        self._dataset.progress.received(self._epoch, made.position)
        return made.batch

    def _next_made(self) -> _Made | None:
        if self._ahead is None:
            # After an error of its own the native stream gives the same batch again.
            pulled = self._workshop.pull()
        self._broken = True
        if self._ahead is None:
            made = None if pulled is None else self._workshop.make(pulled)
        else:
            _, made = self._ahead.take()
        if made is not None and self._ring is not None:
            made.batch = self._ring.receive(made.batch)
        self._broken = False
        return made

    def _finish(self) -> None:
        self._over = True
        position = self._stream.position_after(_ALL_STEPS)
        self._dataset.progress.finished(self._epoch, position)
        self._stats.end()
        if self._ahead is not None:
            self._ahead.close()


class _Workshop:
    """Makes of native batches what the loop gets. Several threads may use it."""

    def __init__(self, loader: Loader, stream: _native.Stream, epoch: int):
        self._stream = stream
        self._cursor = loader.dataset.cursor(epoch, 0)
        self._convert = loader._convert
        self._transform = loader._transform
        self._pin_memory = loader._pin_memory
        self._ring = loader._ring

    def pull(self) -> tuple[_native.Batch, float] | None:
        native = self._stream.next()
        return None if native is None else (native, self._stream.waited)

    def make(self, pulled: tuple[_native.Batch, float]) -> _Made:
        native, waited = pulled
        position = self._stream.position_after(native.step + 1)
        began = time.perf_counter()
        batch = self._convert(native)
        converted = time.perf_counter()
        if self._transform is not None:
            batch = self._transform(batch)
        if type(batch) is dict:
            batch = Batch(batch, self._cursor, position)
        transformed = time.perf_counter()
        if self._ring is not None:
            batch = self._ring.send(batch)
        elif self._pin_memory:
            batch = mapped(batch, torch.Tensor.pin_memory)
        return _Made(batch, position, native, {
            "native": waited, "gather": converted - began,
            "transform": transformed - converted, "device": time.perf_counter() - transformed})

    def make_ahead(self, pulled: tuple[_native.Batch, float]) -> _Made:
        made = self.make(pulled)
        made.costs()
        return made


def _threads() -> int:
    """Cores of this process, or its part of them where torchrun started several."""
    cores = len(os.sched_getaffinity(0))
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return max(1, min(_THREADS_MAX, cores // ranks))


def _ring(device: Any, prefetch: int) -> Any:
    if device is None or torch.device(device).type == "cpu":
        return None
    from ..cuda_ring import CudaRing
    return CudaRing(device, slots=prefetch)
