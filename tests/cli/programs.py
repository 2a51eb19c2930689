"""Runs the programs of bin/ (or FOREBAY_BIN_DIR) and makes tables for them."""

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from processes import is_alive, node_pids, peer_pid, wait_until

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("FOREBAY_BIN_DIR", ROOT / "bin"))


class Cli:
    """The command line, with an environment of its own."""

    def __init__(self, folder):
        self.runtime = Path(tempfile.mkdtemp(prefix="fb-", dir="/tmp"))  # sockets want short paths
        self.store = folder / "store"
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith(("FOREBAY_", "AWS_")) and k != "PYTHONPATH"}
        self.env = {**kept, "XDG_RUNTIME_DIR": str(self.runtime),
                    "XDG_CACHE_HOME": str(folder / "cache"),
                    "FOREBAY_STORE": f"ssd:{self.store}"}

    def run(self, *arguments, **options):
        command = [BIN / "forebay", *map(str, arguments)]
        return subprocess.run(command, env=self.env, text=True, timeout=120,
                              **{"capture_output": True, **options})

    def json(self, *arguments, code=0):
        done = self.run(*arguments, "-o", "json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    def sockets(self):
        return [s for s in self.runtime.glob("forebay/*.sock") if peer_pid(s)]

    def node_pids(self):
        return node_pids(self.runtime)

    def end_nodes(self):
        for pid in self.node_pids():
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda pid=pid: not is_alive(pid), f"node {pid} does not end")


def write_table(folder, files=4, rows=20_000):
    """`id` counts all rows, `text` is as wide as it takes to be a chunk of its own."""
    folder.mkdir(parents=True)
    for i in range(files):
        ids = np.arange(i * rows, (i + 1) * rows)
        texts = pa.array([f"{v:0100}" for v in ids])
        pq.write_table(pa.table({"id": ids, "flag": ids % 2 == 0, "text": texts}),
                       folder / f"{i}.parquet", compression="none")
    # A file must be 2 s old before it is read; tests need not wait for that.
    past = time.time() - 60
    for path in folder.iterdir():
        os.utime(path, (past, past))
    return folder
