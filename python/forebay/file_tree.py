"""A tree of files, open for reading.

    images = forebay.files("s3://bucket/images")
    with images.open("a/b.jpg") as file:
        ...
"""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from . import _arguments, _native
from .errors import SourceChanged, WarmupFailed
from .residency import require_all_stored

# Smaller files are handed out as one piece; larger ones are read where they are mapped.
_WHOLE_BYTES = 64 * 1024


class FileInfo(NamedTuple):
    """What is known of a file, folder or link without reading it."""

    path: str
    size: int
    is_dir: bool
    mtime: float | None  # seconds since 1970; None where the source does not say
    etag: str | None
    target: str | None = None  # where a link leads, as text; None: it is no link

    @property
    def is_link(self) -> bool:
        return self.target is not None


def files(uri: str | os.PathLike[str], *, store: str | None = None,
          options: Mapping[str, Any] | None = None, timeout: float = 600.0,
          node: str | None = None) -> Files:
    """Opens the tree at ``uri``: a folder, a prefix of a bucket, or one file.

    What is opened is a version: the files as they are now, whatever becomes of them. The
    arguments are those of :func:`forebay.open`.
    """
    how = {"store": store, "options": options, "timeout": timeout, "node": node}
    return Files(_open(uri, how), how)


def _open(uri: str | os.PathLike[str], how: dict[str, Any]) -> _native.Files:
    arguments = _native.OpenArguments()
    arguments.uri = os.fspath(uri)
    arguments.store = how["store"] or ""
    arguments.socket = how["node"] or ""
    arguments.source = _arguments.source_options(how["options"])
    arguments.timeout_ms = _arguments.milliseconds("timeout", how["timeout"])
    _arguments.warn_of_store(arguments)
    return _native.open_files(arguments)


def _reopen(uri: str, how: dict[str, Any], version: str) -> Files:
    """Unpickles: the same version, or an error that says so."""
    opened = files(uri, **how)
    check_version(opened, version)
    return opened


def check_version(opened: Files, version: str) -> None:
    """Of what another process has sent."""
    if opened.version != version:
        raise SourceChanged(
            f"{opened.uri} has changed since it was opened in another process: open it again "
            f"(version {version} then, {opened.version} now)")


def _clean(path: str | os.PathLike[str]) -> str:
    """Paths as the manifest has them. ``.`` and ``..`` are no names there, so whatever has
    them is not found."""
    text = os.fspath(path)
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    return text.strip("/")


