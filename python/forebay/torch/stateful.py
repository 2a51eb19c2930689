"""States of torchdata's StatefulDataLoader.

It keeps a state of each worker, from after that worker's last batch that was delivered,
and gives it back to the worker of the same number. Such a state is a cursor with one more
field, ``worker``: which share of the steps this is, and how many of them are done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_ADVICE = ("make a new StatefulDataLoader, and give the dataset its state instead: "
           "ds.load_state_dict(forebay.torch.cursor_of(state))")


class WorkerShare(NamedTuple):
    """Worker ``id`` of ``count`` takes the steps ≡ id mod count, counted from ``start``."""

    id: int
    count: int
    start: int
    global_batch_size: int
    steps: int = 0  # of its own, done

    def require(self, saved: Mapping[str, Any]) -> WorkerShare:
        """This share, from where the saved one was."""
        of, batch = saved["count"], saved["global_batch_size"]
        if (of, saved["id"]) != (self.count, self.id):
            raise RuntimeError(f"this state was saved with {of} workers, and there are "
                               f"{self.count}: {_ADVICE}")
        if batch != self.global_batch_size:
            raise RuntimeError(f"this state was saved with {batch} rows in a global batch, and "
                               f"there are {self.global_batch_size}: {_ADVICE}")
        return self._replace(start=saved["start"], steps=saved["steps"])


def begins_anew(frame: Any) -> bool:
    """Whether the state that a loader without workers restores, in this frame, is of an
    iterator that had come to its end. The loader begins a new one then."""
    while frame is not None and _is_of_torchdata(frame):
        state = frame.f_locals.get("state_dict")
        if isinstance(state, Mapping) and state.get("_iterator_finished"):
            return True
        frame = frame.f_back
    return False


def cursor_in(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """The cursor in a StatefulDataLoader's state; None where it is not one."""
    if "_snapshot" not in state:
        return state.get("dataset_state")
    if state.get("_steps_since_snapshot"):
        raise ValueError("this state is some steps behind the loop: save it from a "
                         "StatefulDataLoader with snapshot_every_n_steps=1")
    workers = state["_snapshot"]["_worker_snapshots"].values()
    # Batches are delivered in order: who delivered last has come farthest.
    farthest = max((worker["dataset_state"] for worker in workers),
                   key=lambda cursor: cursor["position"])
    return {name: value for name, value in farthest.items() if name != "worker"}


def _is_of_torchdata(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("torchdata.")
