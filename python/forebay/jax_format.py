"""Batches as dicts of jax arrays, made from the numpy ones through DLPack.

The same as for torch, with jax arrays in place of tensors. On a CPU those that need no
other type and are aligned as jax likes lie where they were gathered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import jax
except ImportError as error:
    raise ImportError("format=\"jax\" needs jax: pip install jax") from error

from . import _native
from .numpy_format import Choices, to_numpy


def to_jax(batch: _native.Batch, choices: Choices) -> dict[str, Any]:
    return {name: _array(value, name) for name, value in to_numpy(batch, choices).items()}


def _array(value: Any, column: str) -> Any:
    if isinstance(value, dict):
        return {name: _array(field, column) for name, field in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_array(part, column) for part in value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "mM":
        value = value.view("i8")
    if value.dtype.kind not in "biuf":
        return _list(value.tolist(), column)
    if value.dtype.kind in "iu" and value.itemsize == 8 and not jax.config.jax_enable_x64:
        value = _narrowed(value, column)
    # A slice of a shared mapping is read-only, which numpy's DLPack has no word for.
    return jax.dlpack.from_dlpack(value if value.flags.writeable else value.copy())


def _narrowed(value: np.ndarray, column: str) -> np.ndarray:
    """Whole numbers of 32 bits. jax would cut off the rest without a word."""
    narrow = value.astype(f"{value.dtype.kind}4")
    if not np.array_equal(narrow, value):
        raise ValueError(f"column {column} has values of 64 bits, and jax is set to 32: call "
                         f"jax.config.update(\"jax_enable_x64\", True) first")
    return narrow


def _list(values: list[Any], column: str) -> list[Any]:
    return [_list(v, column) if isinstance(v, list) else _array(v, column) for v in values]
