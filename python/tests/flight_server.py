"""A node that serves Flight, for tests."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pyarrow.flight as flight
from nodes import PROGRAMS


class FlightNode:
    """A running `forebay-node --flight`, its address and its socket."""

    def __init__(self, process, port, socket):
        self.process = process
        self.port = port
        self.socket = str(socket)
        self.location = f"grpc+tcp://127.0.0.1:{port}"

    @property
    def pid(self):
        return self.process.pid

    def connect(self):
        return flight.connect(self.location)


@contextlib.contextmanager
def flight_node(folder, store=None):
    """Sockets need short paths."""
    runtime = Path(tempfile.mkdtemp(prefix="fb-", dir="/tmp"))
    command = [PROGRAMS / "forebay-node", "--store", store or f"ssd:{folder}/flight-store",
               "--socket", runtime / "node.sock", "--flight", "127.0.0.1:0"]
    errors = open(runtime / "errors", "w+b")
    process = subprocess.Popen(command, stderr=errors)
    try:
        yield FlightNode(process, _port(process, runtime / "errors"), runtime / "node.sock")
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(30) == 0, (runtime / "errors").read_text()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            errors.close()
            shutil.rmtree(runtime)


def _port(process, errors):
    while True:
        found = re.search(r"flight at 127.0.0.1:(\d+)", errors.read_text())
        if found:
            return int(found[1])
        assert process.poll() is None, errors.read_text()
        os.sched_yield()


def descriptor(**command):
    return flight.FlightDescriptor.for_command(json.dumps(command))


def ticket(**command):
    return flight.Ticket(json.dumps(command))


def read(client, **command):
    """The batches of a flight, in order, by way of its flight info."""
    info = client.get_flight_info(descriptor(**command))
    assert len(info.endpoints) == 1
    chunks = client.do_get(info.endpoints[0].ticket)
    batches = [chunk.data for chunk in chunks]
    assert sum(len(batch) for batch in batches) == info.total_records
    for batch in batches:
        assert batch.schema == info.schema
    return batches
