"""Ports that tests are given collide with nobody's."""

import random
import socket
import subprocess
import sys
from pathlib import Path

from ports import free_port

GIVE = "import random, ports; random.seed(1); print(ports.free_port())"


def test_two_processes_are_not_given_the_same_port():
    random.seed(1)  # both draw the same numbers
    own = {free_port() for _ in range(3)}
    other = subprocess.run([sys.executable, "-c", GIVE], cwd=Path(__file__).parent, text=True,
                           capture_output=True, check=True, timeout=60)
    assert int(other.stdout) not in own


def test_a_port_that_somebody_listens_at_is_not_given():
    random.seed(2)
    port = random.randrange(20_000, 32_000)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError:
            pass  # taken by somebody else, which is as well
        random.seed(2)
        assert free_port() != port
