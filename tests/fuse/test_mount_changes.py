"""Refreshes, kills and readers all at once: every opened file is one version from its first byte to
its last, and never an older one than the refresh before it was opened promised."""

import errno
import os
import random
import struct
import threading
import time

import pytest
from mounts import OLD, write_files

FILES = 12
STAMP = struct.Struct("<II")


def bytes_of(file, version):
    """Small ones for packs, others by themselves."""
    return STAMP.pack(file, version) * (500 if file % 2 else 30_000)


class Reader(threading.Thread):
    def __init__(self, mount, seed, promised):
        super().__init__()
        self.mount, self.rng, self.promised = mount, random.Random(seed), promised
        self.failures, self.whole, self.stale, self.over = [], 0, 0, False

    def run(self):
        while not self.over:
            file = self.rng.randrange(FILES)
            at_least = self.promised[file]
            try:
                data = self.read(file)
            except OSError as error:
                # Its object was overwritten before anybody had read it.
                self.stale += error.errno == errno.ESTALE
                if error.errno != errno.ESTALE:
                    self.failures.append(f"file {file}: {error}")
                continue
            found, version = STAMP.unpack_from(data)
            if found != file or data != bytes_of(file, version):
                self.failures.append(f"file {file} is a mix")
            if version < at_least:
                self.failures.append(f"file {file}: version {version} after {at_least}")
            self.whole += 1

    def read(self, file):
        fd = os.open(self.mount / f"f{file:02}", os.O_RDONLY)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            pieces = []
            while piece := os.read(fd, 1 + self.rng.randrange(60_000)):
                pieces.append(piece)
            return b"".join(pieces)
        finally:
            os.close(fd)


@pytest.fixture
def source(s3_server, tmp_path):
    """(what to mount, put(file, version)): a source whose files are replaced as a whole."""
    folder = write_files(tmp_path / "source", {})

    def put_file(file, version):
        fresh = folder / f"f{file:02}.new"
        fresh.write_bytes(bytes_of(file, version))
        os.utime(fresh, (OLD + version, OLD + version))
        fresh.rename(folder / f"f{file:02}")

    def put_object(file, version):
        s3_server.put("changing", f"f{file:02}", bytes_of(file, version))
    if s3_server is None:
        return [folder], put_file
    s3_server.make_bucket("changing")
    return ["s3://changing", *s3_server.options()], put_object


@pytest.mark.parametrize("profile", ["small", "large"])
@pytest.mark.parametrize(
    "rounds", [3, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_files_change_under_refreshes_kills_and_readers(mounts, source, profile, rounds):
    what, put = source
    versions = dict.fromkeys(range(FILES), 1)
    for file in range(FILES):
        put(file, 1)
    mount = mounts.mount(*what, "--profile", profile)
    promised, rng = dict(versions), random.Random(rounds)
    readers = [Reader(mount, seed, promised) for seed in range(8)]
    for reader in readers:
        reader.start()
    try:
        for turn in range(rounds):
            for file in rng.sample(range(FILES), 4):
                versions[file] += 1
                put(file, versions[file])
            mounts.run("refresh", mount)
            promised.update(versions)
            if turn % 2:
                mounts.kill_server(mount)
            time.sleep(0.1)
    finally:
        for reader in readers:
            reader.over = True
        for reader in readers:
            reader.join()
    failures = [text for reader in readers for text in reader.failures]
    print(sum(r.whole for r in readers), "whole,", sum(r.stale for r in readers), "stale")
    assert not failures, failures[:5]
    assert sum(reader.whole for reader in readers) > 50
