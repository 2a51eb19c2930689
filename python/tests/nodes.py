"""Nodes of tests: where they are, how they die, and an environment to have one's own."""

import contextlib
import os
import shutil
import signal
import socket
import struct
import tempfile
import time
from pathlib import Path

import pytest

import forebay

PROGRAMS = Path(forebay.__file__).parent / "bin"


def node_pids(runtime):
    """The processes that listen in a runtime directory."""
    pids = []
    for path in Path(runtime, "forebay").glob("*.sock"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
            try:
                link.connect(str(path))
            except OSError:
                continue
            who = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            pids.append(struct.unpack("3i", who)[0])
    return pids


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def kill_node(pid):
    """Kill -9, and back when it is gone."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid), f"node {pid} does not die")


def wait_until(condition, otherwise, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, otherwise
        time.sleep(0.01)


@contextlib.contextmanager
def own_node(folder):
    """The environment in which `forebay.open` uses a store in this folder; its node ends
    with it. Sockets need short paths."""
    runtime = tempfile.mkdtemp(prefix="fb-", dir="/tmp")
    spec = f"ssd:{folder}/store"
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_RUNTIME_DIR", runtime)
        environment.setenv("FOREBAY_STORE", spec)
        for name in ("RANK", "WORLD_SIZE", "FOREBAY_NODE"):
            environment.delenv(name, raising=False)
        yield spec
    for pid in node_pids(runtime):
        os.kill(pid, signal.SIGTERM)
        try:
            wait_until(lambda: not alive(pid), "", seconds=10)
        except AssertionError:
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(runtime)
