"""The dataset: what a rank reads of one table, in which order."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _native
from .. import dataset as _dataset
from . import place
from .sharded import ShardedDataset


class Dataset(ShardedDataset):
    """The batches of a rank: for a :class:`Loader`, or for a DataLoader with
    ``batch_size=None`` and any number of workers; in the same order whatever reads them.

    ``uri`` may also be a dataset that is open already; ``open_arguments`` are those of
    :func:`forebay.open`. Rank and world size are those given (``rank``, ``world_size``;
    ``dp_rank``, ``dp_size``; or a DeviceMesh), else those of torch.distributed, else RANK
    and WORLD_SIZE of the environment, else 0 of 1.
    """

    def __init__(self, uri: str | os.PathLike[str] | _dataset.Dataset,
                 batch_size: int | None = None, *, global_batch_size: int | None = None,
                 shuffle: str | bool | None = "sequential", window: int | None = None,
                 seed: int = 0, epoch: int = 0, columns: Sequence[str] | None = None,
                 rank: int | None = None, world_size: int | None = None,
                 dp_rank: int | None = None, dp_size: int | None = None, mesh: Any = None,
                 remainder: str = "drop", start_step: int = 0, resident: bool = True,
                 fill_null: Any = None,
                 strings: Any = "objects", lists: Any = "objects", pad_value: Any = None,
                 from_arrow: Callable[[_native.Batch], Any] | None = None,
                 **open_arguments: Any):
        self._dataset = opened(uri, open_arguments)
        self._resident = resident
        self.shapes = {"strings": strings, "lists": lists, "pad_value": pad_value}
        super().__init__(
            place.find(rank, world_size, dp_rank, dp_size, mesh),
            {"columns": self._dataset._selected(columns), "batch_size": batch_size,
             "global_batch_size": global_batch_size, "shuffle": shuffle, "window": window,
             "seed": seed, "remainder": remainder},
            fill_null=fill_null, from_arrow=from_arrow)
        self._job = _native.cursor_of(self._dataset._table, self.stream_options(0, 0))
        self._cursor = json.loads(self._job)
        self.set_epoch(epoch, start_step)
        len(self)  # wrong arguments are an error here, not in a worker
        self.require_batches(self._dataset.num_rows)

    @property
    def dataset(self) -> _dataset.Dataset:
        return self._dataset

    def open_stream(self, options: _native.StreamOptions) -> _native.Stream:
        return self._dataset._table.stream(options)

    def cursor(self, epoch: int, position: int) -> dict[str, Any]:
        return {**self._cursor, "epoch": epoch, "position": position}

    def cursors(self, epoch: int) -> Callable[[int], dict[str, Any]]:
        cursor = self.cursor(epoch, 0)  # batches know their positions
        return lambda position: cursor

    def check_cursor(self, text: str, cursor: Mapping[str, Any]) -> None:
        _native.check_cursor(text, self._job)

    def bring(self) -> None:
        self._dataset._bring(self._arguments["columns"], self._arguments["shuffle"],
                             self._resident)

    def column_names(self) -> list[str]:
        return self._dataset._names_of(self._arguments["columns"])


def opened(uri: str | os.PathLike[str] | _dataset.Dataset,
           arguments: Mapping[str, Any]) -> _dataset.Dataset:
    """The dataset that was given, or the one at this place, opened with these arguments."""
    if not isinstance(uri, _dataset.Dataset):
        return _dataset.open(uri, **arguments)
    if arguments:
        raise ValueError(f"{', '.join(arguments)}: these are for opening a dataset, and this "
                         f"one is open")
    return uri
