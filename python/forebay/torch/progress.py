"""How far a job has come."""

from __future__ import annotations

from typing import Any

import torch
import torch.utils.data

_EPOCH, _START, _IN_WORKERS = 0, 1, 2


class Progress:
    """Which epoch is read, from which position on, and what the loop has received of it.

    Epoch and start are shared by all processes that read for one loop, so that workers
    that outlive an epoch hear of the next one. ``at`` is of this process: what the loop
    has received, or, in a worker, what it has given away.
    """

    def __init__(self) -> None:
        # A tensor, because that is shared with workers however they are started.
        self._tensor = torch.zeros(3, dtype=torch.int64).share_memory_()
        self._shared = self._numbers()
        self.at = (0, 0)      # epoch, position
        self.resumed = False  # a state was loaded, and nothing was received since
        self.counting = False  # a loop of this process has begun to receive

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_shared"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._shared = self._numbers()

    def _numbers(self) -> memoryview:
        """Those of the tensor, without what torch and numpy do for each access: it is between
        two epochs that they are set, and the device waits."""
        return memoryview(self._tensor.numpy())

    @property
    def epoch(self) -> int:
        return self._shared[_EPOCH]

    @property
    def start(self) -> int:
        return self._shared[_START]

    def go_to(self, epoch: int, position: int, *, resumed: bool = False) -> None:
        self._shared[_EPOCH] = epoch
        self._shared[_START] = position
        self._shared[_IN_WORKERS] = 0
        self.at = (epoch, position)
        self.resumed = resumed
        self.counting = False

    def begin(self) -> tuple[int, int]:
        """The loop of this process begins to receive; from which epoch and position on."""
        self.counting = True
        self.at = (self.epoch, self.start)
        return self.at

    def begin_in_worker(self, epoch: int, position: int) -> None:
        self._shared[_IN_WORKERS] = 1
        self.at = (epoch, position)

    def received(self, epoch: int, position: int) -> None:
        self.at = (epoch, position)
        self.resumed = False

    def finished(self, epoch: int, position: int) -> None:
        """The loop has received all. Who iterates again without a word begins the same
        epoch from its first row."""
        self.received(epoch, position)
        if self.epoch == epoch:
            self._shared[_START] = 0

    def require_known(self) -> None:
        """An error where others read, and nobody counts what arrives."""
        in_worker = torch.utils.data.get_worker_info() is not None
        if in_worker or self.counting or not self._shared[_IN_WORKERS]:
            return
        raise RuntimeError(
            "workers of a DataLoader read this dataset, so it does not know what the loop has "
            "received: use forebay.torch.DataLoader or Loader, or save "
            "forebay.torch.cursor_of(batch), or the state_dict() of a StatefulDataLoader")
