"""Where the time of a training loop went that waited for batches."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

CAUSES = ("store", "peer", "source", "decode", "gather", "transform", "device")
# A loop that waits longer than this for a batch is starved: less is the cost of handing
# over what is ready.
STARVED_SECONDS = 0.001
# Waits of at least this long, and this share of an epoch, are worth a warning.
_WARN_SECONDS, _WARN_SHARE = 1.0, 0.05
_log = logging.getLogger("forebay")


def costs_of(seconds: Mapping[str, float], times: Mapping[str, float]) -> dict[str, float]:
    """Seconds by cause. Those waited for the native part are put down to what that was
    busy with (``times``), in proportion."""
    costs = {cause: value for cause, value in seconds.items() if cause != "native"}
    total = sum(times.values())
    for cause, value in times.items():
        if total > 0:
            costs[cause] = costs.get(cause, 0.0) + seconds["native"] * value / total
    if total <= 0:
        costs["gather"] += seconds["native"]
    return costs


class LoaderStats:
    """Of one epoch: how long the loop waited, in how many steps, and for what.

    The first batch is counted apart: there is nothing to prefetch behind.
    """

    def __init__(self, epoch: int):
        self.epoch = epoch
        self.steps = 0
        self.starved_steps = 0
        self.first_wait = 0.0
        self.waits = dict.fromkeys(CAUSES, 0.0)
        self._began = time.perf_counter()
        self._ended: float | None = None

    def begin(self) -> None:
        self._began = time.perf_counter()

    def add(self, waited: float, costs: Mapping[str, float]) -> None:
        """A step that waited; ``costs`` are the seconds that went into its batch, by
        cause: the wait is put down to them in proportion."""
        self.steps += 1
        if self.steps == 1:
            self.first_wait = waited
        elif waited > STARVED_SECONDS:
            self.starved_steps += 1
        total = sum(costs.values())
        if total <= 0:
            self.waits["gather"] += waited
            return
        for cause, seconds in costs.items():
            self.waits[cause] = self.waits.get(cause, 0.0) + waited * seconds / total

    def add_ready(self, waited: float) -> None:
        """A step whose batch was ready."""
        self.steps += 1
        if self.steps == 1:
            self.first_wait = waited
        self.waits["gather"] += waited

    def end(self) -> None:
        self._ended = time.perf_counter()
        waited = sum(self.waits.values()) - self.first_wait
        starved = waited > max(_WARN_SECONDS, _WARN_SHARE * self.seconds)
        level = logging.WARNING if starved else logging.INFO
        if _log.isEnabledFor(level):
            _log.log(level, "%s", self)

    @property
    def seconds(self) -> float:
        return (self._ended or time.perf_counter()) - self._began

    def as_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "steps": self.steps, "seconds": self.seconds,
                "waited_seconds": sum(self.waits.values()),
                "first_wait_seconds": self.first_wait, "starved_steps": self.starved_steps,
                "waited": dict(self.waits)}

    def __str__(self) -> str:
        begin = f"epoch {self.epoch}: {self.steps} steps in {self.seconds:.1f} s, "
        if self.starved_steps == 0:
            return begin + "never starved"
        causes = sorted(self.waits.items(), key=lambda item: -item[1])
        named = ", ".join(f"{cause} {seconds:.2f} s" for cause, seconds in causes
                          if seconds >= 0.005)
        return begin + (f"starved in {self.starved_steps} of them, waited "
                        f"{sum(self.waits.values()):.2f} s: {named or 'little each time'}")
