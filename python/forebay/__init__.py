"""Forebay: training data, kept beside the accelerators.

    import forebay
    ds = forebay.open("/data/events")
    for batch in ds.batches(1024, shuffle="global", seed=7, columns=["x", "label"]):
        ...

``forebay.torch`` has the dataset for a torch DataLoader. docs/python.md has the rest.
"""

from ._native import Batch, Coverage, WarmupState, __version__
from .batches import Batches
from .column_shapes import Padded, Ragged, Strings
from .dataset import Dataset, open
from .errors import Cancelled, CorruptData, LeaseLost, NoRoom, SourceChanged, WarmupFailed
from .file_tree import FileInfo, Files, files
from .schema import Field, Schema

__all__ = [
    "Batch", "Batches", "Cancelled", "CorruptData", "Coverage", "Dataset", "Field",
    "FileInfo", "Files",
    "LeaseLost", "NoRoom", "Padded", "Ragged", "Schema", "SourceChanged", "Strings", "WarmupFailed",
    "WarmupState", "__version__", "files", "open"]
