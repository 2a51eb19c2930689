"""Nodes of tests: where they are, how they die, and an environment to have one's own."""

import contextlib
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from processes import is_alive, node_pids, wait_until

import forebay

PROGRAMS = Path(forebay.__file__).parent / "bin"


def kill_node(pid):
    """Kill -9, and back when it is gone."""
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), f"node {pid} does not die")


def end_node(pid):
    """As it is asked to, or else killed."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        try:
            wait_until(lambda: not is_alive(pid), "", seconds=10)
        except AssertionError:
            kill_node(pid)


@contextlib.contextmanager
def own_node(folder):
    """The environment in which `forebay.open` uses a store in this folder; its node ends
    with it. Sockets need short paths."""
    runtime = tempfile.mkdtemp(prefix="fb-", dir="/tmp")
    spec = f"ssd:{folder}/store"
    try:
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("XDG_RUNTIME_DIR", runtime)
            environment.setenv("FOREBAY_STORE", spec)
            for name in ("RANK", "WORLD_SIZE", "FOREBAY_NODE"):
                environment.delenv(name, raising=False)
            yield spec
    finally:
        for pid in node_pids(runtime):
            end_node(pid)
        shutil.rmtree(runtime)
