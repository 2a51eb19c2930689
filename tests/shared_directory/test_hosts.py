"""Sixteen processes on four hosts share a directory of a file server that lies (lying_fs.cc).
Each host has PID and mount namespaces, a node, a store and a view of the server of its own."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BIN = Path(os.environ.get("FOREBAY_BIN_DIR", HERE.parents[1] / "bin"))
BAD_DAY = ["stale=0.7", "estale=0.003", "repeat=0.2"]


def compile_lying_fs(target):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "fuse3"], capture_output=True,
                           text=True)
    if flags.returncode != 0:
        pytest.skip("libfuse3-dev is not installed")
    subprocess.run(["c++", "-std=c++20", "-O1", "-o", target, HERE / "lying_fs.cc",
                    *flags.stdout.split()], check=True)
    return str(target)


@pytest.fixture(scope="module")
def lying_fs(tmp_path_factory):
    if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("needs root and /dev/fuse")
    return compile_lying_fs(tmp_path_factory.mktemp("lying") / "lying_fs")


@pytest.fixture
def scenario(lying_fs, tmp_path):
    """Runs hosts; gives back what happened, outcomes and failures of all hosts together."""
    runtime = Path(tempfile.mkdtemp(prefix="fb-", dir="/tmp"))  # sockets want short paths
    runtime.chmod(0o700)

    def run(**config):
        config = {"hosts": 4, "workers": 4, "turns": 6, "seconds": 12, "count": 6,
                  "size": 1 << 20, "kill": 0.0, "gc": 0.0, "keep_free": "0%",
                  "behaviour": BAD_DAY, **config, "folder": str(tmp_path),
                  "runtime": str(runtime), "lying_fs": lying_fs, "forebay": str(BIN / "forebay")}
        command = ["unshare", "--mount", sys.executable, HERE / "scenario.py", json.dumps(config)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        found["outcomes"] = sum((collections.Counter(h["outcomes"]) for h in found["hosts"]),
                                collections.Counter())
        found["failures"] = [text for h in found["hosts"] for text in h["failures"]]
        print(found["outcomes"], collections.Counter(found["failures"]).most_common(9))
        return found

    yield run
    shutil.rmtree(runtime)


def assert_nothing_wrong(found):
    assert not [text for h in found["hosts"] for text in h["wrong"]]
    assert not found["wrong_entries"]
    assert not found["debris"]
    assert found["outcomes"]["right"] > 0


def test_with_locks_that_work_the_source_is_read_once(scenario):
    found = scenario()
    assert_nothing_wrong(found)
    assert not found["failures"]
    assert found["entries"] == 6
    read = sum(h["source_bytes"] for h in found["hosts"])
    assert read <= 1.1 * found["object_bytes"], f"{read / found['object_bytes']:.2f} times"


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_locks_that_lie_and_kills_make_no_wrong_file(scenario, long):
    size = {"turns": 400, "seconds": 120, "count": 20} if long else {"turns": 20, "seconds": 8}
    found = scenario(behaviour=["locks=lie", *BAD_DAY], kill=0.5, gc=0.1, keep_free="100%", **size)
    assert_nothing_wrong(found)
    assert found["outcomes"]["killed"] > 0


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_full_and_a_read_only_disk_make_no_wrong_file(scenario, long):
    size = {"turns": 400, "seconds": 120} if long else {"turns": 30, "seconds": 8}
    end = size["seconds"]
    found = scenario(behaviour=["locks=lie", *BAD_DAY], kill=0.2, gc=0.1, keep_free="60%",
                     count=20, disk_mib=6, read_only=[end * 0.5, end * 0.75], **size)
    assert_nothing_wrong(found)
    # Only `path` has to have it there, and says why it cannot.
    assert {text.rsplit(": ", 1)[-1] for text in found["failures"]} <= {
        "No space left on device", "Read-only file system"}
