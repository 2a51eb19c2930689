"""What all datasets of a training job share: ranks, workers, and how far the job is."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch.utils.data

from .. import _native
from .._arguments import whole
from ..batches import all_dropped, converter
from ..stream_options import stream_options
from . import collation, place, stateful
from .batch import Batch
from .progress import Progress

ALL_STEPS = 2**62  # more than any epoch has
_log = logging.getLogger("forebay")


class ShardedDataset(torch.utils.data.IterableDataset):
    """The batches of a rank, in an order that does not depend on ranks and workers.

    What is read is up to the classes made of it: they say how a stream is opened
    (:meth:`open_stream`), what a cursor is (:meth:`cursor`), and which ones fit
    (:meth:`check_cursor`).
    """

    # Whether what follows an epoch is known before that has ended.
    begins_early = True
    # What text and lists become: the arguments of ShapeChoice.
    shapes: dict[str, Any] = {}
    # False: what is yielded may be single rows, which a DataLoader may collate.
    delivers_batches = True

    def __init__(self, where: place.Place, arguments: dict[str, Any], *, fill_null: Any,
                 from_arrow: Callable[[_native.Batch], Any] | None):
        """``arguments`` are those of stream_options(), but for ranks and positions."""
        super().__init__()
        self._place = where
        self._arguments = {**arguments, "rank": where.rank, "world_size": where.size}
        self._global_batch_size = (arguments["global_batch_size"]
                                   or (arguments["batch_size"] or 0) * where.size)
        self._fill_null = fill_null
        self.from_arrow = from_arrow
        self._convert = self.converter(from_arrow)
        self._share: stateful.WorkerShare | None = None  # in a worker
        self._saved: dict[str, Any] | None = None        # what a worker restores
        self.progress = Progress()

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
        start = 0
        if start_step:
            steps = min(whole("start_step", start_step), ALL_STEPS)
            start = self.stream(epoch, 0).position_after(steps)
        self.progress.go_to(epoch, start)
        self.prepare(epoch, start)

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
            self.restore(cursor)
            self.progress.go_to(cursor["epoch"], cursor["position"], resumed=True)
            self.prepare(cursor["epoch"], cursor["position"])

    def __len__(self) -> int:
        """Batches of this rank, from where an iteration begins."""
        return self.stream(self.epoch, self.progress.start).rank_step_count

    def __iter__(self) -> Iterator[Any]:
        if self.delivers_batches:
            collation.refuse(self)
        info = torch.utils.data.get_worker_info()
        return self._batches() if info is None else self._of_worker(info.id, info.num_workers)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_convert"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._convert = self.converter(self.from_arrow)

    def require_batches(self, rows: int) -> None:
        """An error where no rank gets a batch of these rows: a training loop that never
        runs is nothing to find out later."""
        if why := all_dropped(self.stream(self.epoch, 0), self.stream_options(0, 0), rows):
            raise ValueError(why)

    # What the classes made of this say.

    def open_stream(self, options: _native.StreamOptions) -> Any:
        raise NotImplementedError

    def cursor(self, epoch: int, position: int) -> dict[str, Any]:
        """The state of a job that is there."""
        raise NotImplementedError

    def cursors(self, epoch: int) -> Callable[[int], dict[str, Any]]:
        """What gives the cursor of a position, for the batches of an iteration."""
        raise NotImplementedError

    def check_cursor(self, text: str, cursor: Mapping[str, Any]) -> None:
        """An error where this job cannot go on there."""
        raise NotImplementedError

    def column_names(self) -> list[str]:
        raise NotImplementedError

    def prepare(self, epoch: int, start: int) -> None:
        """The job is there, or an iteration begins there."""

    def bring(self) -> None:
        """Before an iteration: loads what its order needs to have in the store."""

    def restore(self, cursor: Mapping[str, Any] | None) -> None:
        """Takes from a state what is not epoch and position. None: a worker goes by what
        the training process says."""

    # What follows is for the loaders.

    def begin(self) -> tuple[int, int]:
        """A loop of this process begins: with which epoch, from which position on."""
        place.check(self._place)
        self.bring()
        epoch, start = self.progress.begin()
        self.prepare(epoch, start)
        if self._arguments["remainder"] == "keep" and self._place.size > 1:
            self._say_who_has_less(epoch, start)
        return epoch, start

    def epoch_steps(self) -> int:
        """Batches of this rank in the whole epoch, with those before where an iteration
        begins. Frameworks that restore a loader count on from there, up to its length."""
        return -(-self.progress.start // self._global_batch_size) + len(self)

    def stream_options(self, epoch: int, position: int) -> _native.StreamOptions:
        options = stream_options(epoch=epoch, start_position=position, **self._arguments)
        options.writable = True
        return options

    def stream(self, epoch: int, position: int) -> Any:
        """Whole steps of the rank, without workers."""
        return self.open_stream(self.stream_options(epoch, position))

    def converter(self, from_arrow: Callable[[_native.Batch], Any] | None
                  ) -> Callable[[_native.Batch], Any]:
        """What makes of a native batch the one that is delivered."""
        from_arrow = from_arrow or self.from_arrow
        if from_arrow is not None:
            return from_arrow
        return converter("torch", self._fill_null, self.column_names(), **self.shapes)

    def _batches(self) -> Iterator[Any]:
        """For a loop in this process, which receives what is yielded."""
        epoch, start = self.begin()
        stream = self.stream(epoch, start)
        for batch, position in self._placed(stream, epoch):
            self.progress.received(epoch, position)
            yield batch
        self.progress.finished(epoch, stream.position_after(ALL_STEPS))

    def _of_worker(self, worker: int, worker_count: int) -> Iterator[Any]:
        """For a DataLoader, which asks its workers in turn."""
        place.check(self._place)
        self.bring()
        epoch, start = self.epoch, self.progress.start
        saved, self._saved = self._saved, None
        if saved is not None:
            epoch, start = saved["epoch"], saved["position"]
        self.restore(saved)
        share = stateful.WorkerShare(worker, worker_count, start, self._global_batch_size)
        if saved is not None and "worker" in saved:
            share = share.require(saved["worker"])
        options = self.stream_options(epoch, share.start)
        options.worker, options.worker_count = worker, worker_count
        options.start_step = share.steps
        self._share = share
        self.progress.begin_in_worker(epoch, start)
        self.prepare(epoch, start)
        return self._given_away(self.open_stream(options), epoch)

    def _given_away(self, stream: Any, epoch: int) -> Iterator[Any]:
        for batch, position in self._placed(stream, epoch):
            self.progress.at = (epoch, position)
            self._share = self._share._replace(steps=self._share.steps + 1)
            yield batch

    def _say_who_has_less(self, epoch: int, start: int) -> None:
        options = self.stream_options(epoch, start)
        steps = []
        for options.rank in (0, self._place.size - 1):
            steps.append(self.open_stream(options).rank_step_count)
        if steps[0] != steps[1]:
            _log.warning("epoch %d: the first ranks have %d steps and the last %d, because "
                         "remainder=\"keep\" adds nothing: a loop with a collective in each step "
                         "would wait for ever; use \"drop\", \"pad\" or \"wrap\" for those",
                         epoch, *steps)

    def _placed(self, stream: Any, epoch: int) -> Iterator[tuple[Any, int]]:
        """Batches, each with the position it ends at."""
        cursor_at = self.cursors(epoch)
        while (native := stream.next()) is not None:
            position = stream.position_after(native.step + 1)
            batch = self._convert(native)
            if type(batch) is dict:
                batch = Batch(batch, cursor_at(position), position)
            yield batch, position

    def _checked(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """A state that this job can go on from."""
        try:
            cursor = {name: state[name] for name in state if name != "worker"}
            text = json.dumps(cursor)
        except (TypeError, ValueError):
            raise ValueError("this is not a state that state_dict() gave") from None
        self.check_cursor(text, cursor)
        return dict(state)
