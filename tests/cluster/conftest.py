"""Each test has heads of its own, which end with it."""

import subprocess

import pytest

from heads import BIN, Head, start_etcd, write_table


@pytest.fixture
def processes():
    """Whatever is put here ends with the test."""
    started = []
    yield started
    for process in started:
        process.end()


@pytest.fixture
def head(tmp_path, processes):
    processes.append(Head(tmp_path, "--timeout", "1s"))
    return processes[-1].wait()


@pytest.fixture
def etcd(tmp_path, processes):
    processes.append(start_etcd(tmp_path))
    return processes[-1]


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "events")


@pytest.fixture
def forebay():
    """The command line."""
    def run(*arguments, code=0):
        done = subprocess.run([BIN / "forebay", *map(str, arguments)], text=True,
                              capture_output=True, timeout=60)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done
    return run
