"""Order "global" reads everywhere at once: all its rows have to be in the store first."""

from __future__ import annotations

import logging
import time

from . import _native
from .errors import NoRoom

_SAY_SECONDS = 5.0
_ROSTER_SECONDS = 2.0  # after which a node has heard of changes in its cluster
# A store evicts before its quota is reached. One that is so full, with so much still to
# come, will not hold it all.
_FULL_SHARE, _DONE_SHARE = 0.85, 0.9
_log = logging.getLogger("forebay")


def bring_all(table: _native.Table, columns: list[str] | None, gathers: bool) -> None:
    """Fills the store with all rows of these columns, or sees to it that they come from the
    other nodes of a cluster (`gathers`: that is possible). How far it is goes to the log
    ``forebay``; NoRoom says by how much they do not fit."""
    room = _Room(table, columns, gathers)
    needed = table.stored_bytes_min(columns)
    quota = table.room(columns)[0]
    if quota < needed:
        room.gather_or_fail(needed, quota)
        return
    coverage = table.coverage(columns)
    if coverage.chunks_stored == coverage.chunk_count:
        return
    filling = _Filling(table.uri, quota)
    try:
        if _warmed_up(table, columns, filling):
            coverage = table.coverage(columns)
            if coverage.chunks_stored < coverage.chunk_count:
                # Others may have filled the disk meanwhile.
                filling.require_room(table.room(columns)[0])
    except _TooLarge as large:
        room.gather_or_fail(large.needed, quota)


class _Room:
    """What a table's cluster has room for."""

    def __init__(self, table: _native.Table, columns: list[str] | None, gathers: bool):
        self._table, self._columns = table, columns
        self._has_cluster = gathers and table.uri.startswith("forebay://")

    def gather_or_fail(self, needed: int, quota: int) -> None:
        """Rows come one by one from the other nodes, where those together have room."""
        end = time.monotonic() + _ROSTER_SECONDS
        cluster = self._cluster_bytes()
        while self._has_cluster and cluster < needed and time.monotonic() < end:
            time.sleep(0.1)  # the node may not have heard of all others yet
            cluster = self._cluster_bytes()
        if cluster < needed:
            raise NoRoom(_sentence(self._table.uri, needed, max(cluster, quota), cluster > quota))
        self._table.set_gathers(self._columns)

    def _cluster_bytes(self) -> int:
        return self._table.room(self._columns)[1] if self._has_cluster else 0


class _TooLarge(Exception):
    """A table turned out to need more bytes than the store has."""

    def __init__(self, needed: int):
        super().__init__(needed)
        self.needed = needed


def _warmed_up(table: _native.Table, columns: list[str] | None, filling: _Filling) -> bool:
    """Whether all could be loaded; whoever reads what could not be gets the error."""
    while True:
        done = filling.chunks_done
        try:
            return not table.warmup(columns, filling).failures
        except TimeoutError:
            # The timeout is for waits in which nothing happens.
            if filling.chunks_done <= done:
                raise


class _Filling:
    """Hears how far a warm-up is, says so, and ends one that cannot succeed."""

    def __init__(self, uri: str, quota: int):
        self._uri = uri
        self._quota = quota
        self._said = 0.0
        self._most_bytes = 0  # that a whole table was seen to need
        self.chunks_done = 0

    def __call__(self, state: _native.WarmupState) -> None:
        self.chunks_done = max(self.chunks_done, state.chunks_done)
        if state.rows_done:  # by rows: chunks are of very different sizes
            self._most_bytes = state.bytes_stored * state.row_count // state.rows_done
        if (state.chunks_done < _DONE_SHARE * state.chunk_count
                and state.bytes_stored > _FULL_SHARE * self._quota):
            self.require_room(self._quota)
        now = time.monotonic()
        if now - self._said >= _SAY_SECONDS:
            self._said = now
            _log.info("filling the store with %s, all of which shuffle=\"global\" needs: %d of "
                      "%d rows", self._uri, state.rows_done, state.row_count)

    def require_room(self, quota: int) -> None:
        """An error where the table is what the store has no room for. What others evicted
        may come back."""
        if _DONE_SHARE * quota < self._most_bytes:
            raise _TooLarge(self._most_bytes)


def require_all_stored(state: _native.WarmupState) -> None:
    """NoRoom where a warm-up loaded everything, and the store did not keep it."""
    if state.evicted:
        raise NoRoom(f"the store is smaller than what was loaded: {state.evicted} of "
                     f"{state.chunk_count} chunks left it again; give it at least "
                     f"{_size(state.bytes_stored)}, or load fewer columns")


def _sentence(uri: str, needed: int, quota: int, of_cluster: bool) -> str:
    more = max(needed - quota, needed // 20)  # a store is never filled to the brim
    has = f"the {'nodes together have' if of_cluster else 'store has'} {_size(quota)}"
    return (f"shuffle=\"global\" needs all rows in the store, and {uri} does not fit: it takes "
            f"about {_size(needed)}, and {has}; use shuffle=\"window\", "
            f"a store with {_size(more)} more, fewer columns, or resident=False to read from "
            f"the source again and again")


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count / 1024:.1f} KiB"
