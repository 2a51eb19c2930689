"""A dataset whose ranks take work instead of having fixed shares."""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch.utils.data

from .. import _native
from .. import dataset as _dataset
from .._arguments import choice, milliseconds, whole
from ..batches import converter
from ..errors import LeaseLost
from ..head_leases import HeadGrant, HeadLeases
from ..stream_options import stream_options
from . import collation
from .dataset import opened

_BATCHES_PER_LEASE = 16
_HEAD = "forebay://"
# Others may be done with their rows long before their leases run out.
_LOOK_SECONDS = 0.2
_log = logging.getLogger("forebay")


class _Delivered(NamedTuple):
    """A batch that the loop has, and that is not acknowledged."""

    leases: _native.Leases | HeadLeases
    fence: int
    first: int
    until: int


class LeasedDataset(torch.utils.data.IterableDataset):
    """Batches of an epoch for ranks that are not equally fast, or may vanish: each takes a
    range of rows, and another when it is done.

    leases         for ranks of one host: a file on a disk of it, the same for all of them;
                   made when missing. For ranks of several: ``"forebay://head:7070"``
    lease_rows     of a range, at most; default: 16 batches
    lease_seconds  how long a rank may be silent, which is longer than any step takes. Then
                   its rows are given to another
    lost           what happens when that happened to this rank and it comes back:
                   ``"raise"`` :class:`forebay.LeaseLost`, or ``"skip"``: log it and go on
                   with other rows

    A batch is acknowledged when the loop comes back for the next one, or says so by
    :meth:`acknowledge`. Each row is acknowledged once per epoch, whoever dies. An iteration
    ends when all rows are acknowledged, by whomever.
    """

    def __init__(self, uri: str | os.PathLike[str] | _dataset.Dataset, batch_size: int, *,
                 leases: str | os.PathLike[str], lease_rows: int | None = None,
                 lease_seconds: float = 60.0, lost: str = "raise",
                 holder: str | None = None, shuffle: str | bool | None = "sequential",
                 window: int | None = None, seed: int = 0, epoch: int = 0,
                 columns: Sequence[str] | None = None, resident: bool = True,
                 fill_null: Any = None,
                 strings: Any = "objects", lists: Any = "objects", pad_value: Any = None,
                 from_arrow: Callable[[_native.Batch], Any] | None = None,
                 **open_arguments: Any):
        super().__init__()
        self._dataset = opened(uri, open_arguments)
        self._batch_size = whole("batch_size", batch_size, 1)
        lease_rows = _BATCHES_PER_LEASE * batch_size if lease_rows is None else lease_rows
        leases = os.fspath(leases)
        self._heads = leases.removeprefix(_HEAD).split("/")[0] if leases.startswith(_HEAD) else None
        self._file = os.path.abspath(leases)
        self._lease = {"lease_rows": whole("lease_rows", lease_rows, 1),
                       "lease_ms": milliseconds("lease_seconds", lease_seconds)}
        self._resident = resident
        self._lost = choice("lost", lost, ("raise", "skip"))
        self._holder = holder
        names = self._dataset._selected(columns)
        self._dataset._table.fields(names)  # an error where there is no such column
        self._arguments = {"columns": names, "shuffle": shuffle, "window": window,
                           "seed": seed, "remainder": "keep"}
        self._fill_null = fill_null
        self._shapes = {"strings": strings, "lists": lists, "pad_value": pad_value}
        self.from_arrow = from_arrow
        self.lost_rows = 0  # delivered here, and then refused
        self._delivered: _Delivered | None = None
        self._lost_fence: int | None = None
        self.set_epoch(epoch)
        self._converter()  # wrong arguments are an error here, and so is a wrong place
        self._open()

    @property
    def dataset(self) -> _dataset.Dataset:
        return self._dataset

    @property
    def epoch(self) -> int:
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration delivers. Every rank says the same."""
        self._epoch = whole("epoch", epoch)

    def progress(self) -> dict[str, int]:
        """Of the epoch, by all ranks: ``rows``, ``acknowledged``, and ``held``."""
        rows, acknowledged, held = self._open().progress()
        return {"rows": rows, "acknowledged": acknowledged, "held": held}

    def acknowledge(self) -> None:
        """The batch that was delivered last is done. Without this it is when the loop comes
        back for the next one; call it where the loop ends early."""
        delivered, self._delivered = self._delivered, None
        if delivered is None:
            return
        if not delivered.leases.acknowledge(delivered.fence, delivered.until):
            self.lost_rows += delivered.until - delivered.first
            self._lost_fence = delivered.fence
            raise LeaseLost(
                f"the rows at positions {delivered.first} to {delivered.until - 1} of epoch "
                f"{self._epoch} were given to another rank, because this one was silent for "
                f"more than {self._lease['lease_ms'] / 1000:g} seconds: they are not counted as "
                f"this rank's. Give a lease_seconds longer than any step takes, or "
                f"lost=\"skip\" to go on with other rows")

    def __iter__(self) -> Iterator[Any]:
        collation.refuse(self)
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("a batch is acknowledged when the loop comes back for the next, "
                               "which workers cannot see: iterate over a LeasedDataset in the "
                               "training process, or with num_workers=0")
        return self._batches(self._epoch)

    def _batches(self, epoch: int) -> Iterator[Any]:
        self._dataset._bring(self._arguments["columns"], self._arguments["shuffle"],
                             self._resident)
        leases = self._open()
        convert = self._converter()
        while (grant := _next_grant(leases)) is not None:
            yield from self._of_grant(leases, grant, epoch, convert)

    def _converter(self) -> Callable[[_native.Batch], Any]:
        if self.from_arrow is not None:
            return self.from_arrow
        names = self._dataset._names_of(self._arguments["columns"])
        return converter("torch", self._fill_null, names, **self._shapes)

    def _of_grant(self, leases: _native.Leases | HeadLeases,
                  grant: _native.LeaseGrant | HeadGrant, epoch: int,
                  convert: Callable[[_native.Batch], Any]) -> Iterator[Any]:
        pid = os.getpid()
        try:
            for native in self._natives(grant, epoch):
                first = native.first_position
                batch = convert(native)
                self._delivered = _Delivered(leases, grant.fence, first, first + len(native))
                yield batch
                self._acknowledge_or_skip()
                if self._lost_fence == grant.fence:
                    return
        finally:
            # Where the loop has ended early others need not wait for the rest.
            if os.getpid() == pid:
                self._delivered = None
                leases.release(grant.fence)

    def _acknowledge_or_skip(self) -> None:
        try:
            self.acknowledge()
        except LeaseLost as lost:
            if self._lost == "raise":
                raise
            _log.warning("%s", lost)

    def _natives(self, grant: _native.LeaseGrant | HeadGrant,
                 epoch: int) -> Iterator[_native.Batch]:
        """The rows of a grant; the last batch may be short."""
        options = stream_options(batch_size=self._batch_size, epoch=epoch,
                                 start_position=grant.first, **self._arguments)
        options.end_position = grant.first + grant.count
        options.writable = True
        options.threads = 1  # that works ahead of the loop
        stream = self._dataset._table.stream(options)
        while (batch := stream.next()) is not None:
            yield batch

    def _open(self) -> _native.Leases | HeadLeases:
        options = stream_options(batch_size=1, epoch=self._epoch, **self._arguments)
        cursor = json.loads(_native.cursor_of(self._dataset._table, options))
        del cursor["position"]
        about = {**self._lease,
                 "epoch": json.dumps(cursor),  # all that the order depends on
                 "rows": self._dataset.num_rows, "holder": self._holder or _who()}
        if self._heads is not None:
            return HeadLeases(self._heads, **about)
        lease = _native.LeaseOptions()
        lease.path = self._file
        for name, value in about.items():
            setattr(lease, name, value)
        return _native.Leases(lease)


def _next_grant(leases: _native.Leases | HeadLeases) -> _native.LeaseGrant | HeadGrant | None:
    """Rows to work on; waits while others hold the rest. None: all are acknowledged."""
    while not (grant := leases.take()).count:
        if grant.finished:
            return None
        time.sleep(min(_LOOK_SECONDS, max(0.001, grant.wait_seconds)))
    return grant


def _who() -> str:
    rank = os.environ.get("RANK")
    return (f"rank {rank}, " if rank else "") + f"process {os.getpid()} of {socket.gethostname()}"
