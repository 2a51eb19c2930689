"""Forebay: training data, kept beside the accelerators.

    import forebay
    ds = forebay.open("/data/events")
    for batch in ds.batches(1024, shuffle="global", seed=7, columns=["x", "label"]):
        ...

``forebay.torch`` has the dataset for a torch DataLoader. docs/python.md has the rest.
"""

from ._native import Batch, Coverage, WarmupState, __version__, check_log_level
from .batches import Batches
from .column_shapes import Padded, Ragged, Strings
from .dataset import Dataset, open
from .errors import Cancelled, CorruptData, LeaseLost, NoRoom, SourceChanged, WarmupFailed
from .file_tree import FileInfo, Files, files
from .rows import Rows
from .schema import Field, Schema

check_log_level()  # what programs refuse, and private nodes would, is refused here

__all__ = [
    "Batch", "Batches", "Cancelled", "CorruptData", "Coverage", "Dataset", "Field",
    "FileInfo", "Files",
    "LeaseLost", "NoRoom", "Padded", "Ragged", "Rows", "Schema", "SourceChanged", "Strings", "WarmupFailed",
    "WarmupState", "__version__", "files", "open"]
