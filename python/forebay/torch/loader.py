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
from ..loader_stats import LoaderStats
from ..ordered_map import OrderedMap
from .sharded import ALL_STEPS, ShardedDataset
from .workshop import Made, Tools, Workshop

_THREADS_MAX = 8
# Below this a wait is the cost of handing over; asking what it was for would cost more.
_READY_SECONDS = 50e-6
# So many steps before the end of an epoch the next one is begun. Narrow rows are gathered
# in blocks of up to 32 batches, and one block should be ready.
_STEPS_BEFORE_END = 64


class Loader:
    """The batches of a dataset, gathered by native threads ahead of the loop.

    threads     that gather, and that run ``transform``; default: the cores that a rank has
    prefetch    batches that are ready or in the making
    from_arrow  makes of a :class:`forebay.Batch` what is delivered, instead of tensors
    transform   is called with each batch, ahead of the loop, by several threads at once
    pin_memory  gives tensors in page-locked memory, from which copies to a GPU are fast
    device      gives tensors on that GPU, copied ahead of the loop
    """

    def __init__(self, dataset: ShardedDataset, *, threads: int | None = None,
                 prefetch: int | None = None,
                 transform: Callable[[Any], Any] | None = None,
                 from_arrow: Callable[[_native.Batch], Any] | None = None,
                 pin_memory: bool = False, device: Any = None):
        if not isinstance(dataset, ShardedDataset):
            raise TypeError(f"a Loader is for a forebay.torch.Dataset, not for a "
                            f"{type(dataset).__name__}")
        self.dataset = dataset
        threads = _threads() if threads is None else whole("threads", threads, 1)
        prefetch = max(4, 2 * threads) if prefetch is None else whole("prefetch", prefetch, 1)
        ring = _ring(device, prefetch)
        if pin_memory and ring is None and not torch.cuda.is_available():
            raise RuntimeError("pin_memory=True needs CUDA, and torch finds none here: leave "
                               "it out on machines without a GPU")
        self._tools = Tools(dataset.converter(from_arrow), transform, pin_memory, ring)
        self._streams = _Streams(dataset, threads, prefetch, _pool(pin_memory, ring))
        self._works_ahead = not dataset.prefetches or self._tools.needs_threads(
            bool(from_arrow or dataset.from_arrow))
        self._stats = LoaderStats(dataset.epoch)

    def __len__(self) -> int:
        """Batches of the whole epoch, also of one that was resumed."""
        return self.dataset.epoch_steps()

    def __iter__(self) -> Iterator[Any]:
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("a Loader has threads and no workers: iterate over it in the "
                               "training process")
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


class _Streams:
    """The native streams of a loader: that of an epoch, and one begun early."""

    def __init__(self, dataset: ShardedDataset, threads: int, prefetch: int,
                 pool: _native.PinnedPool | None):
        self._dataset = dataset
        self._pool = pool
        self.threads = threads
        self.prefetch = prefetch
        self._early: tuple[tuple[int, int, int], _native.Stream] | None = None
        self._over: _native.Stream | None = None
        self._last_epoch: int | None = None
        self._advance = 1  # from one epoch to the next, as seen last

    def begin(self, epoch: int, start: int) -> _native.Stream:
        if self._last_epoch is not None:
            self._advance = epoch - self._last_epoch
        self._last_epoch = epoch
        early, self._early = self._early, None
        if early is not None and early[0] == (os.getpid(), epoch, start):
            return early[1]
        return self._make(epoch, start)

    def begin_next(self, epoch: int) -> None:
        """Begins the epoch that probably comes after this one."""
        self._over = None
        following = epoch + self._advance
        if following < 0 or not self._dataset.prefetches:
            return
        try:
            self._early = (os.getpid(), following, 0), self._make(following, 0)
        except OSError:
            self._early = None  # who asks for that epoch gets the error

    def end(self, stream: _native.Stream) -> None:
        """Keeps it for a while: to end its threads between two epochs would hold up the
        loop."""
        self._over = stream

    def _make(self, epoch: int, start: int) -> _native.Stream:
        options = self._dataset.stream_options(epoch, start)
        options.threads = self.threads
        options.ahead = self.prefetch
        options.pool = self._pool
        return self._dataset.open_stream(options)


class _Pass:
    """One iteration over what is left of an epoch."""

    def __init__(self, loader: Loader):
        self._dataset = loader.dataset
        self._streams = loader._streams
        self._epoch, start = self._dataset.begin()
        self._stats = loader._stats = LoaderStats(self._epoch)
        self._stream = self._streams.begin(self._epoch, start)
        self._steps_to_next = max(1, self._stream.rank_step_count - _STEPS_BEFORE_END)
        self._workshop = Workshop(loader._tools, self._stream,
                                  self._dataset.cursors(self._epoch))
        self._ring = loader._tools.ring
        self._over = False
        self._broken = False
        self._ahead: OrderedMap | None = None
        if loader._works_ahead:
            self._ahead = OrderedMap(self._workshop.pull, self._workshop.make_ahead,
                                     threads=self._streams.threads,
                                     ahead=self._streams.prefetch, cancel=self._stream.cancel)

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
        stats = self._stats
        if waited < _READY_SECONDS and stats.steps:
            stats.add_ready(waited)
        else:
            stats.add(waited, made.costs())
        if stats.steps == self._steps_to_next:
            self._streams.begin_next(self._epoch)
        self._dataset.progress.received(self._epoch, made.position)
        return made.batch

    def _next_made(self) -> Made | None:
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
        position = self._stream.position_after(ALL_STEPS)
        self._dataset.progress.finished(self._epoch, position)
        self._streams.end(self._stream)
        self._stats.end()
        if self._ahead is not None:
            self._ahead.close()


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


def _pool(pin_memory: bool, ring: Any) -> _native.PinnedPool | None:
    """What to gather into so that nothing has to be copied to be pinned."""
    if not pin_memory and ring is None:
        return None
    from ..cuda_ring import pinned_pool
    return pinned_pool(torch.cuda.current_device() if ring is None else ring.device.index)
