"""Batches as dicts of torch tensors, made from the numpy ones without a copy.

Numbers and bools are tensors; dates, times, timestamps and durations are int64 tensors of
their units; text, bytes and decimals are lists; lists are lists of tensors. What
column_shapes.py has for text and lists has tensors in place of arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from . import _native
from .numpy_format import Choices, to_numpy


def to_torch(batch: _native.Batch, choices: Choices) -> dict[str, Any]:
    return {name: _tensor(value) for name, value in to_numpy(batch, choices).items()}


def _tensor(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _tensor(field) for name, field in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_tensor(part) for part in value))
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "mM":
        value = value.view("i8")
    if value.dtype.kind in "biuf":
        # A slice of a shared mapping is read-only; a tensor never is.
        return torch.from_numpy(value if value.flags.writeable else value.copy())
    return _list(value.tolist())


def _list(values: list[Any]) -> list[Any]:
    return [_list(v) if isinstance(v, list) else _tensor(v) for v in values]
