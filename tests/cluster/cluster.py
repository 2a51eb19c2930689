"""A cluster of real processes on this machine: one head, some nodes, all on loopback."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import pyarrow.flight as flight
from ports import free_port
from processes import wait_until

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("FOREBAY_BIN_DIR", ROOT / "bin"))


class Process:
    """A program that can be killed and started again with the same arguments."""

    def __init__(self, log, *command):
        self.log = log
        self.command = [str(part) for part in command]
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.running = subprocess.Popen(self.command, stdout=log, stderr=log)

    @property
    def pid(self):
        return self.running.pid

    def signal(self, number):
        self.running.send_signal(number)

    def kill(self):
        self.running.kill()
        self.running.wait()

    def stop(self):
        """Ends it in order, whatever state it is in."""
        if self.running.poll() is not None:
            return
        self.signal(signal.SIGCONT)
        self.running.terminate()
        try:
            self.running.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


class Node(Process):
    def __init__(self, cluster, name, store, *arguments, advertise="127.0.0.1"):
        self.name = name
        self.socket = cluster.folder / f"{name}.sock"
        port = free_port()
        self.flight = f"127.0.0.1:{port}"
        super().__init__(cluster.folder / f"{name}.log", BIN / "forebay-node", "--store", store,
                         "--socket", self.socket, "--head", cluster.head_address,
                         "--flight", self.flight, "--advertise", f"{advertise}:{port}", "--id", name,
                         *arguments)


class Cluster:
    """`nodes` of them with a store each: a specification in which {dir} is a folder."""

    def __init__(self, nodes=3, store="mem:256MiB", head=(), node=(), meta=None):
        self.folder = Path(tempfile.mkdtemp(prefix="fbc-", dir="/tmp"))  # sockets: short paths
        self.head_address = f"127.0.0.1:{free_port()}"
        self.store, self.node_arguments = store, node
        self.head = Process(self.folder / "head.log", BIN / "forebay-head", "--listen",
                            self.head_address, "--meta", meta or f"sqlite:{self.folder}/meta.db",
                            "--state", self.folder / "head", *head)
        self.nodes = []
        try:
            wait_until(lambda: self.reached("/healthz"), "the head does not answer")
            for _ in range(nodes):
                self.add_node()
            self.wait_for_nodes()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        for process in [*self.nodes, self.head]:
            process.stop()
        if failure[0] is not None:
            for log in sorted(self.folder.glob("*.log")):
                print(f"--- {log.name}\n{log.read_text()[-16_000:]}")
        shutil.rmtree(self.folder, ignore_errors=True)

    def add_node(self, weight=1, **how):
        name = f"n{len(self.nodes)}"
        store = self.store.format(dir=self.folder / name)
        node = Node(self, name, store, "--weight", weight, *self.node_arguments, **how)
        self.nodes.append(node)
        return node

    def answers(self, node):
        try:
            return bool(self.status(node))
        except flight.FlightError:
            return False

    def wait_for_nodes(self):
        wait_until(lambda: self.reached("/healthz"), "the head does not answer")
        for node in self.nodes:
            wait_until(lambda node=node: self.answers(node), f"{node.name} does not answer")
        wait_until(lambda: self.states() == ["up"] * len(self.nodes), "the nodes do not join")

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.head_address}{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def reached(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.head_address}{path}", timeout=5):
                return True
        except OSError:
            return False

    def states(self):
        return [node["state"] for node in self.call("GET", "/v1/nodes")["nodes"]]

    def create(self, name, source, **more):
        return self.call("POST", "/v1/datasets", {"name": name, "source": str(source), **more})

    def uri(self, name):
        return f"forebay://{self.head_address}/{name}"

    def counters(self, counter):
        """What each node says of itself, straight from it."""
        return {node.name: self.status(node)[counter] for node in self.nodes
                if node.running.poll() is None}

    def status(self, node):
        with flight.connect(f"grpc://{node.flight}") as client:
            return json.loads(next(iter(client.do_action("status"))).body.to_pybytes())
