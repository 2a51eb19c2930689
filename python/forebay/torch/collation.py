"""Finds a DataLoader that would put batches into batches."""

from __future__ import annotations

import sys
from typing import Any

from torch.utils.data import default_collate

_FETCH = "torch.utils.data._utils.fetch"


def refuse(dataset: Any) -> None:
    """An error where a torch DataLoader that collates begins to iterate over ``dataset``.
    It does so in a frame of its fetcher, in the training process or in a worker. A
    ``collate_fn`` of the user's own knows that it gets a list."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == _FETCH:
            names = frame.f_locals
            if names.get("dataset") is dataset and names.get("auto_collation") \
                    and names.get("collate_fn") is default_collate:
                raise ValueError(
                    "this dataset delivers whole batches, and the DataLoader would put each "
                    "into a batch of its own, with one dimension more: write "
                    "DataLoader(ds, batch_size=None), or forebay.torch.DataLoader(ds)")
            return
        frame = frame.f_back
