"""For training scripts that were written for Kubeflow's data cache."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .. import _native
from .batch import Batch
from .dataset import Dataset

# Where a job's table is when the script does not say: ours, and what Kubeflow's initializer
# of the cache is given.
_VARIABLES = ("FOREBAY_TABLE", "METADATA_LOC")


class DataCacheDataset(Dataset):
    """A :class:`Dataset` with the interface of Kubeflow's: classes made of it override
    :meth:`from_arrow_rb_to_tensor`, and the script gives it to torch's DataLoader with
    ``batch_size=None``.

    There is no service to connect to: ``uri`` is the table, by default FOREBAY_TABLE or
    METADATA_LOC of the environment. ``cache_addr`` is accepted and has no effect. Other
    arguments are those of :class:`Dataset`; rows come in the order "window" by default,
    which depends on the seed and reads a table once however large it is.
    """

    def __init__(self, seed: int = 0, batch_size: int = 128, *, uri: Any = None,
                 shuffle: str | bool | None = "window", cache_addr: str | None = None,
                 **arguments: Any):
        super().__init__(_table() if uri is None else uri, batch_size, seed=seed,
                         shuffle=shuffle, **arguments)
        self.seed = seed
        self.batch_size = batch_size
        method = type(self).from_arrow_rb_to_tensor
        if self.from_arrow is None and method is not DataCacheDataset.from_arrow_rb_to_tensor:
            self.from_arrow = self._only_item
            self.delivers_batches = False

    def from_arrow_rb_to_tensor(self, record_batch: Any) -> Any:
        """Override this: makes of a pyarrow.RecordBatch what the loop gets, and yields it;
        or returns it. It may yield several things, or none. Where it is not overridden,
        batches are dicts of tensors."""
        raise NotImplementedError("override from_arrow_rb_to_tensor() to convert batches")

    def __iter__(self) -> Iterator[Any]:
        if self.from_arrow != self._only_item:
            return super().__iter__()
        self._convert = self._items
        return self._one_by_one(super().__iter__())

    def _one_by_one(self, batches: Iterator[list[Any]]) -> Iterator[Any]:
        """What the batches became. A state from between two things of one batch begins with
        that batch again."""
        before = (self.epoch, self.progress.start), self._share
        if self._share is not None:  # in a worker
            before = self.progress.at, self._share
        for items in batches:
            after = self.progress.at, self._share
            for item in items[:-1]:
                self.progress.at, self._share = before
                yield self._with_place(item)
            before = self.progress.at, self._share = after
            if items:
                yield self._with_place(items[-1])

    def _with_place(self, item: Any) -> Any:
        if type(item) is not dict:
            return item
        epoch, position = self.progress.at
        return Batch(item, self.cursor(epoch, position), position)

    def _items(self, batch: _native.Batch) -> list[Any]:
        import pyarrow
        made = self.from_arrow_rb_to_tensor(pyarrow.record_batch(batch))
        return list(made) if isinstance(made, (Iterator, list)) else [made]

    def _only_item(self, batch: _native.Batch) -> Any:
        """For a Loader, which counts batches."""
        items = self._items(batch)
        if len(items) != 1:
            raise RuntimeError(
                f"from_arrow_rb_to_tensor() made {len(items)} things of one record batch, and "
                f"this loader counts batches: let it make one, or use torch's DataLoader with "
                f"batch_size=None")
        return items[0]


def _table() -> str:
    for name in _VARIABLES:
        if os.environ.get(name):
            return os.environ[name]
    raise ValueError(f"which table? Give uri, or set {' or '.join(_VARIABLES)} in the "
                     f"environment of the job")
