"""A tree of files as an fsspec file system: pandas, Hugging Face datasets, Ray and others
read it by name.

    fs = fsspec.filesystem("forebay", source="s3://bucket/images")
    pandas.read_csv("forebay://a/b.csv", storage_options={"source": "s3://bucket"})
"""

from __future__ import annotations

import datetime
import errno
import hashlib
import io
import os
import threading
from collections.abc import Mapping
from typing import Any

from fsspec.config import apply_config
from fsspec.spec import AbstractFileSystem
from fsspec.utils import tokenize

from . import _native
from .file_tree import FileInfo, Files, check_version, files


class _OneForAllThreads(type(AbstractFileSystem)):  # type: ignore[misc]
    """fsspec keeps an instance for each thread. Ours may be used by all of them, and making one
    lists the source."""

    _opening: dict[str, threading.Lock] = {}

    def __call__(cls, source: Any = None, *args: Any, **kwargs: Any) -> Any:
        kwargs = apply_config(cls, kwargs)
        source = source if source is not None else kwargs.pop("source", None)
        if source is not None:
            kwargs["source"] = _native.absolute_uri(os.fspath(source))
        if kwargs.get("skip_instance_cache"):
            return super().__call__(*args, **kwargs)
        return cls.shared(None, args, kwargs)

    def shared(cls, version: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The instance that all threads of this process use; a new one where it is not of the
        version wanted."""
        key = tokenize(cls, os.getpid(), *args, **kwargs)
        with cls._opening.setdefault(key, threading.Lock()):
            made = cls._cache.get(key)
            if made is None or version not in (None, made.files.version):
                made = super().__call__(*args, **kwargs, skip_instance_cache=True)
                cls._cache[key] = made
            return made


class ForebayFileSystem(AbstractFileSystem, metaclass=_OneForAllThreads):
    """Read only. Paths are relative to ``source``; the other arguments are those of
    :func:`forebay.files`. What is seen is a version: ``invalidate_cache`` moves to the
    newest. Another process that it is sent to (pickled) sees the same version, or
    ``SourceChanged``."""

    protocol = "forebay"
    root_marker = ""

    def __init__(self, source: str | os.PathLike[str] | None = None, store: str | None = None,
                 options: Mapping[str, Any] | None = None, timeout: float = 600.0,
                 node: str | None = None, **kwargs: Any):
        super().__init__(**kwargs)
        if source is None:
            raise ValueError('give the tree to read: source="s3://bucket/images", or '
                             'FSSPEC_FOREBAY_SOURCE in the environment')
        self._files: Files = files(source, store=store, options=options, timeout=timeout,
                                   node=node)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (type(self), self.storage_args, self.storage_options,
                           self._files.version)

    @property
    def files(self) -> Files:
        """What the file system reads."""
        return self._files

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        text = os.fspath(path)
        if text.startswith("forebay://"):
            text = text[len("forebay://"):]
        return text.strip("/")

    def invalidate_cache(self, path: str | None = None) -> None:
        self._files.refresh()

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """As fsspec's local file system has it: of what a link leads to, with ``islink`` and
        ``destination``."""
        name = self._strip_protocol(path)
        entry = self._entry(self._files.stat(name))
        itself = self._files.stat(name, follow_symlinks=False)
        if itself.is_link:
            entry |= {"islink": True, "destination": itself.target}
        return entry

    def ls(self, path: str = "", detail: bool = True, **kwargs: Any) -> list[Any]:
        name = self._strip_protocol(path)
        if not self._files.stat(name).is_dir:
            return [self.info(name) if detail else name]
        entries = self._files.list(name)
        return [self._listed(each) if detail else each.path for each in entries]

    def _listed(self, info: FileInfo) -> dict[str, Any]:
        """A link to a file looks like one. All others are ``other``, so that nobody walks in
        circles."""
        if not info.is_link:
            return self._entry(info)
        entry = self._entry(info) | {"islink": True, "destination": info.target, "type": "other"}
        try:
            at_end = self._files.stat(info.path)
        except OSError:
            return entry
        return entry if at_end.is_dir else entry | self._entry(at_end)

    def _entry(self, info: FileInfo) -> dict[str, Any]:
        entry: dict[str, Any] = {"name": info.path, "size": info.size,
                                 "type": "directory" if info.is_dir else "file"}
        if info.mtime is not None:
            entry["mtime"] = info.mtime
            entry["LastModified"] = datetime.datetime.fromtimestamp(info.mtime,
                                                                    datetime.timezone.utc)
        if not info.is_dir:
            entry["ETag"] = self._identity(info)
        return entry

    def _identity(self, info: FileInfo) -> str:
        """What libraries know their copies by: by path and ETag, whatever the source. So it
        must be another for every source and every change."""
        if info.etag is not None and self._files.uri.startswith("s3"):
            return info.etag  # a digest of the contents; web servers make theirs of less
        said = info.etag or info.mtime or self._files.version
        text = f"{self._files.uri}\0{info.path}\0{info.size}\0{said}"
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]

    def islink(self, path: str) -> bool:
        try:
            return self._files.stat(self._strip_protocol(path), follow_symlinks=False).is_link
        except OSError:
            return False

    def exists(self, path: str, **kwargs: Any) -> bool:
        return self._files.exists(self._strip_protocol(path))

    def modified(self, path: str) -> datetime.datetime:
        mtime = self._files.stat(self._strip_protocol(path)).mtime
        if mtime is None:
            raise NotImplementedError("the source does not say when the file was modified")
        return datetime.datetime.fromtimestamp(mtime, datetime.timezone.utc)

    def ukey(self, path: str) -> str:
        return self._identity(self._files.stat(self._strip_protocol(path)))

    def checksum(self, path: str) -> int:
        return int.from_bytes(hashlib.sha256(self.ukey(path).encode()).digest()[:8], "little")

    def open(self, path: str, mode: str = "rb", block_size: int | None = None,
             cache_options: Any = None, compression: str | None = None,
             **kwargs: Any) -> Any:
        # Bytes are mapped already: none of fsspec's own buffers are needed.
        if mode == "rb" and compression is None:
            return self._files.open(self._strip_protocol(path))
        return super().open(path, mode, block_size=block_size, cache_options=cache_options,
                            compression=compression, **kwargs)

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> io.BufferedIOBase:
        if mode != "rb":
            self._refuse(path)
        return self._files.open(path)

    def _refuse(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        raise OSError(errno.EROFS, "forebay is read only", path)

    mkdir = makedirs = rmdir = rm = rm_file = touch = cp_file = mv = put_file = pipe_file = _refuse

    def cat_file(self, path: str, start: int | None = None, end: int | None = None,
                 **kwargs: Any) -> bytes:
        name = self._strip_protocol(path)
        if start is None and end is None:
            return self._files.read(name)
        first, last, _ = slice(start, end).indices(self._files.stat(name).size)
        return self._files.read(name, first, max(0, last - first))

    def cat(self, path: Any, recursive: bool = False, on_error: str = "raise",
            **kwargs: Any) -> Any:
        if isinstance(path, list) and not recursive and on_error == "raise" and not kwargs:
            names = [self._strip_protocol(each) for each in path]
            if not any(glob in name for name in names for glob in "*?["):
                return dict(zip(names, self._files.read_many(names), strict=True))
        return super().cat(path, recursive=recursive, on_error=on_error, **kwargs)

    def cat_ranges(self, paths: list[str], starts: Any, ends: Any, max_gap: int | None = None,
                   on_error: str = "return", **kwargs: Any) -> list[Any]:
        starts = starts if isinstance(starts, list) else [starts] * len(paths)
        ends = ends if isinstance(ends, list) else [ends] * len(paths)
        try:
            self._files.bring([(self._strip_protocol(path), max(start or 0, 0))
                               for path, start in zip(paths, starts, strict=True)])
        except Exception:
            pass  # said below, of the range it is about
        out: list[Any] = []
        for path, start, end in zip(paths, starts, ends, strict=True):
            try:
                out.append(self.cat_file(path, start, end))
            except Exception as error:
                if on_error == "raise":
                    raise
                out.append(error)
        return out


def _unpickle(cls: type[ForebayFileSystem], args: tuple[Any, ...], kwargs: dict[str, Any],
              version: str) -> ForebayFileSystem:
    fs = cls.shared(version, args, kwargs)
    check_version(fs.files, version)
    return fs
