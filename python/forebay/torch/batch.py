"""A batch, and where in the epoch it ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import stateful


class Batch(dict):
    """A dict of column → tensor that knows its place: ``position`` is the number of rows
    of the epoch that all ranks have consumed with it.

    It comes through worker processes, ``pin_memory`` and ``collate_fn``s that copy. What
    builds a new dict of its items loses the place.
    """

    __slots__ = ("_cursor", "position")

    def __init__(self, columns: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
                 cursor: dict[str, Any] | None = None, position: int | None = None):
        super().__init__(columns)
        self._cursor = cursor
        self.position = position

    def __reduce__(self) -> tuple[Any, ...]:
        return Batch, (dict(self), self._cursor, self.position)

    def copy(self) -> Batch:
        return Batch(self, self._cursor, self.position)


def cursor_of(batch: Any) -> dict[str, Any]:
    """The state to go on from after this batch, as ``Dataset.state_dict`` gives it.

    Also takes the state of torchdata's StatefulDataLoader, and gives the dataset's: for
    ``Dataset.load_state_dict`` with any number of workers.
    """
    if isinstance(batch, Batch):
        if batch._cursor is None:
            raise ValueError(
                "this batch was made anew from another's items and does not know its place: "
                "call cursor_of() before batches are moved or changed, or iterate over a "
                "forebay.torch.Loader or DataLoader and ask that for its state_dict()")
        return {**batch._cursor, "position": batch.position}
    if isinstance(batch, Mapping):
        state = stateful.cursor_in(batch)
        if state is not None:
            return state
    raise TypeError(f"a {type(batch).__name__} has no place in an epoch: only batches of "
                    f"forebay.torch.Dataset have")
