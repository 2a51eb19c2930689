"""The exceptions of Forebay, and the one table that says which status is which."""

from __future__ import annotations


class SourceChanged(OSError):
    """The source is no longer what it was when the dataset was opened: open it again."""


class CorruptData(OSError):
    """Bytes of the source or the store do not check out."""


class NoRoom(OSError):
    """A disk, a quota or a memory cap is full."""


class Cancelled(OSError):
    """The node gave up: what was asked for was evicted as fast as it came."""


class LeaseLost(OSError):
    """Rows were given to another rank, because this one was silent for too long."""


class WarmupFailed(OSError):
    """Some of the data could not be loaded; the message names the files."""


# Status codes as src/base/status.h numbers them.
_BY_CODE: dict[int, type[Exception]] = {
    1: ValueError,
    2: FileNotFoundError,
    3: PermissionError,
    4: SourceChanged,
    5: CorruptData,
    6: NoRoom,
    7: ConnectionError,
    8: TimeoutError,
    9: NotImplementedError,
    10: Cancelled,
    11: RuntimeError,
}


def exception_for(code: int, message: str) -> Exception:
    """What to raise for a status; the native module asks here."""
    return _BY_CODE[code](message)
