"""A table version, open for reading."""

from __future__ import annotations

import datetime
import operator
import os
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _arguments, _iceberg, _native
from .batches import Batches, converter
from .errors import SourceChanged, WarmupFailed
from .residency import bring_all, require_all_stored
from .rows import Rows, rows_of
from .schema import Schema
from .stream_options import stream_options


def open(uri: str | os.PathLike[str], *, store: str | None = None,
         columns: Sequence[str] | None = None, options: Mapping[str, Any] | None = None,
         timeout: float = 600.0, node: str | None = None, snapshot: int | None = None,
         tag: str | None = None, branch: str | None = None,
         as_of: str | datetime.datetime | int | float | None = None, filter: str | None = None,
         remap: Mapping[str, str] | None = None, allow: Iterable[str] | None = None,
         catalog: str | None = None, warehouse: str | None = None, token: str | None = None,
         credential: str | None = None) -> Dataset:
    """Opens a table: a folder, file or glob of Parquet, Arrow or ORC files, or an Iceberg
    table.

    uri      a path, ``s3://bucket/prefix``, ``http(s)://…``, …; an Iceberg table's folder or
             metadata file; ``iceberg+rest://host:8181/db.events``,
             ``iceberg+sqlite:///path/catalog.db/db.events`` or ``iceberg://name/db.events``
    store    where decoded data is kept, as ``mem:4GiB,ssd:/var/cache/forebay:100GiB``;
             default: FOREBAY_STORE, else a directory in the user's cache home
    columns  only these, in this order; those of Iceberg such as ``_row_id`` only so
    options  of the source and the catalog: ``{"s3.endpoint": "http://127.0.0.1:9000"}``
    timeout  in seconds, of every call that may wait
    node     the socket of the node to use; default: the host's, else a private one that
             is started when needed and leaves when idle

    Of Iceberg tables (docs/iceberg.md):

    snapshot, tag, branch, as_of
             which state; at most one of them. as_of is a datetime or its ISO 8601 text, in
             UTC where it names no zone, or milliseconds since 1970 (a float: seconds)
    filter   only rows for which this holds: ``"day >= '2026-10-01' and label is not null"``
    remap    for a table that was copied: ``{"s3://old-bucket/": "s3://new-bucket/"}``
    allow    prefixes below which files may lie besides the table's own bucket
    catalog, warehouse, token, credential
             of the catalog; each may also come from PyIceberg's configuration
    """
    iceberg = {"snapshot": snapshot, "tag": tag, "branch": branch, "as_of": as_of,
               "filter": filter, "remap": remap, "allow": allow, "catalog": catalog,
               "warehouse": warehouse, "token": token, "credential": credential}
    if allow is not None and not isinstance(allow, str):
        iceberg["allow"] = list(allow)  # read twice: here, and where it is unpickled
    arguments = _native.OpenArguments()
    arguments.uri = os.fspath(uri)
    arguments.store = store or ""
    arguments.socket = node or ""
    arguments.source = {**_arguments.source_options(options), **_iceberg.options(**iceberg)}
    arguments.timeout_ms = _arguments.milliseconds("timeout", timeout)
    _arguments.warn_of_store(arguments)
    table = _native.open(arguments)
    how = {"store": store, "options": options, "timeout": timeout, "node": node,
           **{name: value for name, value in iceberg.items() if value is not None}}
    return Dataset(table, _arguments.column_names(columns), how)


def _reopen(uri: str, columns: list[str] | None, how: dict[str, Any],
            version: str) -> Dataset:
    """Unpickles a dataset: the same version, or an error that says so."""
    dataset = open(uri, columns=columns, **how)
    if dataset.version != version:
        raise SourceChanged(
            f"{uri} has changed since it was opened in another process: open it again "
            f"(version {version} then, {dataset.version} now)")
    return dataset


