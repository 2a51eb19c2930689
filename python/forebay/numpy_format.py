"""Batches as dicts of numpy arrays.

Fixed-width columns without nulls are views made by the native module; here is the rest:
nulls, text, decimals, nested types. docs/python.md has the table.
"""

from __future__ import annotations

import decimal
from typing import Any, NamedTuple

import numpy as np

from . import _native, list_shapes, null_advice, text_buffers
from .column_shapes import Padded, Ragged, Shape, ShapeChoice, Strings
from .null_fill import Fill, FillChoice, Unfilled

# Widths that numpy has no time type for: the number, then the type it becomes.
_WIDENED = {"tdD": ("i4", "M8[D]"), "tts": ("i4", "m8[s]"), "ttm": ("i4", "m8[ms]")}
_RECORDS = {
    "tiD": np.dtype([("days", "i4"), ("milliseconds", "i4")]),
    "tin": np.dtype([("months", "i4"), ("days", "i4"), ("nanoseconds", "i8")]),
}
_TEXTS = ("u", "U", "z", "Z")


class Choices(NamedTuple):
    """What the caller chose for all columns."""

    fills: FillChoice
    shapes: ShapeChoice


class _How(NamedTuple):
    """What the caller chose for one of them."""

    fill: Fill
    shape: Shape


def to_numpy(batch: _native.Batch, choices: Choices) -> dict[str, Any]:
    rest: list[str] = []
    arrays = batch._to_numpy(rest)
    try:
        for name in rest:
            how = _How(choices.fills.of(name), choices.shapes.of(name))
            column = arrays[name]
            if how.shape.strings == "offsets" and column.format in _TEXTS:
                arrays[name] = _text(batch, column, how.fill)
            else:
                arrays[name] = _convert(column, how, None)
    except Unfilled as met:
        raise null_advice.about(batch, choices.fills, _nulls, met) from None
    return arrays


def _convert(column: _native.Column, how: _How, outer: np.ndarray | None) -> Any:
    """A column, with the nulls of what it lies in (``outer``) taken for its own."""
    nulls = _nulls(column, outer)
    if nulls is not None:
        how.fill.require()
    convert = _NESTED.get(column.format[:2])
    if convert is not None:
        return convert(column, how, nulls)
    if how.shape.strings == "offsets" and (column.format in _TEXTS or column.format[:2] == "w:"):
        return _joined(column, how.fill, nulls)
    array = leaf(column)
    return array if nulls is None else how.fill.into(array, nulls, column.type)


def _text(batch: _native.Batch, column: _native.Column, fill: Fill) -> Strings:
    """A column of the batch itself: its bytes are where they were."""
    nulls = _nulls(column, None)
    if nulls is None:
        return text_buffers.text_of(batch, column.name, column)
    fill.require()
    return _joined(column, fill, nulls)


def _joined(column: _native.Column, fill: Fill, nulls: np.ndarray | None) -> Strings:
    if nulls is None and column.format[:2] == "w:":
        return text_buffers.fixed_text(column)
    texts = column.texts()
    if nulls is not None:
        if fill.value is None:
            raise ValueError(f"fill_null=None does not fit column {fill.column} with "
                             f"strings=\"offsets\": choose a text")
        texts = fill.into(texts, nulls, column.type)
    return text_buffers.joined(texts)


def _nulls(column: _native.Column, outer: np.ndarray | None) -> np.ndarray | None:
    own = column.nulls() if column.null_count > 0 else None
    if own is None or outer is None:
        nulls = outer if own is None else own
    else:
        nulls = own | outer
    return nulls if nulls is not None and nulls.any() else None


