"""The dataset: what a rank reads, in which order, and how far the job has come."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch.utils.data

from .. import _native
from .. import dataset as _dataset
from .._arguments import whole
from ..batches import converter
from ..stream_options import stream_options
from . import place, stateful
from .batch import Batch
from .progress import Progress

_ALL_STEPS = 2**62  # more than any epoch has
_log = logging.getLogger("forebay")


class Dataset(torch.utils.data.IterableDataset):
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
                 remainder: str = "drop", start_step: int = 0, fill_null: Any = None,
                 from_arrow: Callable[[_native.Batch], Any] | None = None,
                 **open_arguments: Any):
        super().__init__()
        if not isinstance(uri, _dataset.Dataset):
            uri = _dataset.open(uri, **open_arguments)
        elif open_arguments:
            raise ValueError(f"{', '.join(open_arguments)}: these are for opening a dataset, "
                             f"and this one is open")
        self._dataset = uri
        self._place = place.find(rank, world_size, dp_rank, dp_size, mesh)
        self._arguments = {
            "columns": uri._selected(columns), "batch_size": batch_size,
            "global_batch_size": global_batch_size, "shuffle": shuffle, "window": window,
            "seed": seed, "rank": self._place.rank, "world_size": self._place.size,
            "remainder": remainder}
        self._global_batch_size = global_batch_size or (batch_size or 0) * self._place.size
        self._fill_null = fill_null
        self.from_arrow = from_arrow
        self._convert = self.converter(from_arrow)
        self._job = _native.cursor_of(uri._table, self.stream_options(0, 0))
        self._cursor = json.loads(self._job)
        self._share: stateful.WorkerShare | None = None  # in a worker
        self._saved: dict[str, Any] | None = None        # what a worker restores
        self.progress = Progress()
        self.set_epoch(epoch, start_step)
        len(self)  # wrong arguments are an error here, not in a worker

    @property
    def dataset(self) -> _dataset.Dataset:
        return self._dataset

    @property
    def epoch(self) -> int:
        return self.progress.epoch

    @property
    def position(self) -> int:
        """Rows of the epoch that all ranks together have consumed."""
        return self.state_dict()["position"]

    def set_epoch(self, epoch: int, start_step: int | None = None) -> None:
        """The epoch that the next iteration delivers, from its first row on; or from this
        step of the rank on. The epoch of a state that was just loaded goes on where the
        state says, unless a step is given."""
        whole("epoch", epoch)
        if start_step is None and self.progress.resumed and epoch == self.epoch:
            return
        steps = min(whole("start_step", start_step or 0), _ALL_STEPS)
        self.progress.go_to(epoch, self.stream(epoch, 0).position_after(steps) if steps else 0)

    def state_dict(self) -> dict[str, Any]:
        """Where the training loop is, counted by what it has received: a few hundred bytes
        that JSON can hold, the same on every rank."""
        self.progress.require_known()
        state = self.cursor(*self.progress.at)
        return state if self._share is None else {**state, "worker": self._share._asdict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where a state was saved, by any rank of a job with any number of ranks
        and workers and any batch size. Nothing is read."""
        if stateful.begins_anew(sys._getframe(1)):
            return
        cursor = self._checked(state)
        if torch.utils.data.get_worker_info() is not None:
            self._saved = cursor
        elif "worker" in state:
            raise ValueError("this is the state of one worker: give forebay.torch.cursor_of() "
                             "the state of the whole StatefulDataLoader")
        else:
            self.progress.go_to(cursor["epoch"], cursor["position"], resumed=True)

    def __len__(self) -> int:
        """Batches of this rank, from where an iteration begins."""
        return self.stream(self.epoch, self.progress.start).rank_step_count

    def __iter__(self) -> Iterator[Any]:
        info = torch.utils.data.get_worker_info()
        return self._batches() if info is None else self._of_worker(info.id, info.num_workers)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_convert"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._convert = self.converter(self.from_arrow)

    # What follows is for the loaders.

    def begin(self) -> tuple[int, int]:
        """A loop of this process begins: with which epoch, from which position on."""
        place.check(self._place)
        epoch, start = self.progress.begin()
        if self._arguments["remainder"] == "keep" and self._place.size > 1:
            self._say_who_has_less(epoch, start)
        return epoch, start

    def stream_options(self, epoch: int, position: int) -> _native.StreamOptions:
        options = stream_options(epoch=epoch, start_position=position, **self._arguments)
        options.writable = True
        return options

    def stream(self, epoch: int, position: int) -> _native.Stream:
        """Whole steps of the rank, without workers."""
        return self._dataset._table.stream(self.stream_options(epoch, position))

    def converter(self, from_arrow: Callable[[_native.Batch], Any] | None
                  ) -> Callable[[_native.Batch], Any]:
        """What makes of a native batch the one that is delivered."""
        from_arrow = from_arrow or self.from_arrow
        if from_arrow is not None:
            return from_arrow
        names = self._dataset._names_of(self._arguments["columns"])
        return converter("torch", self._fill_null, names)

    def cursor(self, epoch: int, position: int) -> dict[str, Any]:
        return {**self._cursor, "epoch": epoch, "position": position}

    def _batches(self) -> Iterator[Any]:
        """For a loop in this process, which receives what is yielded."""
        epoch, start = self.begin()
        stream = self.stream(epoch, start)
        for batch, position in self._placed(stream, epoch):
            self.progress.received(epoch, position)
            yield batch
        self.progress.finished(epoch, stream.position_after(_ALL_STEPS))

    def _of_worker(self, worker: int, worker_count: int) -> Iterator[Any]:
        """For a DataLoader, which asks its workers in turn."""
        place.check(self._place)
        epoch, start = self.epoch, self.progress.start
        saved, self._saved = self._saved, None
        if saved is not None:
            epoch, start = saved["epoch"], saved["position"]
        share = stateful.WorkerShare(worker, worker_count, start, self._global_batch_size)
        if saved is not None and "worker" in saved:
            share = share.require(saved["worker"])
        options = self.stream_options(epoch, share.start)
        options.worker, options.worker_count = worker, worker_count
        options.start_step = share.steps
        self._share = share
        self.progress.begin_in_worker(epoch, start)
        return self._given_away(self._dataset._table.stream(options), epoch)

    def _given_away(self, stream: _native.Stream, epoch: int) -> Iterator[Any]:
        for batch, position in self._placed(stream, epoch):
            self.progress.at = (epoch, position)
            self._share = self._share._replace(steps=self._share.steps + 1)
            yield batch

    def _say_who_has_less(self, epoch: int, start: int) -> None:
        options = self.stream_options(epoch, start)
        steps = []
        for options.rank in (0, self._place.size - 1):
            steps.append(self._dataset._table.stream(options).rank_step_count)
        if steps[0] != steps[1]:
            _log.warning("epoch %d: the first ranks have %d steps and the last %d, because "
                         "remainder=\"keep\" adds nothing: a loop with a collective in each step "
                         "would wait for ever; use \"drop\", \"pad\" or \"wrap\" for those",
                         epoch, *steps)

    def _placed(self, stream: _native.Stream, epoch: int) -> Iterator[tuple[Any, int]]:
        """Batches, each with the position it ends at."""
        cursor = self.cursor(epoch, 0)
        while (native := stream.next()) is not None:
            position = stream.position_after(native.step + 1)
            batch = self._convert(native)
            yield (Batch(batch, cursor, position) if type(batch) is dict else batch), position

    def _checked(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """A state that this job can go on from."""
        try:
            cursor = {name: state[name] for name in state if name != "worker"}
            text = json.dumps(cursor)
        except (TypeError, ValueError):
            raise ValueError("this is not a state that state_dict() gave") from None
        _native.check_cursor(text, self._job)
        return dict(state)
