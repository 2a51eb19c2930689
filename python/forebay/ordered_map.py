"""Work on items ahead of whoever wants the results, by threads, in order."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

_LOOK_SECONDS = 1.0    # how often a waiting consumer looks whether the threads live
_JOIN_SECONDS = 10.0   # for a thread in somebody's function; it ends when that returns


class OrderedMap:
    """``work(item)`` for each item that ``pull()`` gives until it gives None, by threads.

    At most ``ahead`` items are in the making or ready. An error of ``pull`` or ``work`` is
    raised by ``take`` where its result would have been, with its traceback. ``pull`` is
    called by one thread at a time; ``cancel`` ends its wait. Threads end with this object,
    or with :meth:`close`.
    """

    def __init__(self, pull: Callable[[], Any], work: Callable[[Any], Any], *, threads: int,
                 ahead: int, cancel: Callable[[], None] = lambda: None):
        self._line = line = _Line(pull, work, ahead)
        self._pid = os.getpid()
        self._threads = [threading.Thread(target=line.run, name=f"forebay-{i}", daemon=True)
                         for i in range(threads)]
        # Also at the end of the program: a thread that comes out of native code then must
        # find an interpreter.
        self._end = weakref.finalize(self, _end, line, self._threads, self._pid, cancel)
        for thread in self._threads:
            thread.start()

    def take(self) -> tuple[bool, Any]:
        """(True, the next result), or (False, None) after the last."""
        if os.getpid() != self._pid:
            raise RuntimeError("these batches are made by threads of the process that this one "
                               "was forked from: begin a new iteration here")
        alive = True
        while (outcome := self._line.wait(_LOOK_SECONDS if alive else 0)) is None:
            if not alive:
                raise RuntimeError("the threads that make these batches have ended")
            alive = any(thread.is_alive() for thread in self._threads)
        kind, value = outcome
        if kind == "error":
            raise value
        return kind == "result", value

    def close(self) -> None:
        self._end()


class _Line:
    """What the threads share. It does not know the OrderedMap, so that one can go."""

    def __init__(self, pull: Callable[[], Any], work: Callable[[Any], Any], ahead: int):
        self._pull = pull
        self._work = work
        self._ahead = ahead
        self._pulling = threading.Lock()
        self._changed = threading.Condition()
        self._outcomes: dict[int, tuple[str, Any]] = {}
        self._pulled = 0
        self._taken = 0
        self._ended = False

    def run(self) -> None:
        while (next_item := self._next_item()) is not None:
            index, item = next_item
            try:
                outcome = ("result", self._work(item))
            except BaseException as error:  # noqa: BLE001: raised again by take()
                outcome = ("error", error)
            self._put(index, outcome)
            # Nothing of a batch may live on in a thread that waits.
            del item, next_item, outcome

    def wait(self, seconds: float) -> tuple[str, Any] | None:
        """The next outcome; None where there is none yet."""
        with self._changed:
            if self._taken not in self._outcomes:
                self._changed.wait(seconds)
            if self._taken not in self._outcomes:
                return None
            if self._outcomes[self._taken][0] == "end":
                return self._outcomes[self._taken]
            self._taken += 1
            self._changed.notify_all()
            return self._outcomes.pop(self._taken - 1)

    def stop(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def clear(self) -> None:
        with self._changed:
            self._outcomes.clear()

    def _next_item(self) -> tuple[int, Any] | None:
        with self._pulling:
            with self._changed:
                while not self._ended and self._pulled - self._taken >= self._ahead:
                    self._changed.wait()
                if self._ended:
                    return None
                index = self._pulled
            try:
                item = self._pull()
                outcome = ("end", None) if item is None else None
            except BaseException as error:  # noqa: BLE001: raised again by take()
                outcome = ("error", error)
            self._pulled += 1
            if outcome is None:
                return index, item
            self._put(index, outcome)
            self.stop()
            return None

    def _put(self, index: int, outcome: tuple[str, Any]) -> None:
        with self._changed:
            self._outcomes[index] = outcome
            self._changed.notify_all()


def _end(line: _Line, threads: list[threading.Thread], pid: int,
         cancel: Callable[[], None]) -> None:
    if os.getpid() != pid:
        return  # a child has neither the threads nor, perhaps, the lock
    line.stop()
    cancel()
    until = time.monotonic() + _JOIN_SECONDS
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(0.0, until - time.monotonic()))
    line.clear()
