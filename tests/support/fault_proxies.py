"""The proxy of tests/servers/fault_proxy.py, in front of a server of a test."""

import subprocess
import sys
import urllib.request
from pathlib import Path

from ports import free_port
from processes import wait_until

PROGRAM = Path(__file__).resolve().parents[1] / "servers/fault_proxy.py"


class FaultProxy:
    """Stands between enter and exit; passes everything on until a fault is planned."""

    def __init__(self, upstream_port):
        self.upstream_port = upstream_port
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, str(self.port), str(self.upstream_port)])
        try:
            wait_until(self.answers, "the proxy does not start")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ask(self, what):
        with urllib.request.urlopen(self.endpoint + what, timeout=10) as answer:
            return int(answer.read())

    def answers(self):
        try:
            return self.ask("/__fired") == 0
        except OSError:
            return False

    def plan(self, stage, kind, **more):
        """As the program's first lines say."""
        words = [f"{name}={value}" for name, value in
                 {"stage": stage, "kind": kind, **more}.items()]
        self.ask("/__plan?" + "&".join(words))

    def fired(self):
        return self.ask("/__fired")

    def clear(self):
        self.ask("/__clear")
