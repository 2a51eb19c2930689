"""The forms in which text and lists may come, and the caller's choice among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ._arguments import choice

STRINGS = ("objects", "offsets")
LISTS = ("objects", "ragged", "padded")


class Strings(NamedTuple):
    """Text or bytes of n rows, one after the other: row i is
    ``bytes[offsets[i]:offsets[i + 1]]``."""

    offsets: Any  # n + 1 of int64, from 0
    bytes: Any    # uint8


class Ragged(NamedTuple):
    """Lists of n rows, one after the other: row i is ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: Any  # n + 1 of int64, from 0
    values: Any   # what the items are as a column


class Padded(NamedTuple):
    """Lists of n rows, filled up to the longest: row i is ``values[i, :lengths[i]]``."""

    values: Any   # n × longest
    lengths: Any  # n of int64


class Shape(NamedTuple):
    """The choice for one column."""

    strings: str = "objects"
    lists: str = "objects"
    pad_value: Any = None  # zero


class ShapeChoice:
    """``strings``, ``lists`` and ``pad_value`` as the caller gave them: each one value, or one
    for each column."""

    def __init__(self, columns: list[str], *, strings: Any = "objects", lists: Any = "objects",
                 pad_value: Any = None):
        self._chosen = {"strings": strings, "lists": lists, "pad_value": pad_value}
        for name, value in self._chosen.items():
            for column in value if isinstance(value, Mapping) else ():
                if column not in columns:
                    raise ValueError(f"{name} names column {column!r}, which is not read; "
                                     f"read are {', '.join(columns)}")
        _check("strings", strings, STRINGS)
        _check("lists", lists, LISTS)
        padded = lists.values() if isinstance(lists, Mapping) else [lists]
        if pad_value is not None and "padded" not in padded:
            raise ValueError("pad_value is for lists=\"padded\"")

    def of(self, column: str) -> Shape:
        given = {}
        for name, value in self._chosen.items():
            if not isinstance(value, Mapping):
                given[name] = value
            elif column in value:
                given[name] = value[column]
        return Shape(**given)


def _check(name: str, value: Any, choices: tuple[str, ...]) -> None:
    for one in value.values() if isinstance(value, Mapping) else [value]:
        choice(name, one, choices)
