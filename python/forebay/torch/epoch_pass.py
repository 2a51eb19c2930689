"""One iteration over an epoch, and the native stream that it reads."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import Any

from .. import _native
from ..loader_stats import LoaderStats
from ..ordered_map import OrderedMap
from .sharded import ALL_STEPS, ShardedDataset
from .workshop import Made, Tools, Workshop

# Below this a wait is the cost of handing over; asking what it was for would cost more.
_READY_SECONDS = 50e-6
# So many steps before the end of an epoch the next one is begun. Narrow rows are gathered
# in blocks of up to 32 batches, and one block should be ready.
_STEPS_BEFORE_END = 64


class Passes:
    """The iterations of a loader: that of an epoch, and one begun early."""

    def __init__(self, dataset: ShardedDataset, tools: Tools, *, threads: int, prefetch: int,
                 pool: _native.PinnedPool | None):
        self.dataset = dataset
        self.tools = tools
        self.prefetch = prefetch
        self.threads = threads
        self.pool = pool
        # Those that work on batches after they were gathered.
        self.threads_after = tools.threads(threads)
        self._early: EpochPass | None = None
        self._over: _native.Stream | None = None
        self._last_epoch: int | None = None
        self._advance = 1  # from one epoch to the next, as seen last

    def begin(self, epoch: int, start: int) -> EpochPass:
        if self._last_epoch is not None:
            self._advance = epoch - self._last_epoch
        self._last_epoch = epoch
        early, self._early = self._early, None
        if early is None or early.key != (os.getpid(), epoch, start):
            early = EpochPass(self, epoch, start)
        early.begin(self)
        return early

    def begin_next(self, epoch: int) -> None:
        """Begins the epoch that probably comes after this one."""
        self._over = None
        following = epoch + self._advance
        if following < 0 or not self.dataset.begins_early:
            return
        try:
            self._early = EpochPass(self, following, 0)
        except OSError:
            self._early = None  # who asks for that epoch gets the error

    def prepare_next(self) -> None:
        """Before the last batch is given away: makes the next epoch's first one, if that
        takes no waiting."""
        if self._early is None:
            return
        try:
            self._early.make_first()
        except Exception:  # noqa: BLE001: who asks for that epoch gets it
            self._early = None

    def end(self, stream: _native.Stream) -> None:
        """Keeps it for a while: to end its threads between two epochs would hold up the
        loop."""
        self._over = stream

    def open_stream(self, epoch: int, start: int) -> _native.Stream:
        options = self.dataset.stream_options(epoch, start)
        options.threads = self.threads
        options.ahead = self.prefetch
        options.pool = self.pool
        return self.dataset.open_stream(options)


class EpochPass:
    """One iteration over what is left of an epoch."""

    def __init__(self, passes: Passes, epoch: int, start: int):
        self.key = (os.getpid(), epoch, start)
        self._passes: Passes | None = None  # from begin() on: they hold those begun early
        self._progress = passes.dataset.progress
        self._epoch = epoch
        self._stream = passes.open_stream(epoch, start)
        self._step_count = self._stream.rank_step_count
        self._steps_to_next = max(1, self._step_count - _STEPS_BEFORE_END)
        self._workshop = Workshop(passes.tools, self._stream, passes.dataset.cursors(epoch))
        self._ring = passes.tools.ring
        self._threads = passes.threads_after
        self.stats = LoaderStats(epoch)
        # Made before they are asked for, where no threads do that: the first one of an
        # epoch, and what is on its way to a device.
        self._made: deque[Made] = deque()
        self._made_count = 0
        self._pulled: tuple[_native.Batch, float] | None = None
        self._over = False
        self._broken = False
        self._ahead: OrderedMap | None = None

    def begin(self, passes: Passes) -> None:
        """The loop begins. What is the user's is not called before."""
        self._passes = passes
        self.stats.begin()
        if self._threads:
            self._ahead = OrderedMap(self._workshop.pull, self._workshop.make_ahead,
                                     threads=self._threads, ahead=passes.prefetch,
                                     cancel=self._stream.cancel)

    def make_first(self) -> None:
        if not self._threads and self._stream.ready:
            self._make_one()

    def __iter__(self) -> EpochPass:
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
        self._count(time.perf_counter() - began, made)
        return made.batch

    def _count(self, waited: float, made: Made) -> None:
        stats = self.stats
        if waited < _READY_SECONDS:
            stats.add_ready(waited)
        else:
            stats.add(waited, made.costs())
        if stats.steps >= self._steps_to_next:
            if stats.steps == self._steps_to_next:
                self._passes.begin_next(self._epoch)
            if stats.steps == self._step_count:
                self._passes.prepare_next()
        self._progress.received(self._epoch, made.position)

    def _next_made(self) -> Made | None:
        if self._ahead is not None:
            self._broken = True
            _, made = self._ahead.take()
            self._broken = False
        else:
            if not self._made:
                self._make_one()
            made = self._made.popleft() if self._made else None
            if self._ring is not None:
                self._send_more()
        if made is not None and self._ring is not None:
            made.batch = self._ring.receive(made.batch)
        return made

    def _make_one(self) -> None:
        """Makes the next batch, if there is one. After an error the same one is next."""
        if self._made_count == self._step_count:
            return
        if self._pulled is None:
            self._pulled = self._workshop.pull()
            if self._pulled is None:
                return
        self._broken = True
        self._made.append(self._workshop.make(self._pulled))
        self._broken = False
        self._pulled = None
        self._made_count += 1

    def _send_more(self) -> None:
        """Sends what is gathered to the device, as long as that takes no waiting; two at a
        time, because the loop waits meanwhile."""
        for _ in range(2):
            if (len(self._made) >= self._passes.prefetch or not self._stream.ready
                    or self._ring.busy()):
                return
            try:
                self._make_one()
            except Exception:  # noqa: BLE001: raised when the loop comes to that batch
                self._broken = False
                return

    def _finish(self) -> None:
        self._over = True
        position = self._stream.position_after(ALL_STEPS)
        self._progress.finished(self._epoch, position)
        self._passes.end(self._stream)
        self.stats.end()
        if self._ahead is not None:
            self._ahead.close()
