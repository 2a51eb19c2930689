"""How torchdata's StatefulDataLoader restores a dataset in its workers.

It gives each worker the state that the worker of the same number had, from after that
worker's last batch. That says where *the job* is only together with the states of all the
others, and workers that were not there before get none. Both are in the state that the
loader is being restored from, so that is looked up: in the stack of the process that makes
the loader's iterator, which forked workers inherit and which is alive while others are
pickled.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

_ITERATOR = "_StatefulMultiProcessingDataLoaderIter"


class Restored(NamedTuple):
    """Where all workers go on, and which of them is asked first."""

    cursor: dict[str, Any]
    first_worker: int


def restoring() -> Restored | None:
    """What the iterator that is being made goes on from, if it does."""
    frame = sys._getframe()
    while frame is not None:
        if (frame.f_code.co_name == "__init__"
                and type(frame.f_locals.get("self")).__name__ == _ITERATOR):
            state = frame.f_locals.get("next_iter_state")
            return None if state is None else _restored(state)
        frame = frame.f_back
    return None


def require(restored: Restored | None) -> None:
    """In a worker that is told to restore: an error where it is not known what."""
    if restored is None and restoring() is None:
        raise RuntimeError(
            "this StatefulDataLoader restores in a way that is not known here: make a new one, "
            "and give the dataset its state instead: "
            "ds.load_state_dict(forebay.torch.cursor_of(state))")


def called_by(frame: Any) -> bool:
    """Whether this frame is torchdata's."""
    return str(frame.f_globals.get("__name__", "")).startswith("torchdata.")


def begins_anew(frame: Any) -> bool:
    """Whether the state that a loader without workers restores, in this frame, is of an
    iterator that had come to its end. It begins a new one then."""
    while frame is not None and called_by(frame):
        state = frame.f_locals.get("state_dict")
        if isinstance(state, Mapping) and state.get("_iterator_finished"):
            return True
        frame = frame.f_back
    return False


def cursor_in(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """The cursor in a StatefulDataLoader's state; None where it is not one."""
    if "_snapshot" in state:
        if state.get("_steps_since_snapshot"):
            raise ValueError("this state is some steps behind the loop: save it from a "
                             "StatefulDataLoader with snapshot_every_n_steps=1")
        return _restored(state).cursor
    if "dataset_state" in state:
        return state["dataset_state"]
    return None


def _restored(state: Mapping[str, Any]) -> Restored:
    snapshot = state["_snapshot"]
    workers = snapshot["_worker_snapshots"]
    # After workers were taken away, theirs are still there.
    count = min(snapshot["_num_workers"], len(workers))
    cursors = [workers[f"worker_{i}"]["dataset_state"] for i in range(count)]
    # Batches are delivered in order: who delivered last has come farthest.
    farthest = max(cursors, key=lambda cursor: cursor["position"])
    return Restored(farthest, snapshot["_last_yielded_worker_id"] + 1)
