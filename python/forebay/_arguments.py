"""Checks of what callers give, each with a sentence that says what is wrong."""

from __future__ import annotations

import operator
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native

_WHOLE_MAX = 2**64 - 1


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number, at least ``least``."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, not {value!r}") from None
    if not least <= number <= _WHOLE_MAX:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number


def choice(name: str, value: Any, choices: Iterable[str]) -> str:
    if value not in choices:
        known = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {known}, not {value!r}")
    return value


def column_names(columns: Any) -> list[str] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        raise ValueError(f"columns must be a list of names: [{columns!r}], not {columns!r}")
    names = list(columns)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"columns must be names, not {name!r}")
    return names


def source_options(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options of the source as the node takes them: text."""
    texts = {}
    for name, value in (options or {}).items():
        if not isinstance(name, str):
            raise ValueError(f"options have names, and {name!r} is none")
        if not isinstance(value, (str, int, float, os.PathLike)):
            raise ValueError(f"option {name} must be a text or a number, not {value!r}")
        texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def warn_of_store(arguments: _native.OpenArguments) -> None:
    """Says what is odd about the store that was asked for, though it can be used."""
    for text in arguments.store_warnings():
        warnings.warn(text, stacklevel=3)


def milliseconds(name: str, seconds: Any) -> int:
    if not isinstance(seconds, (int, float)) or not 0 < seconds < 1e9:
        raise ValueError(f"{name} must be a positive number of seconds, not {seconds!r}")
    return max(1, round(seconds * 1000))