def leaf(column: _native.Column) -> np.ndarray:
    """The values of a column that is not nested; anything where they are null."""
    kind = column.format
    if kind == "b":
        return column.bools()
    if kind == "n":
        return np.full(len(column), None, object)
    if kind in _TEXTS or kind.startswith("w:"):
        return column.texts()
    if kind.startswith("d:"):
        return _decimals(column)
    values = column.values()
    if kind in _WIDENED:
        narrow, wide = _WIDENED[kind]
        return values.view(narrow).astype("i8").view(wide)
    return values.view(_RECORDS[kind]) if kind in _RECORDS else values


def _decimals(column: _native.Column) -> np.ndarray:
    """decimal.Decimal, exactly: a value may have more digits than Python's context."""
    scale = int(column.format[2:].split(",")[1])
    raw, width = column.values().tobytes(), column.width
    out = np.empty(len(column), object)
    for i in range(len(column)):
        number = int.from_bytes(raw[i * width:(i + 1) * width], "little", signed=True)
        out[i] = decimal.Decimal(f"{number}E{-scale}")
    return out


def _struct(column: _native.Column, how: _How, nulls: np.ndarray | None) -> dict[str, Any]:
    children = (column.child(i) for i in range(column.child_count))
    return {child.name: _convert(child, how._replace(fill=how.fill.field(child.name)), nulls)
            for child in children}


def _fixed_list(column: _native.Column, how: _How, nulls: np.ndarray | None) -> Any:
    repeated = None if nulls is None else np.repeat(nulls, column.width)
    items = _convert(column.child(0), how, repeated)
    return _folded(items, (len(column), column.width))


def _folded(items: Any, shape: tuple[int, int]) -> Any:
    if isinstance(items, dict):
        return {name: _folded(values, shape) for name, values in items.items()}
    if isinstance(items, Padded):
        return Padded(_folded(items.values, shape), _folded(items.lengths, shape))
    if isinstance(items, (Ragged, Strings)):
        return Ragged(np.arange(shape[0] + 1, dtype="i8") * shape[1], items)
    return items.reshape(shape + items.shape[1:])


def _list(column: _native.Column, how: _How, nulls: np.ndarray | None) -> Any:
    return _rows(column, how, nulls, _sliced)


def _map(column: _native.Column, how: _How, nulls: np.ndarray | None) -> Any:
    return _rows(column, how, nulls, _pairs)


def _rows(column: _native.Column, how: _How, nulls: np.ndarray | None, cut: Any) -> Any:
    if how.shape.lists == "objects":
        return _objects(column, how, nulls, cut)
    items = _convert(column.child(0), how, None)
    lists = list_shapes.ragged(column.offsets(), items, nulls)
    if how.shape.lists == "ragged":
        return lists
    return list_shapes.padded(lists, how.shape.pad_value, how.fill.column)


def _objects(column: _native.Column, how: _How, nulls: np.ndarray | None,
             cut: Any) -> np.ndarray:
    """An object for each row; a null one is empty, or None where that was chosen."""
    how = how._replace(shape=Shape())  # what is cut into objects has objects
    offsets = column.offsets().tolist()
    items = _convert(column.child(0), how, None)
    out = np.empty(len(column), object)
    for i in range(len(column)):
        out[i] = cut(items, offsets[i], offsets[i + 1])
    if nulls is not None:
        for i in np.flatnonzero(nulls):
            out[i] = None if how.fill.value is None else cut(items, 0, 0)
    return out


def _sliced(items: Any, first: int, last: int) -> Any:
    if isinstance(items, dict):
        return {name: _sliced(values, first, last) for name, values in items.items()}
    return items[first:last]


def _pairs(items: dict[str, Any], first: int, last: int) -> list[tuple[Any, Any]]:
    keys, values = items.values()
    return [(_item(keys, i), _item(values, i)) for i in range(first, last)]


def _item(items: Any, i: int) -> Any:
    if isinstance(items, dict):
        return {name: _item(values, i) for name, values in items.items()}
    return items[i]


_NESTED = {"+s": _struct, "+w": _fixed_list, "+l": _list, "+L": _list, "+m": _map}
