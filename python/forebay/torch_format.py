"""Batches as dicts of torch tensors, made from the numpy ones without a copy.

Numbers and bools are tensors; dates, times, timestamps and durations are int64 tensors of
their units; text, bytes and decimals are lists; lists are lists of tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from . import _native
from .null_fill import FillChoice
from .numpy_format import to_numpy


def to_torch(batch: _native.Batch, fills: FillChoice) -> dict[str, Any]:
    return {name: _tensor(value) for name, value in to_numpy(batch, fills).items()}


def _tensor(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _tensor(field) for name, field in value.items()}
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
