"""What a mount takes of its host stays bounded: threads, descriptors, links to the node."""

import errno
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from fault_proxies import FaultProxy
from s3_server import S3Server


def read_anew(path):
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.read()


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.alone
@pytest.mark.parametrize("profile", ["small", "large"])
def test_cached_files_are_served_while_the_source_hangs(mounts, tmp_path, profile):
    cached = {f"cached/{i:02}": os.urandom(100_000 + i) for i in range(20)}
    with S3Server(tmp_path / "s3") as server, FaultProxy(server.port) as proxy:
        server.make_bucket("hangs")
        for name, data in cached.items():
            server.put("hangs", name, data)
        for i in range(280):
            server.put("hangs", f"cold/{i:03}", b"x" * 100_000)
        options = [word.replace(server.endpoint, proxy.endpoint) for word in server.options()]
        mount = mounts.mount("s3://hangs", "--profile", profile, "--timeout", "8s", *options)
        for name, data in cached.items():
            assert (mount / name).read_bytes() == data
        mounts.kill_server(mount)  # the next one has nothing mapped
        proxy.plan("read", "stall", times=1_000_000)
        failures = []

        def wait(name):
            try:
                (mount / name).read_bytes()
            except OSError as error:
                failures.append((error.errno, time.monotonic()))
        began = time.monotonic()
        readers = [threading.Thread(target=wait, args=(f"cold/{i:03}",)) for i in range(200)]
        for reader in readers:
            reader.start()
        while proxy.fired() < 20:
            assert time.monotonic() - began < 6, "nobody waits"
            time.sleep(0.05)
        for name, data in cached.items():
            start = time.monotonic()
            assert read_anew(mount / name) == data
            assert time.monotonic() - start < 1, name
        # All at once, in the middle of others that have to wait.
        late = [threading.Thread(target=wait, args=(f"cold/{200 + i:03}",)) for i in range(80)]
        with ThreadPoolExecutor(len(cached)) as pool:
            start = time.monotonic()
            reads = {}
            for i, name in enumerate(cached):
                for reader in late[4 * i:4 * i + 4]:
                    reader.start()
                reads[name] = pool.submit(read_anew, mount / name)
            assert {name: read.result() for name, read in reads.items()} == cached
            assert time.monotonic() - start < 2
        readers += late
        assert not failures, "all of them still wait"
        assert threads_of(mounts.serving_pid(mount)) < 100
        for reader in readers:
            reader.join()
        assert [error for error, _ in failures] == [errno.ETIMEDOUT] * 280
        # The kernel asks once more by itself when what it read ahead fails.
        assert time.monotonic() - began < 2 * 8 + 8
        proxy.clear()


def test_descriptors_stay_few_over_many_refreshes(mounts, tmp_path):
    with S3Server(tmp_path / "s3") as server:
        server.make_bucket("moves")
        server.put("moves", "stays", b"stays")
        server.put("moves", "changes", b"0")
        mount = mounts.mount("s3://moves", "--profile", "small", *server.options())
        (mount / "changes").read_bytes()
        pid = mounts.serving_pid(mount)
        (node,) = mounts.node_pids()
        before = descriptors_of(pid), threads_of(node)
        opened = []
        for i in range(100):
            server.put("moves", "changes", b"%d" % (1000 + i))
            server.put("moves", f"new/{i}", b"n")
            mounts.run("refresh", mount)
            assert (mount / "changes").read_bytes() == b"%d" % (1000 + i)
            assert (mount / f"new/{i}").read_bytes() == b"n"
            if i % 20 == 0:
                opened.append((open(mount / "changes", "rb"), b"%d" % (1000 + i)))
        assert mounts.serving_pid(mount) == pid
        assert descriptors_of(pid) < before[0] + 60
        assert threads_of(node) < before[1] + 60
        mounts.kill_server(mount)
        for file, data in opened:
            with file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                assert file.read() == data
        assert read_anew(mount / "stays") == b"stays"
        assert descriptors_of(mounts.serving_pid(mount)) < before[0] + 60