class Dataset:
    """Rows of one version of a table; made by :func:`forebay.open`.

    May be used by many threads, after a fork, and be pickled: the other process opens the
    same version.
    """

    def __init__(self, table: _native.Table, columns: list[str] | None,
                 how: dict[str, Any]):
        self._table = table
        self._columns = columns
        self._how = how
        self._schema = Schema(table, columns)
        # Columns that were brought, and whether rows from peers were good enough.
        self._brought: set[tuple[tuple[str, ...] | None, bool]] = set()

    @property
    def uri(self) -> str:
        return self._table.uri

    @property
    def schema(self) -> Schema:
        return self._schema

    @property
    def columns(self) -> list[str]:
        return self._schema.names

    @property
    def num_rows(self) -> int:
        return self._table.row_count

    @property
    def version(self) -> str:
        """Names what is read: the same files with the same contents, the same version."""
        return self._table.version

    def __len__(self) -> int:
        return self.num_rows

    def __repr__(self) -> str:
        return (f"<forebay.Dataset {self.uri}: {self.num_rows} rows, "
                f"{len(self._schema)} columns, version {self.version[:8]}>")

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.uri, self._columns, self._how, self.version)

    def take(self, rows: Sequence[int] | np.ndarray, columns: Sequence[str] | None = None,
             format: str = "numpy", *, fill_null: Any = None, strings: Any = "objects",
             lists: Any = "objects", pad_value: Any = None) -> Any:
        """The rows with these numbers, in this order; a row may come more than once."""
        names = self._selected(columns)
        convert = converter(format, fill_null, self._names_of(names), strings=strings,
                            lists=lists, pad_value=pad_value)
        return convert(self._table.take(_row_numbers(rows, self.num_rows), names))

    def head(self, count: int = 5, columns: Sequence[str] | None = None) -> Rows:
        """The first rows, to look at: plain Python values, None where they are null."""
        count = min(_arguments.whole("count", count), self.num_rows)
        return self._rows(range(count), columns)

    def sample(self, count: int = 5, seed: int = 0,
               columns: Sequence[str] | None = None) -> Rows:
        """Different rows from anywhere, to look at; the same for the same seed."""
        count = min(_arguments.whole("count", count), self.num_rows)
        generator = random.Random(_arguments.whole("seed", seed))
        return self._rows(generator.sample(range(self.num_rows), count), columns)

    def __getitem__(self, key: Any) -> Any:
        """``ds[5]``: a row, as a dict of plain Python values; ``ds[-1]``: the last one;
        ``ds[10:20]``: several, as :class:`Rows`."""
        if isinstance(key, slice):
            return self._rows(range(*key.indices(self.num_rows)), None)
        if isinstance(key, (bool, np.bool_)) or not hasattr(key, "__index__"):
            raise TypeError(f"rows are found by their number, as ds[5] or ds[10:20], not by "
                            f"{key!r}; columns by ds.take(rows, columns) and ds.batches(size, "
                            f"columns=…)")
        row = operator.index(key)
        if not -self.num_rows <= row < self.num_rows:
            raise IndexError(f"there is no row {row}: the dataset has {self.num_rows}")
        return self._rows([row % self.num_rows], None)[0]

    # Row by row would be slow, and torch, pandas and polars treat what iterates differently.
    __iter__ = None

    def _rows(self, rows: Sequence[int], columns: Sequence[str] | None) -> Rows:
        numbers = np.array(rows, np.uint64)
        return rows_of(self._table.take(numbers, self._selected(columns)))

    def batches(self, batch_size: int | None = None, *,
                shuffle: str | bool | None = "sequential", window: int | None = None,
                seed: int = 0, epoch: int = 0, columns: Sequence[str] | None = None,
                format: str = "numpy", rank: int = 0, world_size: int = 1,
                remainder: str = "drop", global_batch_size: int | None = None,
                worker: int = 0, worker_count: int = 1, start_step: int = 0,
                start_position: int = 0, resident: bool = True, fill_null: Any = None,
                strings: Any = "objects", lists: Any = "objects",
                pad_value: Any = None) -> Batches:
        """The batches of an epoch; docs/python.md says what each argument does."""
        names = self._selected(columns)
        options = stream_options(
            columns=names, batch_size=batch_size, global_batch_size=global_batch_size,
            shuffle=shuffle, window=window, seed=seed, epoch=epoch, rank=rank,
            world_size=world_size, remainder=remainder, worker=worker,
            worker_count=worker_count, start_step=start_step, start_position=start_position)
        options.writable = format in ("torch", "jax")
        convert = converter(format, fill_null, self._names_of(names), strings=strings,
                            lists=lists, pad_value=pad_value)
        return Batches(self._table, options, convert,
                       lambda: self._bring(names, options.shuffle, resident))

    def warmup(self, columns: Sequence[str] | None = None,
               progress: Callable[[_native.WarmupState], Any] | None = None
               ) -> _native.WarmupState:
        """Loads all rows into the store. ``progress`` is called now and then with the
        state so far. What could not be loaded is an error at the end; so is a store that
        is smaller than the rows: NoRoom."""
        state = self._table.warmup(self._selected(columns), progress)
        if state.failures:
            shown = "; ".join(state.failures[:3])
            more = len(state.failures) - 3
            raise WarmupFailed(f"{state.row_count - state.rows_done} of {state.row_count} rows "
                               f"were not loaded: {shown}"
                               + (f"; and {more} more" if more > 0 else ""))
        require_all_stored(state)
        return state

    def coverage(self, columns: Sequence[str] | None = None) -> _native.Coverage:
        """How much of the rows the store holds now."""
        return self._table.coverage(self._selected(columns))

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.arrow_stream(self._columns)

    def _bring(self, columns: list[str] | None, shuffle: str, resident: bool,
               gathers: bool = True) -> None:
        """Before an iteration: the order "global" needs all rows in the store. Later
        iterations take what was evicted meanwhile from the source."""
        if shuffle != "global" or not resident:
            return
        key = (None if columns is None else tuple(columns), gathers)
        if key not in self._brought:
            bring_all(self._table, columns, gathers)
            self._brought.add(key)

    def _selected(self, columns: Sequence[str] | None) -> list[str] | None:
        names = _arguments.column_names(columns)
        if names is None or self._columns is None:
            return self._columns if names is None else names
        for name in names:
            if name not in self._columns:
                raise ValueError(f"there is no column {name!r} among those this dataset was "
                                 f"opened with: {', '.join(self._columns)}")
        return names

    def _names_of(self, names: list[str] | None) -> list[str]:
        return self.columns if names is None else names


def _row_numbers(rows: Any, row_count: int) -> np.ndarray:
    array = np.asarray(rows)
    if array.ndim != 1:
        raise ValueError("rows must be a list of row numbers")
    if array.size == 0:
        return np.empty(0, np.uint64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"rows must be whole numbers, not {array.dtype}")
    if array.min() < 0:
        raise ValueError(f"there is no row {array.min()}: rows are numbered from 0 to "
                         f"{row_count - 1}")
    return np.ascontiguousarray(array, np.uint64)
