"""The batches of an epoch, as something to iterate over."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from . import _native
from ._arguments import choice
from .column_shapes import ShapeChoice
from .null_fill import FillChoice

FORMATS = ("numpy", "arrow", "torch", "jax")


def converter(format: str, fill_null: Any, columns: list[str],
              **shapes: Any) -> Callable[[_native.Batch], Any]:
    """What makes of a native batch the thing the caller wants. ``shapes`` are the arguments
    of ShapeChoice."""
    choice("format", format, FORMATS)
    chosen = ShapeChoice(columns, **shapes)
    if format == "arrow":
        if fill_null is not None:
            raise ValueError("fill_null is for numpy, torch and jax: Arrow batches keep their "
                             "nulls")
        if any(value not in (None, "objects") for value in shapes.values()):
            raise ValueError("strings and lists are for numpy, torch and jax: Arrow batches "
                             "have their own")
        return lambda batch: batch
    # Each library is imported where it is wanted, and not otherwise.
    if format == "torch":
        from .torch_format import to_torch as convert
    elif format == "jax":
        from .jax_format import to_jax as convert
    else:
        from .numpy_format import to_numpy as convert
    from .numpy_format import Choices
    choices = Choices(FillChoice(fill_null, columns), chosen)
    return lambda batch: convert(batch, choices)


def all_dropped(stream: Any, options: _native.StreamOptions, rows: int) -> str | None:
    """A sentence where remainder="drop" leaves out every row of the epoch."""
    if not rows or options.remainder != "drop" or stream.dropped_rows < rows:
        return None
    size = options.batch_size or options.global_batch_size
    what = f"a batch of {size}"
    if not options.batch_size:
        what = f"a global batch of {size}"
    elif options.world_size > 1:
        what = f"{options.world_size} ranks' batches of {size}"
    return (f"there are no batches: all {rows} rows together do not fill {what}, and "
            f"remainder=\"drop\" leaves them out; give remainder=\"keep\" or a smaller "
            f"batch size")


class Batches:
    """The batches of one epoch for one worker of one rank, in order.

    Each ``for`` loop over it starts anew. ``len()`` is the number of batches.
    """

    def __init__(self, table: _native.Table, options: _native.StreamOptions,
                 convert: Callable[[_native.Batch], Any], prepare: Callable[[], None]):
        """``prepare`` is called before anything is read."""
        self._table = table
        self._options = options
        self._convert = convert
        self._prepare = prepare
        stream = table.stream(options)  # wrong arguments are an error now, not later
        self._len = max(0, stream.step_count - options.start_step)
        self._dropped_rows = stream.dropped_rows
        if why := all_dropped(stream, options, table.row_count):
            warnings.warn(why, stacklevel=3)  # who called Dataset.batches()

    def __len__(self) -> int:
        return self._len

    @property
    def dropped_rows(self) -> int:
        """Rows of the epoch that no rank gets: those remainder="drop" leaves out."""
        return self._dropped_rows

    def __iter__(self) -> Iterator[Any]:
        self._prepare()
        stream = self._table.stream(self._options)
        convert = self._convert
        while (batch := stream.next()) is not None:
            yield convert(batch)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self._prepare()
        return self._table.stream(self._options).arrow_stream()
