"""Flight: what a stock pyarrow client gets of a node, beside a bare Arrow C++ Flight server
that streams the same data from memory at its best batch size."""

import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow.flight as flight
import pyarrow.parquet as pq
from harness import BUILD, ROUNDS, ratio, timed
from tables import narrow_table, wide_table

TABLE_BYTES = 1 << 30
BATCH_BYTES = (1 << 19, 1 << 20, 2 << 20, 4 << 20)
# A client's drains of one server differ by a third, with the state of its heap.
STREAM_ROUNDS = max(ROUNDS, 21)

# Streams a table from memory; the stream itself is Arrow's C++, Python is not asked.
BARE_SERVER = """
import sys
import pyarrow as pa, pyarrow.flight as flight, pyarrow.parquet as pq
table = pq.read_table(sys.argv[1]).combine_chunks()
class Server(flight.FlightServerBase):
    def do_get(self, context, ticket):
        rows = int(ticket.ticket)
        return flight.RecordBatchStream(
            pa.Table.from_batches(table.to_batches(max_chunksize=rows), table.schema))
server = Server("grpc+tcp://127.0.0.1:0")
print("flight at 127.0.0.1:%d" % server.port, file=sys.stderr, flush=True)
server.serve()
"""


class Server:
    """A process that says "flight at HOST:PORT" on its standard error."""

    def __init__(self, command):
        self._errors = tempfile.NamedTemporaryFile("w+")
        self.process = subprocess.Popen([str(c) for c in command], stderr=self._errors)
        while not (found := re.search(r"flight at 127.0.0.1:(\d+)", self.said())):
            assert self.process.poll() is None, self.said()
            time.sleep(0.02)
        self.location = f"grpc+tcp://127.0.0.1:{found[1]}"

    def said(self):
        return Path(self._errors.name).read_text()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def bare_server(path):
    return Server([sys.executable, "-c", BARE_SERVER, path])


def node(folder):
    return Server([BUILD / "forebay-node", "--store", "mem:8GiB", "--socket",
                   Path(folder) / "flight.sock", "--flight", "127.0.0.1:0"])


def drain(location, ticket):
    """Reads a stream to its end, as a stock client does; its rows."""
    with flight.connect(location) as client:
        return sum(chunk.data.num_rows for chunk in client.do_get(flight.Ticket(ticket)))


def drain_streams(location, tickets):
    threads = [threading.Thread(target=drain, args=(location, ticket)) for ticket in tickets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def best_size(location, sizes):
    """The rows a batch with which bare Flight is fastest here."""
    times = {rows: [] for rows in sizes}
    for _ in range(5):
        for rows in sizes:
            times[rows].append(timed(lambda: drain(location, str(rows))))
    return min(times, key=lambda rows: statistics.median(times[rows]))


def command(path, **members):
    return json.dumps({"uri": str(path), **members})


def bench_flight_sequential(bench):
    for name, path in (("narrow", narrow_table(bench, TABLE_BYTES // 24)),
                       ("1 KiB rows", wide_table(bench, 1024, TABLE_BYTES))):
        table = pq.read_table(path)
        rows, row_bytes = len(table), table.nbytes / len(table)
        del table
        with bare_server(path) as bare, node(bench.folder) as ours:
            assert drain(ours.location, command(path)) == rows
            size = best_size(bare.location, [int(bytes / row_bytes) for bytes in BATCH_BYTES])
            for streams in (1, 2):
                value, a, b = ratio(
                    lambda: drain_streams(ours.location, [command(path)] * streams),
                    lambda: drain_streams(bare.location, [str(size)] * streams), STREAM_ROUNDS)
                sent = rows * streams
                bench.report(f"Flight, {name}, {streams} stream{'s' * (streams > 1)}", value,
                             f"× bare Flight ({sent / b / 1e6:.1f} M rows/s; ours "
                             f"{sent / a / 1e6:.1f})", 0.95)


def bench_flight_shuffled(bench):
    path = wide_table(bench, 1024, TABLE_BYTES)
    with node(bench.folder) as ours:
        sequential = command(path)
        shuffled = command(path, order="global", seed=1, batch_size=1024, remainder="keep")
        drain(ours.location, sequential)
        drain(ours.location, shuffled)
        value, a, b = ratio(lambda: drain(ours.location, shuffled),
                            lambda: drain(ours.location, sequential))
        bench.report("Flight, shuffled by the server, 1 KiB rows", value,
                     f"× sequential ({b:.2f} s; shuffled {a:.2f} s)", 0.5)


def bench_flight_chunks(bench):
    """Chunks from node to node, beside a stock C++ client that reads as many bytes."""
    rounds = str(max(ROUNDS, 5))
    rates = json.loads(subprocess.check_output([BUILD / "bench" / "flight_bench", rounds]))
    for name, key in (("1 stream", "bulk"), ("2 streams", "bulk2")):
        bench.report(f"chunks from node to node, {name}", rates[key] / rates["bare"],
                     f"× a stock Flight client ({rates['bare'] / 1e9:.2f} GB/s; ours "
                     f"{rates[key] / 1e9:.2f})", 1.3)


def bench_flight_rows(bench):
    """Shuffled rows by number from a peer, beside bare Flight reading them in order."""
    path = wide_table(bench, 1024, TABLE_BYTES)
    rows = sum(pq.read_metadata(file).num_rows for file in path.glob("*.parquet"))
    with bare_server(path) as bare, node(bench.folder) as ours:
        drain(ours.location, command(path))
        address = ours.location.removeprefix("grpc+tcp://")
        gather = [BUILD / "bench" / "flight_bench", "rows", address, path, str(rows)]
        value, a, b = ratio(lambda: subprocess.check_output(gather),
                            lambda: drain(bare.location, "2048"))
        bench.report("rows by number, 1 KiB rows", value,
                     f"× bare Flight in order ({rows / b / 1e6:.2f} M rows/s; ours "
                     f"{rows / a / 1e6:.2f})", 0.85 * 0.6)


BENCHES = {
    "flight sequential": bench_flight_sequential,
    "flight shuffled": bench_flight_shuffled,
    "flight chunks": bench_flight_chunks,
    "flight rows": bench_flight_rows,
}
