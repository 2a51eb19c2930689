"""Lists of varying length as few arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .column_shapes import Padded, Ragged, Strings
from .null_fill import fitted


def kept(value: Any, keep: np.ndarray) -> Any:
    """Those rows of a column, whatever it has become."""
    if isinstance(value, dict):
        return {name: kept(field, keep) for name, field in value.items()}
    if isinstance(value, Padded):
        return Padded(kept(value.values, keep), value.lengths[keep])
    if isinstance(value, (Ragged, Strings)):
        lengths = np.diff(value.offsets)
        items = kept(value[1], np.repeat(keep, lengths))
        return type(value)(_offsets(lengths[keep]), items)
    return value[keep]


def ragged(offsets: np.ndarray, values: Any, nulls: np.ndarray | None) -> Ragged:
    """Null lists are empty."""
    lengths = np.diff(offsets)
    if nulls is None or not lengths[nulls].any():
        return Ragged(offsets, values)
    values = kept(values, ~np.repeat(nulls, lengths))
    return Ragged(_offsets(np.where(nulls, 0, lengths)), values)


def padded(lists: Ragged, pad_value: Any, column: str) -> Padded:
    lengths = np.diff(lists.offsets)
    longest = int(lengths.max(initial=0))
    filled = np.arange(longest) < lengths[:, None]
    return Padded(_spread(lists.values, filled, pad_value, column), lengths)


def _spread(values: Any, filled: np.ndarray, pad_value: Any, column: str) -> Any:
    """Items put where ``filled`` is true, in its order."""
    if isinstance(values, dict):
        return {name: _spread(field, filled, pad_value, column)
                for name, field in values.items()}
    if isinstance(values, Padded):
        return Padded(_spread(values.values, filled, pad_value, column),
                      _spread(values.lengths, filled, 0, column))
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "biufmM":
        raise ValueError(f"lists=\"padded\" is for numbers, and column {column} has other "
                         f"items: read it with lists={{{column!r}: \"ragged\"}}")
    out = np.zeros(filled.shape + values.shape[1:], values.dtype)
    if pad_value is not None:
        out[...] = _fitted(pad_value, values.dtype, column)
    out[filled] = values
    return out


def _fitted(pad_value: Any, dtype: np.dtype, column: str) -> Any:
    try:
        return fitted(pad_value, dtype, str(dtype))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"pad_value={pad_value!r} does not fit the items of column {column} "
                         f"({dtype})") from None


def _offsets(lengths: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(lengths) + 1, "i8")
    np.cumsum(lengths, out=offsets[1:])
    return offsets
