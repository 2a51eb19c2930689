"""What bad and broken Flight clients get, and that good ones do not notice."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pytest
from flight_server import descriptor, flight_node, read, ticket
from nodes import wait_until


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    with flight_node(tmp_path_factory.mktemp("flight")) as running:
        yield running


@pytest.fixture(scope="module")
def client(node):
    with node.connect() as connected:
        yield connected


def memory_of(pid):
    """Bytes of memory that are the process's own."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    raise AssertionError(f"no memory of {pid}")


@pytest.mark.parametrize("bad", [b"", b"\xff\xfe", b"{", b"[]", b"null", b"{}", b'{"uri": 3}',
                                 b'{"uri": "/t", "seed": 1e400}', b'{"uri": "/t", "x": 1}',
                                 b'{"uri": "relative/path"}',
                                 b'{"chunks": {"uri": "/t"}}', b"[" * 60_000,
                                 b'{"uri": "' + b"x" * 100_000 + b'"}'],
                         ids=lambda bad: repr(bad[:30]))
def test_a_bad_ticket_or_command_is_an_invalid_argument(client, bad):
    with pytest.raises(pa.ArrowInvalid):
        client.do_get(flight.Ticket(bad)).read_all()
    if not bad.startswith(b'{"chunks"'):
        with pytest.raises(pa.ArrowInvalid):
            client.get_flight_info(flight.FlightDescriptor.for_command(bad))


def test_errors_have_types(client, numbers):
    table = str(numbers)
    with pytest.raises(pa.ArrowInvalid, match="no column"):
        client.get_flight_info(descriptor(uri=table, columns=["nothing"]))
    with pytest.raises(pa.ArrowKeyError):
        client.get_flight_info(descriptor(uri="/does/not/exist"))
    with pytest.raises(pa.ArrowKeyError, match="knows no names"):
        client.get_flight_info(descriptor(dataset="events"))
    with pytest.raises(pa.ArrowKeyError, match="knows no names"):
        client.get_flight_info(flight.FlightDescriptor.for_path("events"))
    with pytest.raises(pa.ArrowInvalid, match="one element"):
        client.get_flight_info(flight.FlightDescriptor.for_path("a", "b"))
    with pytest.raises(pa.ArrowInvalid, match="too large"):
        client.get_flight_info(descriptor(uri=table, batch_size=1 << 40))
    with pytest.raises(pa.ArrowInvalid, match="past the 5000 rows"):
        client.get_flight_info(descriptor(uri=table, start_position=5001))
    with pytest.raises(pa.ArrowNotImplementedError):
        list(client.do_action(flight.Action("format", b"")))
    with pytest.raises(pa.ArrowNotImplementedError):
        client.do_get(ticket(forebay=9, uri=table)).read_all()
    with pytest.raises(pa.ArrowInvalid):
        list(client.do_action(flight.Action("warmup", b"{}")))
    with pytest.raises(pa.ArrowNotImplementedError):
        writer, _ = client.do_put(descriptor(uri=table), pa.schema([("x", pa.int64())]))
        writer.close()


@pytest.mark.parametrize("rows", [
    pa.record_batch({"row": pa.array([1], pa.int64())}),
    pa.record_batch({"row": pa.array([None], pa.uint64())}),
    pa.record_batch({"row": pa.array([5000], pa.uint64())}),
    pa.record_batch({"row": pa.array([1], pa.uint64()), "b": pa.array([1], pa.uint64())}),
    pa.record_batch({"row": pa.array(np.zeros((1 << 20) + 1, np.uint64))}),
], ids=lambda batch: f"{batch.schema.types} {batch.num_rows}")
def test_bad_row_numbers_are_an_invalid_argument(client, numbers, rows):
    writer, reader = client.do_exchange(descriptor(rows={"uri": str(numbers)}))
    writer.begin(rows.schema)
    writer.write_batch(rows)
    writer.done_writing()
    with pytest.raises(pa.ArrowInvalid):
        reader.read_all()
    with pytest.raises(pa.ArrowInvalid):
        writer.close()


def test_huge_messages_are_refused_and_their_memory_is_used_again(node, client, numbers):
    """gRPC receives a message whole before it refuses it, and keeps some memory for the
    next one; what matters is that it does not pile up."""
    huge = flight.FlightDescriptor.for_command(b"x" * (64 << 20))

    def flood(count):
        for _ in range(count):
            with pytest.raises(Exception, match="larger than max"):
                client.get_flight_info(huge)
        return memory_of(node.pid)

    before = flood(10)
    assert flood(20) - before < 5 * (64 << 20)
    assert read(client, uri=str(numbers), columns=["x"])


def test_random_bytes_and_half_open_connections_hurt_nobody(node, client, numbers):
    links = []
    for i in range(200):
        link = socket.create_connection(("127.0.0.1", node.port))
        links.append(link)
        if i % 2:
            link.sendall(os.urandom(100))
        elif i % 3 == 0:
            link.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    try:
        rows = sum(len(batch) for batch in read(client, uri=str(numbers)))
        assert rows == 5000
    finally:
        for link in links:
            link.close()


def test_five_hundred_clients_get_their_rows_in_bounded_memory(node, client, large):
    """Each a connection of its own, all at once; a few never read what they asked for."""
    list(read(client, uri=str(large), columns=["x"]))
    before = memory_of(node.pid)
    idle = []
    for _ in range(20):
        stalled = node.connect()
        idle.append((stalled, stalled.do_get(ticket(uri=str(large)))))
    good, failures = [], []

    def one(rank):
        try:
            options = pa.flight.FlightCallOptions()
            with flight.FlightClient(node.location,
                                     generic_options=[("grpc.use_local_subchannel_pool", 1)]) as own:
                command = {"uri": str(large), "columns": ["x"], "rank": rank, "world_size": 500}
                table = own.do_get(ticket(**command), options).read_all()
                good.append((rank, table["x"].to_numpy()))
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(500)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert np.array_equal(np.concatenate([x for _, x in sorted(good, key=lambda g: g[0])]),
                          np.arange(800_000))
    assert memory_of(node.pid) - before < 500 << 20
    for stalled, _ in idle:
        stalled.close()


STALLED = """
import json, sys, time
import pyarrow.flight as flight
client = flight.connect(sys.argv[1])
stream = client.do_get(flight.Ticket(json.dumps({"uri": sys.argv[2], "order": "global",
                                                 "batch_size": 1000})))
stream.read_chunk()
print("reading", flush=True)
time.sleep(600)
"""


def test_a_stream_ends_with_its_client(node, client, large):
    """Killed, or cancelled in the middle: what it held is given back for the next one."""
    idle_before = threads_of(node.pid)
    process = subprocess.Popen([sys.executable, "-c", STALLED, node.location, str(large)],
                               stdout=subprocess.PIPE)
    process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    stream = client.do_get(ticket(uri=str(large), order="global", batch_size=1000))
    stream.read_chunk()
    stream.cancel()
    wait_until(lambda: threads_of(node.pid) <= idle_before + 8, "streams outlive their clients")
    assert sum(len(b) for b in read(client, uri=str(large), columns=["x"])) == 800_000


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def test_a_node_that_stops_does_not_wait_for_its_clients(tmp_path, large):
    with flight_node(tmp_path) as node, node.connect() as client:
        stream = client.do_get(ticket(uri=str(large)))
        stream.read_chunk()
        node.process.send_signal(signal.SIGTERM)
        assert node.process.wait(20) == 0
        with pytest.raises(Exception):  # noqa: B017, PT011
            while stream.read_chunk():
                pass
