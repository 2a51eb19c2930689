"""The loader: batches made ready ahead of the loop by threads of its process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from .. import _native
from .._arguments import whole
from ..loader_stats import LoaderStats
from .epoch_pass import Passes
from .sharded import ShardedDataset
from .workshop import Tools

_THREADS_MAX = 8
# To a GPU, at a time. Their buffers are held, and are best still in a cache when they are
# gathered into again.
_COPIES_MAX = 4


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
        pool = _pool(pin_memory, ring)
        tools = Tools(dataset.converter(from_arrow), transform, pin_memory, ring,
                      converts_itself=bool(from_arrow or dataset.from_arrow),
                      pinned=pool is not None)
        self._passes = Passes(dataset, tools, threads=threads, prefetch=prefetch, pool=pool)
        self._stats = LoaderStats(dataset.epoch)

    def __len__(self) -> int:
        """Batches of the whole epoch, also of one that was resumed."""
        return self.dataset.epoch_steps()

    def __iter__(self) -> Iterator[Any]:
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("a Loader has threads and no workers: iterate over it in the "
                               "training process")
        begun = self._passes.begin(*self.dataset.begin())
        self._stats = begun.stats
        return begun

    def state_dict(self) -> dict[str, Any]:
        """The dataset's: where the loop is, by what it has received."""
        return self.dataset.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.dataset.load_state_dict(state)

    def stats(self) -> dict[str, Any]:
        """Of this epoch, or the last one: steps, seconds, and how long the loop waited for
        what; docs/python.md has the names."""
        return self._stats.as_dict()


def _threads() -> int:
    """Cores of this process, or its part of them where torchrun started several."""
    cores = len(os.sched_getaffinity(0))
    ranks = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return max(1, min(_THREADS_MAX, cores // ranks))


def _ring(device: Any, prefetch: int) -> Any:
    if device is None or torch.device(device).type == "cpu":
        return None
    from ..cuda_ring import CudaRing
    return CudaRing(device, slots=min(prefetch, _COPIES_MAX))


def _pool(pin_memory: bool, ring: Any) -> _native.PinnedPool | None:
    """What to gather into so that nothing has to be copied to be pinned."""
    if not pin_memory and ring is None:
        return None
    from ..cuda_ring import pinned_pool
    return pinned_pool(torch.cuda.current_device() if ring is None else ring.device.index)