def _missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class Files:
    """The files of one version of a tree; made by :func:`forebay.files`.

    Paths are relative to the root and use ``/``. Links are followed within the tree; one that
    leads out of it is an ``OSError`` (EXDEV), more than 40 in a row are another (ELOOP). May be
    used by many threads, after a fork, and be pickled.
    """

    def __init__(self, tree: _native.Files, how: dict[str, Any]):
        self._tree = tree
        self._how = how

    @property
    def uri(self) -> str:
        return self._tree.uri

    @property
    def version(self) -> str:
        """Names what is read: the same files with the same contents, the same version."""
        return self._tree.version

    @property
    def file_count(self) -> int:
        return self._tree.file_count

    @property
    def total_bytes(self) -> int:
        return self._tree.file_bytes

    def __len__(self) -> int:
        return self._tree.file_count

    def __repr__(self) -> str:
        return (f"<forebay.Files {self.uri}: {self.file_count} files, "
                f"{self.total_bytes} bytes, version {self.version[:8]}>")

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.uri, self._how, self.version)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, (str, os.PathLike)) and self.exists(path)

    def left_out(self) -> tuple[int, list[str]]:
        """How many objects have names that cannot be file names, and some of them with
        the reason."""
        return self._tree.left_out_count, self._tree.left_out()

    def exists(self, path: str | os.PathLike[str]) -> bool:
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def stat(self, path: str | os.PathLike[str], *, follow_symlinks: bool = True) -> FileInfo:
        name = _clean(path)
        tree = self._tree
        file = tree.find_file(name, follow_symlinks)
        if file is not None:
            return _info(name, *tree.stat(file))
        if tree.find_directory(name, follow_symlinks) is None:
            raise _missing(name)
        return FileInfo(name, 0, True, None, None)

    def list(self, path: str | os.PathLike[str] = "") -> list[FileInfo]:
        """What is in a folder: folders, then files and links as they are, each by name."""
        name = _clean(path)
        tree = self._tree
        directory = _find_directory(tree, name)
        prefix = f"{name}/" if name else ""
        out = [FileInfo(prefix + child, 0, True, None, None)
               for child in tree.directory_names(directory)]
        out += [_info(prefix + child, *rest)
                for child, *rest in tree.directory_files(directory)]
        return out

    def walk(self, path: str | os.PathLike[str] = ""
             ) -> Iterator[tuple[str, list[str], list[str]]]:
        """As :func:`os.walk`, top down: (folder, its folders, its files and links). No link
        is followed."""
        name = _clean(path)
        tree = self._tree
        directory = _find_directory(tree, name)
        folders = tree.directory_names(directory)
        names = [entry[0] for entry in tree.directory_files(directory)]
        yield name, folders, names
        for folder in folders:
            yield from self.walk(f"{name}/{folder}" if name else folder)

    def read(self, path: str | os.PathLike[str], offset: int = 0,
             size: int | None = None) -> bytes:
        """The bytes of a file, or some of them."""
        tree = self._tree
        return tree.read(_find_file(tree, _clean(path)), offset, size)

    def read_many(self, paths: Iterable[str | os.PathLike[str]]) -> list[bytes]:
        """The bytes of many files; what is not cached is fetched at once."""
        tree = self._tree
        numbers = [_find_file(tree, _clean(path)) for path in paths]
        tree.bring([(number, 0) for number in numbers])
        return [tree.read(number) for number in numbers]

    def bring(self, places: Iterable[tuple[str | os.PathLike[str], int]]) -> None:
        """Fetches what is not cached at these places, (path, offset) each, all at once."""
        tree = self._tree
        tree.bring([(_find_file(tree, _clean(path)), offset) for path, offset in places])

    def open(self, path: str | os.PathLike[str], mode: str = "rb") -> io.BufferedIOBase:
        """A file for reading, in bytes."""
        if mode not in ("rb", "r"):
            raise ValueError(f"files are read only and in bytes: mode 'rb', not {mode!r}")
        name = _clean(path)
        tree = self._tree
        file = _find_file(tree, name)
        if tree.stat(file)[0] < _WHOLE_BYTES:
            return SmallFile(tree.read(file), name)
        return LargeFile(RawFile(tree, file, name), 128 * 1024)

    def warmup(self, progress: Callable[[_native.WarmupState], Any] | None = None
               ) -> _native.WarmupState:
        """Loads all files into the store; ``row_count`` and ``rows_done`` count files. What
        could not be loaded is an error at the end; so is a store that is smaller than the
        files: NoRoom."""
        state = self._tree.warmup(progress)
        if state.failures:
            raise WarmupFailed(f"{state.row_count - state.rows_done} of {state.row_count} files "
                               f"were not loaded: {'; '.join(state.failures[:3])}")
        require_all_stored(state)
        return state

    def coverage(self) -> _native.Coverage:
        """How much of the files the store holds now; ``rows_stored`` counts files."""
        return self._tree.coverage()

    def refresh(self) -> bool:
        """Looks at the source again; True when it has changed. Files that are open go on
        with the bytes they had; only what changed is fetched again."""
        tree = _open(self._tree.uri, self._how)
        changed = tree.version != self._tree.version
        if changed:
            self._tree = tree
        return changed


# Numbers of files and folders are those of one tree: a refresh in another thread brings others.
def _find_file(tree: _native.Files, name: str) -> int:
    file = tree.find_file(name)
    if file is None:
        if tree.find_directory(name) is not None:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        raise _missing(name)
    return file


def _find_directory(tree: _native.Files, name: str) -> int:
    directory = tree.find_directory(name)
    if directory is None:
        if tree.find_file(name) is not None:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        raise _missing(name)
    return directory


def _info(path: str, size: int, mtime_ns: int, etag: str, target: str | None) -> FileInfo:
    return FileInfo(path, size, False, mtime_ns / 1e9 if mtime_ns else None, etag or None, target)


class SmallFile(io.BytesIO):
    """A small file, read as a whole."""

    def __init__(self, data: bytes, name: str):
        super().__init__(data)
        self.name = name
        self.mode = "rb"
        self.size = len(data)

    def writable(self) -> bool:
        return False

    def write(self, data: Any) -> int:
        raise io.UnsupportedOperation("not writable")


class LargeFile(io.BufferedReader):
    """A file that is read in pieces."""

    @property
    def size(self) -> int:
        return self.raw.size


class RawFile(io.RawIOBase):
    """A file over mapped chunks. Its bytes are those of the version it was opened in."""

    mode = "rb"

    def __init__(self, tree: _native.Files, file: int, name: str):
        self._tree = tree
        self._file = file
        self._position = 0
        self._lock = threading.Lock()
        self.size = tree.stat(file)[0]
        self.name = name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check_open()
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}
        if whence not in start:
            raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
        if start[whence] + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._position = start[whence] + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._check_open()
        with self._lock:
            count = self._tree.read_into(self._file, self._position, buffer)
            self._position += count
        return count

    def readall(self) -> bytes:
        self._check_open()
        with self._lock:
            data = self._tree.read(self._file, self._position)
            self._position += len(data)
        return data

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")
