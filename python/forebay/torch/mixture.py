"""Several datasets as one, by weights."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch.utils.data

from .. import _native
from .. import dataset as _dataset
from .._arguments import choice, column_names, whole
from . import place
from .dataset import opened
from .shared_text import SharedText
from .sharded import ShardedDataset

UNTILS = ("first_exhausted", "all_exhausted", "forever")
Source = str | os.PathLike[str] | _dataset.Dataset
Weights = Mapping[str, float] | Sequence[float]


class Mixture(ShardedDataset):
    """The batches of a rank, of rows of several datasets: each row of the sequence, a slot,
    comes from one of them, so that every source has its weight's share of every prefix,
    less than one row off.

    sources  ``{"web": uri_or_dataset, "code": …}``, or a list; the names are part of the
             order. All have the same columns
    weights  a dict like ``sources``, or a list; only their ratios count
    until    ``"first_exhausted"``: an epoch ends when a source has given all its rows;
             ``"all_exhausted"``: when every one has; ``"forever"``: never. A source that has
             given all its rows goes on with the next epoch of its own

    The other arguments are those of :class:`Dataset`. ``position`` counts slots.
    """

    begins_early = False  # weights may be set in between

    def __init__(self, sources: Mapping[str, Source] | Iterable[Source],
                 batch_size: int | None = None, *, weights: Weights,
                 until: str = "first_exhausted", global_batch_size: int | None = None,
                 shuffle: str | bool | None = "sequential", window: int | None = None,
                 seed: int = 0, epoch: int = 0, columns: Sequence[str] | None = None,
                 rank: int | None = None, world_size: int | None = None,
                 dp_rank: int | None = None, dp_size: int | None = None, mesh: Any = None,
                 remainder: str = "drop", start_step: int = 0, resident: bool = True,
                 fill_null: Any = None,
                 strings: Any = "objects", lists: Any = "objects", pad_value: Any = None,
                 from_arrow: Callable[[_native.Batch], Any] | None = None,
                 **open_arguments: Any):
        self._sources = _opened(sources, open_arguments)
        self._columns = _common_columns(self._sources, column_names(columns))
        self._until = choice("until", until, UNTILS)
        self._resident = resident
        self.shapes = {"strings": strings, "lists": lists, "pad_value": pad_value}
        super().__init__(
            place.find(rank, world_size, dp_rank, dp_size, mesh),
            {"columns": self._columns, "batch_size": batch_size,
             "global_batch_size": global_batch_size, "shuffle": shuffle, "window": window,
             "seed": seed, "remainder": remainder},
            fill_null=fill_null, from_arrow=from_arrow)
        self._own_state: Mapping[str, Any] | None = None  # that a worker restored
        self._schedule = SharedText(2**16 + 1024 * len(self._sources))
        self._schedule.set(json.dumps({"weights": [[0, self._as_list(weights)]],
                                       "state": None}))
        self._made: tuple[Any, _native.Mixture] | None = None
        self.set_epoch(epoch, start_step)
        self.stream(epoch, 0)  # wrong arguments are an error here, not in a worker
        self.require_batches(self._mixture(epoch, 0).slot_count or 0)

    @property
    def sources(self) -> dict[str, _dataset.Dataset]:
        return dict(self._sources)

    def set_weights(self, weights: Weights, *, from_step: int) -> None:
        """Other weights from this global step of an epoch on, up to the next change. Every
        rank says the same. An iteration that has begun goes on with what it began with."""
        slot = whole("from_step", from_step) * self._global_batch_size
        before = self._schedule.get()
        schedule = json.loads(before)
        changes = {since: values for since, values in schedule["weights"]}
        changes[slot] = self._as_list(weights)
        schedule["weights"] = sorted(changes.items())
        self._schedule.set(json.dumps(schedule))
        try:
            mixture = self._mixture(self.epoch, self.progress.start)
        except Exception:
            self._schedule.set(before)
            raise
        if not self.progress.counting:
            self._current = mixture

    def __len__(self) -> int:
        """Batches of this rank, from where an iteration begins."""
        if self._mixture(self.epoch, self.progress.start).slot_count is None:
            raise TypeError("a mixture that goes on forever has no length")
        return super().__len__()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "_made": None, "_current": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.prepare(self.epoch, self.progress.start)

    def open_stream(self, options: _native.StreamOptions) -> _native.MixtureStream:
        return self._mixture(options.epoch, options.start_position).stream(options)

    def cursor(self, epoch: int, position: int) -> dict[str, Any]:
        return json.loads(self._current.cursor_at(position))

    def cursors(self, epoch: int) -> Callable[[int], dict[str, Any]]:
        current = self._current
        return lambda position: json.loads(current.cursor_at(position))

    def check_cursor(self, text: str, cursor: Mapping[str, Any]) -> None:
        epoch = cursor.get("epoch", 0)
        weights = json.loads(self._schedule.get())["weights"]
        self._make(whole("epoch", epoch), weights, text)

    def bring(self) -> None:
        for source in self._sources.values():
            source._bring(self._columns, self._arguments["shuffle"], self._resident,
                          gathers=False)

    def column_names(self) -> list[str]:
        return self._columns

    def prepare(self, epoch: int, start: int) -> None:
        # What has begun goes on with it, and so does its state, whatever is set meanwhile.
        self._current = self._mixture(epoch, start)

    def restore(self, cursor: Mapping[str, Any] | None) -> None:
        if torch.utils.data.get_worker_info() is not None:
            self._own_state = cursor
        else:
            schedule = json.loads(self._schedule.get())
            self._schedule.set(json.dumps({**schedule, "state": cursor}))

    def _mixture(self, epoch: int, start: int) -> _native.Mixture:
        """The mixture as it is from this slot on, or from an earlier one."""
        schedule = json.loads(self._schedule.get())
        state = self._own_state
        if state is None:
            state = schedule["state"]
            if state is not None and (state["epoch"] != epoch or state["position"] > start):
                state = None  # begun anew
        text = ""
        if state is not None:
            text = json.dumps({name: state[name] for name in state if name != "worker"})
        key = (epoch, schedule["weights"], text)
        if self._made is None or self._made[0] != key:
            self._made = key, self._make(*key)
        return self._made[1]

    def _make(self, epoch: int, weights: list[Any], state: str) -> _native.Mixture:
        of_stream = self.stream_options(0, 0)  # checked
        options = _native.MixtureOptions()
        options.names = list(self._sources)
        options.columns = self._columns
        options.shuffle = of_stream.shuffle
        options.window_ranges = of_stream.window_ranges
        options.until = self._until
        options.seed = of_stream.seed
        options.epoch = epoch
        options.weights = [tuple(change) for change in weights]
        options.saved = state
        return _native.mixture([source._table for source in self._sources.values()], options)

    def _as_list(self, weights: Weights) -> list[float]:
        names = list(self._sources)
        if isinstance(weights, Mapping):
            if set(weights) != set(names):
                raise ValueError(f"there are weights of {', '.join(map(str, weights))}, and the "
                                 f"sources are {', '.join(names)}: give one of each")
            weights = [weights[name] for name in names]
        values = list(weights)
        for value in values:
            if isinstance(value, bool) or not isinstance(value, (int, float)) \
                    or not math.isfinite(value):
                raise ValueError(f"a weight must be a number, not {value!r}")
        return [float(value) for value in values]


def _opened(sources: Mapping[str, Source] | Iterable[Source],
            arguments: Mapping[str, Any]) -> dict[str, _dataset.Dataset]:
    if isinstance(sources, (str, os.PathLike, _dataset.Dataset)):
        raise ValueError("a mixture is of several sources: give a dict of them, or a list")
    if not isinstance(sources, Mapping):
        sources = {str(i): source for i, source in enumerate(sources)}
    if not sources:
        raise ValueError("a mixture needs sources: there are none")
    out = {}
    for name, source in sources.items():
        if not isinstance(name, str):
            raise ValueError(f"sources have names, and {name!r} is none")
        if isinstance(source, ShardedDataset):
            raise ValueError(f"source {name!r} is cut into batches already: give what "
                             f"forebay.open() gave, or a path or URI")
        is_open = isinstance(source, _dataset.Dataset)
        out[name] = opened(source, {} if is_open else arguments)
    return out


def _common_columns(sources: Mapping[str, _dataset.Dataset],
                    columns: list[str] | None) -> list[str]:
    """Those named, which every source must have; else all, and all have the same."""
    if columns is None:
        return _same_columns(sources)
    for name, source in sources.items():
        try:
            source._table.fields(source._selected(columns))
        except ValueError as error:
            raise ValueError(f"source {name!r}: {error}") from None
    return columns


def _same_columns(sources: Mapping[str, _dataset.Dataset]) -> list[str]:
    first, *others = sources
    names = sources[first].columns
    for other in others:
        different = set(names) ^ set(sources[other].columns)
        if not different:
            continue
        column = min(different)
        has, lacks = (first, other) if column in names else (other, first)
        shared = [name for name in names
                  if all(name in source.columns for source in sources.values())]
        raise ValueError(f"column {column!r} is in {has!r} and not in {lacks!r}: name columns "
                         f"that all sources have, columns={shared}")
    return names
