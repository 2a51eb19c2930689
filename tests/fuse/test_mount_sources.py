"""Sources of one mount do not wait for each other."""

import os
import threading
import time

import pytest
from fault_proxies import FaultProxy
from mounts import write_files
from s3_server import S3Server


@pytest.mark.parametrize("profile", ["small", "large"])
def test_what_is_not_cached_of_one_source_comes_while_another_hangs(mounts, tmp_path, profile):
    files = {f"{i:03}": os.urandom(100_000 + i) for i in range(40)}
    small = {f"small/{i:03}": os.urandom(1_000 + i) for i in range(40)}
    folder = write_files(tmp_path / "local", files)
    with S3Server(tmp_path / "s3") as server, FaultProxy(server.port) as proxy:
        for bucket in ("hangs", "fine"):
            server.make_bucket(bucket)
            for name, data in (files | small).items():
                server.put(bucket, name, data)
        options = [word.replace(server.endpoint, proxy.endpoint) for word in server.options()]
        mount = mounts.mount(None, "--source", "s3://hangs=hangs", "--source", "s3://fine=fine",
                             "--source", f"{folder}=local", "--profile", profile,
                             "--timeout", "90s", "-O", "http.backoff-ms=1", *options)
        proxy.plan("read", "stall", times=1_000_000, path="/hangs/")
        failures = []

        def wait(name):
            try:
                (mount / "hangs" / name).read_bytes()
            except OSError as error:
                failures.append(error)
        readers = [threading.Thread(target=wait, args=(name,), daemon=True)
                   for name in files | small]
        for reader in readers:
            reader.start()
        end = time.monotonic() + 60
        while proxy.fired() < 20:
            assert time.monotonic() < end, "nobody waits"
            time.sleep(0.05)
        for source, contents in (("fine", files | small), ("local", files)):
            for name, data in contents.items():
                start = time.monotonic()
                assert (mount / source / name).read_bytes() == data
                assert time.monotonic() - start < 10, (source, name)
        assert not failures, "all of them still wait"
    for reader in readers:  # their server is gone
        reader.join(30)
        assert not reader.is_alive()
