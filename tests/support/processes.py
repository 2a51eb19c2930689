"""Nodes and other processes of tests: who listens where, who lives."""

import socket
import struct
import time
from pathlib import Path


def peer_pid(path):
    """The process that listens at a socket, or None."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        try:
            link.connect(str(path))
        except OSError:
            return None
        who = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return struct.unpack("3i", who)[0]


def node_pids(runtime):
    """The nodes that listen in a runtime directory."""
    pids = [peer_pid(path) for path in Path(runtime, "forebay").glob("*.sock")]
    return [pid for pid in pids if pid]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, otherwise, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, otherwise
        time.sleep(0.01)
