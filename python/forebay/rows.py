"""Rows to look at: plain Python values, with None for nulls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _native
from .numpy_format import leaf

_CELL_MAX = 40  # characters of a value that is shown


class Rows(Sequence):
    """A few rows. ``rows[0]`` is a row, ``rows["x"]`` a column; printed, it is a table."""

    def __init__(self, columns: dict[str, list[Any]], count: int):
        self._columns = columns
        self._count = count

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._columns:
                raise KeyError(f"there is no column {key!r}: the columns are "
                               f"{', '.join(self._columns)}")
            return self._columns[key]
        if isinstance(key, slice):
            columns = {name: values[key] for name, values in self._columns.items()}
            return Rows(columns, len(range(*key.indices(self._count))))
        row = range(self._count)[key]  # an IndexError where there is no such row
        return {name: values[row] for name, values in self._columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(self._count))

    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        lines = [self.columns, *([_shown(value) for value in row.values()] for row in self)]
        widths = [max(map(len, cells)) for cells in zip(*lines)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
                         for line in lines)


def rows_of(batch: _native.Batch) -> Rows:
    """All rows of a batch."""
    return Rows({column.name: _values(column) for column in batch._columns()}, len(batch))


def _values(column: _native.Column) -> list[Any]:
    kind = column.format[:2]
    if kind == "+s":
        out = _structs(column)
    elif kind in ("+l", "+L", "+m"):
        out = _lists(column, column.offsets().tolist())
    elif kind == "+w":
        out = _lists(column, [i * column.width for i in range(len(column) + 1)])
    else:
        array = leaf(column)
        # What numpy has no Python value for stays as it is: nanoseconds, for one.
        out = list(array) if array.dtype.kind in "mMV" else array.tolist()
    if column.null_count > 0:
        for i in np.flatnonzero(column.nulls()):
            out[i] = None
    return out


def _structs(column: _native.Column) -> list[Any]:
    children = [column.child(i) for i in range(column.child_count)]
    names = [child.name for child in children]
    if not children:
        return [{} for _ in range(len(column))]
    return [dict(zip(names, values)) for values in zip(*map(_values, children))]


def _lists(column: _native.Column, offsets: list[int]) -> list[Any]:
    entries = column.child(0)
    if column.format == "+m":
        items: list[Any] = list(zip(_values(entries.child(0)), _values(entries.child(1))))
    else:
        items = _values(entries)
    return [items[first:last] for first, last in zip(offsets, offsets[1:])]


def _shown(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _CELL_MAX else text[:_CELL_MAX - 1] + "…"
