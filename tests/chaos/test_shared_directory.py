"""Four nodes on one store directory, with every lock a no-op: each value right, and the
directory under its quota."""

import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay

NODE = Path(__file__).parents[2] / "bin" / "forebay-node"
NODES, ROWS, QUOTA = 4, 200_000, 8 << 20

NO_LOCKS = """
#define _GNU_SOURCE
#include <fcntl.h>
int flock(int fd, int how) { (void)fd; (void)how; return 0; }
int lockf(int fd, int how, off_t n) { (void)fd; (void)how; (void)n; return 0; }
"""


@pytest.fixture
def no_locks(tmp_path):
    source, library = tmp_path / "no_locks.c", tmp_path / "no_locks.so"
    source.write_text(NO_LOCKS)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "table"
    folder.mkdir()
    for i in range(8):
        x = np.arange(i * ROWS // 8, (i + 1) * ROWS // 8)
        columns = {"x": x} | {f"c{k}": x * (k + 2) for k in range(8)}
        pq.write_table(pa.table(columns), folder / f"{i}.parquet")
    return folder


@pytest.fixture
def nodes(tmp_path, no_locks):
    runtime = Path(f"/tmp/fbshared-{os.getpid()}")
    runtime.mkdir(mode=0o700, exist_ok=True)
    processes, sockets = [], []
    for i in range(NODES):
        sockets.append(runtime / f"{i}.sock")
        command = [NODE, "--store", f"ssd:{tmp_path}/store:{QUOTA}B", "--socket", sockets[-1]]
        environment = {**os.environ, "LD_PRELOAD": str(no_locks)}
        processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
    end = time.monotonic() + 20
    while not all(path.exists() for path in sockets):
        assert time.monotonic() < end, "a node does not start"
        time.sleep(0.02)
    yield sockets
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        process.wait(20)


def directory_bytes(folder):
    total = 0
    for path in Path(folder).rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            pass
    return total


def read_everything(uri, socket, seed, failures):
    rng = random.Random(seed)
    try:
        dataset = forebay.open(uri, node=str(socket))
        for _ in range(2):
            seen = []
            shuffle = rng.choice(["sequential", "global"])
            for batch in dataset.batches(2048, shuffle=shuffle, seed=seed, remainder="keep",
                                         resident=False):  # nodes evict under each other
                for k in range(8):
                    assert (batch[f"c{k}"] == batch["x"] * (k + 2)).all(), "mixed rows"
                seen.append(batch["x"].copy())
            assert (np.sort(np.concatenate(seen)) == np.arange(ROWS)).all(), "rows lost"
    except Exception as error:  # noqa: BLE001 - told to the test
        failures.append(f"{type(error).__name__}: {error}")


def test_four_nodes_share_a_directory_without_locks(table, nodes, tmp_path):
    failures, peak = [], 0
    readers = [
        threading.Thread(target=read_everything, args=(str(table), socket, i, failures))
        for i, socket in enumerate(nodes)
    ]
    for reader in readers:
        reader.start()
    while any(reader.is_alive() for reader in readers):
        peak = max(peak, directory_bytes(tmp_path / "store"))
        time.sleep(0.05)
    assert not failures, failures
    assert peak > 0
    # Each node looks at the directory before it makes room; between two looks every other
    # one may add a chunk.
    assert peak <= QUOTA * 1.5, f"the directory grew to {peak}"
    assert directory_bytes(tmp_path / "store") <= QUOTA, "over quota at the end"
