"""Real heads, an etcd, and nodes that are only their words."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import BIN, free_port, wait_until

TOOLS = Path(os.environ.get("FOREBAY_TOOLS") or Path.home() / ".cache/forebay-dev/tools")


def write_table(folder, files=3, rows=1_000):
    folder.mkdir(exist_ok=True)
    for i in range(files):
        ids = np.arange(i * rows, (i + 1) * rows)
        pq.write_table(pa.table({"id": ids, "label": ids % 10}), folder / f"{i}.parquet")
        past = time.time() - 60  # a file must be 2 s old before it is read
        os.utime(folder / f"{i}.parquet", (past, past))
    return folder



class Redirects(urllib.request.HTTPRedirectHandler):
    """307 keeps method and body; the library follows it for GET only."""

    def redirect_request(self, req, fp, code, msg, headers, url):
        return urllib.request.Request(url, req.data, req.headers, method=req.get_method())


def call(address, method, path, body=None, raw=False, follow=True, timeout=30):
    """Status and answer of one request."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://{address}{path}", data, method=method)
    handlers = [Redirects()] if follow else [NoRedirects()]
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    return status, text if raw or not text else json.loads(text)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Process:
    def __init__(self, command, log):
        self.command, self.log = [str(word) for word in command], log
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait(30)

    def end(self):
        if self.process.poll() is None:
            self.kill()


class Head(Process):
    """`forebay-head` on a loopback port of its own."""

    def __init__(self, folder, *options, meta=None, name="head"):
        self.folder = Path(folder) / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.address = f"127.0.0.1:{free_port()}"
        command = [BIN / "forebay-head", "--state", self.folder, "--listen", self.address]
        if meta:
            command += ["--meta", meta]
        super().__init__([*command, *options], self.folder / "log")

    def call(self, *arguments, **options):
        return call(self.address, *arguments, **options)

    def get(self, path):
        status, answer = self.call("GET", path)
        assert status == 200, answer
        return answer

    def answers(self):
        try:
            return self.call("GET", "/ready", raw=True, timeout=2)[0] == 200
        except OSError:
            return False

    def wait(self):
        wait_until(self.answers, f"the head does not answer: {self.log.read_text()}")
        return self

    def leads(self):
        try:
            return self.call("GET", "/v1/nodes", follow=False, timeout=2)[0] == 200
        except OSError:
            return False


class Node:
    """What a node says to its head, without the node."""

    def __init__(self, head, id, weight=1.0):
        self.head, self.id, self.weight = head, id, weight
        self.instance = f"{id}-{time.monotonic_ns()}"
        self.fence, self.roster, self.orders = 0, {"epoch": 0}, {}

    def register(self):
        status, answer = self.head.call("POST", "/v1/nodes/register", {
            "id": self.id, "instance": self.instance, "host": "h",
            "flight": f"h:{self.id}", "weight": self.weight})
        if status == 200:
            self.fence, self.roster = answer["fence"], answer["roster"]
        return status

    def beat(self, **report):
        status, answer = self.head.call("POST", "/v1/nodes/heartbeat", {
            "id": self.id, "fence": self.fence, "roster_epoch": self.roster["epoch"],
            "report": report})
        if status == 200:
            self.roster = answer.get("roster", self.roster)
            self.orders = answer.get("orders", {})
        return status

    def state(self):
        nodes = {n["id"]: n["state"] for n in self.head.get("/v1/nodes")["nodes"]}
        return nodes.get(self.id)


def start_etcd(folder):
    return start_etcds(folder, 1)[0]


def start_etcds(folder, count):
    """The members of one etcd; `meta` names them all."""
    program = TOOLS / "etcd"
    if not program.exists():
        pytest.skip("etcd is not installed")
    places = [(free_port(), free_port()) for _ in range(count)]
    cluster = ",".join(f"m{i}=http://127.0.0.1:{peer}" for i, (_, peer) in enumerate(places))
    members = []
    for i, (client, peer) in enumerate(places):
        urls = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        member = Process([program, "--name", f"m{i}", "--data-dir", folder / f"etcd{i}",
                          "--listen-client-urls", urls[0], "--advertise-client-urls", urls[0],
                          "--listen-peer-urls", urls[1], "--initial-advertise-peer-urls", urls[1],
                          "--initial-cluster", cluster], folder / f"etcd{i}.log")
        member.meta = "etcd://" + ",".join(f"127.0.0.1:{client}" for client, _ in places)
        members.append(member)

    def healthy():
        try:
            return call(f"127.0.0.1:{places[0][0]}", "GET", "/health", timeout=2)[0] == 200
        except OSError:
            return False
    wait_until(healthy, "etcd does not start")
    return members
