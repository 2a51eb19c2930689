"""Tensors wherever they are in a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from .batch import Batch


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same structure with each tensor changed; other things stay as they are."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, Batch):
        items = {name: mapped(item, change) for name, item in value.items()}
        return Batch(items, value._cursor, value.position)
    if isinstance(value, Mapping):
        return type(value)({name: mapped(item, change) for name, item in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(item, change) for item in value)
    return value


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)
