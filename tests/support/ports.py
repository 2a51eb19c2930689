"""Ports for servers of tests, each given out once among all test processes of this machine."""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

_held = []  # open files: their locks end with this process


def free_port():
    """A loopback port that nobody has, and that no other test is given while this process
    lives: its server may be slow to bind it, or be killed and bind it again. It lies below the
    ports that the system gives to outgoing connections."""
    folder = Path(tempfile.gettempdir(), f"forebay-test-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    while True:
        port = random.randrange(20_000, 32_000)
        claim = open(folder / str(port), "w")
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            claim.close()
            continue
        _held.append(claim)
        return port
