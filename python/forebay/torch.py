"""Forebay for torch: an IterableDataset that yields ready batches.

    loader = DataLoader(Dataset("s3://bucket/events", batch_size=1024, shuffle="global"),
                        batch_size=None, num_workers=4)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.distributed
import torch.utils.data

from . import dataset as _dataset
from ._arguments import whole
from .batches import Batches


class Dataset(torch.utils.data.IterableDataset):
    """The batches of a rank, split over the workers of a DataLoader.

    Give the DataLoader ``batch_size=None``. Its batches come in the same order whatever
    ``num_workers`` is. Without ``rank`` and ``world_size`` those of torch.distributed
    are taken, else RANK and WORLD_SIZE of the environment, else 0 of 1.

    ``uri`` may also be a dataset that is open already; otherwise ``how`` are arguments of
    :func:`forebay.open`: ``store``, ``options``, ``timeout``, ``node``, ``snapshot``,
    ``filter`` and so on.
    """

    def __init__(self, uri: str | os.PathLike[str] | _dataset.Dataset,
                 batch_size: int | None = None, *, shuffle: str | bool | None = "sequential",
                 seed: int = 0, epoch: int = 0, columns: Sequence[str] | None = None,
                 rank: int | None = None, world_size: int | None = None,
                 remainder: str = "drop", global_batch_size: int | None = None,
                 start_step: int = 0, fill_null: Any = None, **how: Any):
        super().__init__()
        if not isinstance(uri, _dataset.Dataset):
            uri = _dataset.open(uri, **how)
        elif how:
            raise ValueError(f"the dataset is open already: give {', '.join(how)} to "
                             "forebay.open")
        self._dataset = uri
        rank, world_size = _place(rank, world_size)
        self._arguments = {
            "batch_size": batch_size, "global_batch_size": global_batch_size,
            "shuffle": shuffle, "seed": seed, "columns": columns, "rank": rank,
            "world_size": world_size, "remainder": remainder, "fill_null": fill_null,
            "format": "torch"}
        # Shared, so that workers that outlive an epoch hear of the next one.
        self._now = torch.zeros(2, dtype=torch.int64).share_memory_()
        self.set_epoch(epoch, start_step)
        self._batches(0, 1)  # wrong arguments are an error here, not in a worker

    @property
    def dataset(self) -> _dataset.Dataset:
        return self._dataset

    def set_epoch(self, epoch: int, start_step: int = 0) -> None:
        """The epoch that the next iteration delivers, from this step of the rank on."""
        self._now[0] = whole("epoch", epoch)
        self._now[1] = whole("start_step", start_step)

    def __len__(self) -> int:
        return len(self._batches(0, 1))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        info = torch.utils.data.get_worker_info()
        if info is None:
            return iter(self._batches(0, 1))
        return iter(self._batches(info.id, info.num_workers))

    def _batches(self, worker: int, worker_count: int) -> Batches:
        """A DataLoader asks its workers in turn, beginning with 0: so that worker has to
        have the step to start with, and the others those after it."""
        epoch, start = self._now.tolist()
        worker = (start + worker) % worker_count
        skipped = (start - worker + worker_count - 1) // worker_count
        return self._dataset.batches(epoch=epoch, worker=worker, worker_count=worker_count,
                                     start_step=max(0, skipped), **self._arguments)


def _place(rank: int | None, world_size: int | None) -> tuple[int, int]:
    if (rank is None) != (world_size is None):
        raise ValueError("give both rank and world_size, or neither")
    if rank is not None and world_size is not None:
        return rank, world_size
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
