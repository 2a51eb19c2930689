"""Text and bytes as offsets and bytes, where they lie.

The native module hands out the memory of text by the Arrow C data interface only, so that
is read here: https://arrow.apache.org/docs/format/CDataInterface.html
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import _native
from .column_shapes import Strings
from .errors import CorruptData


class _ArrowArray(ctypes.Structure):
    pass


_ArrowArray._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_ArrowArray))),
    ("dictionary", ctypes.c_void_p), ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p)]

# A prototype of our own: attributes of ctypes.pythonapi's functions are everybody's.
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


class _Memory:
    """Read-only memory that somebody else owns, as numpy takes it; arrays of it keep the
    owner."""

    def __init__(self, owner: Any, address: int, count: int, dtype: str):
        self.owner = owner
        self.__array_interface__ = {"version": 3, "typestr": dtype, "shape": (count,),
                                    "data": (address, True)}


def text_of(batch: _native.Batch, name: str, column: _native.Column) -> Strings:
    """A text column of a batch. Where rows are null there may be bytes all the same."""
    capsule = batch.__arrow_c_array__()[1]
    whole = _ArrowArray.from_address(_pointer_in(capsule, b"arrow_array"))
    array = whole.children[batch.column_names.index(name)].contents
    if array.length == 0:
        return Strings(np.zeros(1, "i8"), np.empty(0, "u1"))
    dtype = "<i8" if column.format in "UZ" else "<i4"
    rows = array.offset + whole.offset
    offsets = np.asarray(_Memory(capsule, array.buffers[1], rows + array.length + 1, dtype))
    offsets = offsets[rows:].astype("i8")
    if (offsets[1:] < offsets[:-1]).any():
        raise CorruptData(f"a chunk's offsets make no sense: column={name}")
    first, last = int(offsets[0]), int(offsets[-1])
    offsets -= first
    if last == first:
        return Strings(offsets, np.empty(0, "u1"))
    return Strings(offsets, np.asarray(_Memory(capsule, array.buffers[2], last, "|u1"))[first:])


def fixed_text(column: _native.Column) -> Strings:
    """Bytes that all have one width."""
    values = column.values()
    offsets = np.arange(len(column) + 1, dtype="i8") * column.width
    return Strings(offsets, values.view("u1") if len(column) else np.empty(0, "u1"))


def joined(texts: np.ndarray) -> Strings:
    """Texts that are objects."""
    parts = [text.encode() if isinstance(text, str) else text for text in texts.tolist()]
    offsets = np.zeros(len(parts) + 1, "i8")
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    return Strings(offsets, np.frombuffer(b"".join(parts), "u1"))
