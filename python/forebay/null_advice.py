"""One error for all columns that have nulls, with a ``fill_null`` to paste."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _native
from .null_fill import FillChoice, Unfilled

# By the format of the Arrow C data interface; the first that a format begins with.
_LITERALS = {
    "tiM": "0", "tiD": "(0, 0)", "tin": "(0, 0, 0)",
    "e": 'float("nan")', "f": 'float("nan")', "g": 'float("nan")', "b": "False",
    "u": '""', "U": '""', "z": 'b""', "Z": 'b""', "w:": 'b""', "d:": "0", "n": "None",
    "t": '"NaT"'}

Nulls = Callable[[_native.Column, "np.ndarray | None"], "np.ndarray | None"]


def about(batch: _native.Batch, fills: FillChoice, nulls: Nulls, met: Unfilled) -> ValueError:
    """What to raise where the column met first has a null that is not filled. ``nulls`` are
    those of a column within others."""
    rest: list[str] = []
    columns = batch._to_numpy(rest)
    advice, unchosen = dict(fills.given()), []
    for name in rest:
        literal = _literal(columns[name], None, nulls)
        if literal is None:
            continue
        if not fills.of(name).chosen:
            unchosen.append(name)
        if not fills.of(name).chosen or name not in advice:
            advice[name] = literal
    pasted = ", ".join(f"{name!r}: {literal}" for name, literal in advice.items())
    if len(unchosen) > 1:
        return ValueError(f"columns {', '.join(unchosen)} have nulls: choose what to put there "
                          f"with fill_null={{{pasted}}}, or read them with format=\"arrow\"")
    if unchosen:
        return ValueError(f"column {unchosen[0]} has nulls: choose what to put there with "
                          f"fill_null={{{pasted}}}, or read it with format=\"arrow\"")
    if not fills.given():
        return ValueError(f"{met}: choose for each column, as fill_null={{{pasted}}}")
    return ValueError(str(met))


def _literal(column: _native.Column, outer: np.ndarray | None, nulls: Nulls) -> str | None:
    """A value that fits the nulls of a column; None where it has none."""
    own = nulls(column, outer)
    kind = column.format
    if kind[:2] in ("+l", "+L", "+m"):
        return _literal(column.child(0), None, nulls) or (None if own is None else "[]")
    if kind[:2] == "+w":
        repeated = None if own is None else np.repeat(own, column.width)
        return _literal(column.child(0), repeated, nulls)
    if kind == "+s":
        return _of_fields(column, own, nulls)
    if own is None:
        return None
    return next((literal for begin, literal in _LITERALS.items() if kind.startswith(begin)), "0")


def _of_fields(column: _native.Column, own: np.ndarray | None, nulls: Nulls) -> str | None:
    """One value where all fields take the same, else one for each."""
    found: dict[str, str] = {}
    for i in range(column.child_count):
        child: Any = column.child(i)
        if (literal := _literal(child, own, nulls)) is not None:
            found[child.name] = literal
    if len(set(found.values())) <= 1:
        return next(iter(found.values()), None)
    return "{" + ", ".join(f"{name!r}: {literal}" for name, literal in found.items()) + "}"
