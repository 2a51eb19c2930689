"""Forebay for torch: batches of tensors in an exact order, on any number of ranks.

    ds = Dataset("s3://bucket/events", batch_size=512, shuffle="global", seed=7)
    for epoch in range(3):
        ds.set_epoch(epoch)
        for batch in Loader(ds):        # or DataLoader(ds, num_workers=4)
            ...
            state = ds.state_dict()     # a few hundred bytes, the same on every rank
    ds.load_state_dict(state)           # on any number of ranks and workers

docs/python.md has the rest.
"""

from .batch import Batch, cursor_of
from .data_cache import DataCacheDataset
from .data_loader import DataLoader
from .dataset import Dataset
from .leased import LeasedDataset
from .loader import Loader
from .mixture import Mixture

__all__ = ["Batch", "DataCacheDataset", "DataLoader", "Dataset", "LeasedDataset", "Loader", "Mixture", "cursor_of"]
