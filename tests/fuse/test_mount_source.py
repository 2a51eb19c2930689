"""What a mount shows when its source changes or goes away."""

import errno
import os
import random
import time

import pytest
from fault_proxies import FaultProxy
from mounts import OLD, write_files
from s3_server import S3Server

MIB = 1 << 20


def read_or_stale(fd, size, offset):
    """The bytes, or None when they are gone for good."""
    try:
        return os.pread(fd, size, offset)
    except OSError as error:
        assert error.errno == errno.ESTALE, error
        return None


def assert_old_or_stale(fd, old):
    """Reads everything anew; how many pieces could not be had."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    lost = 0
    for offset in range(0, len(old), MIB):
        piece = read_or_stale(fd, MIB, offset)
        assert piece is None or piece == old[offset:offset + MIB], f"a mix at {offset}"
        lost += piece is None
    return lost


@pytest.fixture
def place(s3_server, tmp_path):
    """(uri, mount options, put): a source whose objects can be overwritten."""
    folder = write_files(tmp_path / "source", {})

    def put(name, data, when=OLD):
        write_files(folder, {name: data})
        os.utime(folder / name, (when, when))
    if s3_server is None:
        return str(folder), [], put
    s3_server.make_bucket("changing")
    return "s3://changing", s3_server.options(), lambda name, data, when=0: s3_server.put(
        "changing", name, data)


@pytest.mark.parametrize("profile", ["small", "large"])
def test_an_object_overwritten_in_the_middle_of_a_read_is_never_a_mix(mounts, place, profile):
    uri, options, put = place
    rng = random.Random(5)
    old = {"huge": rng.randbytes(MIB) * 96, "whole": rng.randbytes(3 * MIB), "small": b"old" * 500,
           "cached": rng.randbytes(MIB)}
    for name, data in old.items():
        put(name, data)
    mount = mounts.mount(uri, "--profile", profile, *options)
    assert (mount / "cached").read_bytes() == old["cached"]
    files = {name: os.open(mount / name, os.O_RDONLY) for name in old}
    # In the middle, so that nobody takes it for a reader who wants all of it.
    assert os.pread(files["huge"], MIB, 40 * MIB) == old["huge"][40 * MIB:41 * MIB]
    for name, data in old.items():
        put(name, bytes(len(data)), when=OLD + 100)
    lost = {name: assert_old_or_stale(files[name], data) for name, data in old.items()}
    assert lost["cached"] == 0
    assert 0 < lost["huge"] < 96
    mounts.run("refresh", mount)
    for name, data in old.items():
        assert (mount / name).read_bytes() == bytes(len(data)), "paths are new after a refresh"
        assert_old_or_stale(files[name], data)
        os.close(files[name])


@pytest.fixture
def half_listed(tmp_path):
    """(server, proxy): a bucket with more objects than a page lists, behind a proxy."""
    contents = {f"{i:04}": b"old %d" % i for i in range(1010)}
    folder = write_files(tmp_path / "objects", contents)
    with S3Server(tmp_path / "s3") as server, FaultProxy(server.port) as proxy:
        server.adopt(folder, "listed")
        yield server, proxy


def fail_second_page(proxy):
    proxy.plan("list", "stall", path="continuation-token", times=1000)


def change_after_failure(server, proxy):
    assert proxy.fired() > 0, "no listing failed after its first page"
    proxy.clear()
    server.put("listed", "0000-new", b"new")
    server.put("listed", "0001", b"changed")
    server.files.delete_file("listed/0002")


@pytest.mark.parametrize("fails", ["mount", "refresh"])
def test_a_listing_that_failed_is_not_gone_on_with_for_long(mounts, half_listed, fails):
    server, proxy = half_listed
    options = [word.replace(server.endpoint, proxy.endpoint) for word in server.options()]
    arguments = ["s3://listed", *options, "--timeout", "3s"]  # a listing is gone on with for 2 s
    if fails == "refresh":
        mount = mounts.mount(*arguments)
        assert (mount / "0001").read_bytes() == b"old 1"
        assert (mount / "0002").read_bytes() == b"old 2"
    fail_second_page(proxy)
    (mounts.folder / "mnt").mkdir(exist_ok=True)
    failed = mounts.run(*(["refresh", mount] if fails == "refresh" else
                          ["mount", arguments[0], mounts.folder / "mnt", *arguments[1:]]),
                        check=False)
    assert failed.returncode == 9, "it timed out"
    change_after_failure(server, proxy)
    if fails == "refresh":
        mounts.run("refresh", mount)
    else:
        mount = mounts.mount(*arguments)
    assert set(os.listdir(mount)) == {f"{i:04}" for i in range(1010)} - {"0002"} | {"0000-new"}
    assert (mount / "0000-new").read_bytes() == b"new"
    assert (mount / "0001").read_bytes() == b"changed"


def test_cached_files_go_on_when_the_source_is_gone(mounts, tmp_path):
    rng = random.Random(6)
    contents = {f"{i:02}": rng.randbytes(200_000) for i in range(20)}
    with S3Server(tmp_path / "s3") as server:
        server.make_bucket("gone")
        for name, data in contents.items():
            server.put("gone", name, data)
        mount = mounts.mount("s3://gone", "--timeout", "3s", *server.options())
        cached = sorted(contents, reverse=True)[:15]  # backwards nothing is fetched ahead
        for name in cached:
            assert (mount / name).read_bytes() == contents[name]
    for round in range(2):
        for name in cached:
            with open(mount / name, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                assert file.read() == contents[name]
        assert sorted(os.listdir(mount)) == sorted(contents)
        if round == 0:
            mounts.kill_server(mount)
    began = time.monotonic()
    with pytest.raises(OSError):
        (mount / sorted(contents)[0]).read_bytes()
    assert time.monotonic() - began < 60
