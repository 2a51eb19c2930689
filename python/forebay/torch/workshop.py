"""What a loader does with a batch between gathering and the loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from .. import _native
from ..loader_stats import costs_of
from .batch import Batch
from .nested import mapped


class Made:
    """A batch, where it ends, and what went into it."""

    __slots__ = ("batch", "position", "_native", "_seconds", "_costs")

    def __init__(self, batch: Any, position: int, native: _native.Batch,
                 seconds: dict[str, float]):
        self.batch = batch
        self.position = position
        self._native: _native.Batch | None = native
        self._seconds = seconds
        self._costs: dict[str, float] | None = None

    def costs(self) -> dict[str, float]:
        """Seconds by cause."""
        if self._costs is None:
            self._costs = costs_of(self._seconds, getattr(self._native, "times", {}))
            self._native = None
        return self._costs


class Tools(NamedTuple):
    """The same for all epochs."""

    convert: Callable[[_native.Batch], Any]
    transform: Callable[[Any], Any] | None
    pin_memory: bool
    ring: Any  # a CudaRing, or None
    converts_itself: bool  # `convert` is the user's
    pinned: bool           # native batches lie in pinned memory

    def threads(self, count: int) -> int:
        """How many of so many threads have something to do ahead of the loop: what is the
        user's, or copies, takes them all. To send what lies in pinned memory is asynchronous
        itself; a thread for it would only make the loop wait for Python."""
        copies = bool(self.pin_memory or self.ring) and not self.pinned
        return count if self.transform or self.converts_itself or copies else 0


class Workshop:
    """Makes of the native batches of an epoch what the loop gets. Several threads may use
    it."""

    def __init__(self, tools: Tools, stream: _native.Stream,
                 cursor_at: Callable[[int], dict[str, Any]]):
        self._tools = tools
        self._stream = stream
        self._cursor_at = cursor_at

    def pull(self) -> tuple[_native.Batch, float] | None:
        """The next native batch, and how long that took. By one thread at a time."""
        native = self._stream.next()
        return None if native is None else (native, self._stream.waited)

    def make(self, pulled: tuple[_native.Batch, float]) -> Made:
        native, waited = pulled
        tools = self._tools
        position = self._stream.position_after(native.step + 1)
        began = time.perf_counter()
        batch = tools.convert(native)
        converted = time.perf_counter()
        if tools.transform is not None:
            batch = tools.transform(batch)
        if type(batch) is dict:
            batch = Batch(batch, self._cursor_at(position), position)
        transformed = time.perf_counter()
        if tools.ring is not None:
            batch = tools.ring.send(batch)
        elif tools.pin_memory:
            batch = mapped(batch, torch.Tensor.pin_memory)  # those that are not yet
        return Made(batch, position, native, {
            "native": waited, "gather": converted - began,
            "transform": transformed - converted, "device": time.perf_counter() - transformed})

    def make_ahead(self, pulled: tuple[_native.Batch, float]) -> Made:
        """For threads: works out the costs, and lets go of the native batch."""
        made = self.make(pulled)
        made.costs()
        return made
