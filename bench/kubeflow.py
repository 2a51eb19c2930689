"""A head and two workers in the place of Kubeflow's data cache, beside bare Flight.

What Kubeflow's own reaches was measured on a machine where bare Flight gave 67 M rows/s and
1.4 GB/s: 15 to 17 M rows/s on narrow rows, 0.75 to 1.1 GB/s on wide ones; 4.4 M rows/s through
its loop in Python at batches of 1024; ready after 1.0 s for 400 MB, 1.8 s for 512 MB."""

import os
import statistics
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
from flight import BATCH_BYTES, STREAM_ROUNDS, bare_server, best_size, drain, drain_streams
from harness import BUILD, ROOT, ROUNDS, ratio
from tables import narrow_table, wide_table

os.environ.setdefault("FOREBAY_BIN_DIR", str(BUILD))
sys.path += [str(ROOT / "tests" / "cluster"), str(ROOT / "tests" / "support")]
from cluster import Cluster  # noqa: E402
from data_cache import DataCache  # noqa: E402

# Three times 17 of 67, 1.2 times 1.1 of 1.4.
NARROW_BAR, WIDE_BAR = 0.76, 0.94
MEMORY_BAR = 1.1
READY_ROUNDS = max(ROUNDS, 5)
# Ten times 4.4 of 67, three times 4.4 of 67.
CLIENT_BAR, SHUFFLED_CLIENT_BAR = 0.66, 0.20


def read_share(cache, index, total):
    for endpoint in cache.info(index, total).endpoints:
        drain(endpoint.locations[0].uri, endpoint.ticket.ticket)


def read_all(cache, clients):
    threads = [threading.Thread(target=read_share, args=(cache, i, clients))
               for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def memory_of(cache):
    """Chunks and private memory of all its processes, in bytes."""
    held = sum(tier["used_bytes"] for status in cache.statuses() for tier in status["tiers"])
    pids = [cache.head.running.pid]
    for worker in cache.workers:
        pids += [worker.running.pid, *worker.children()]
    for pid in pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon"):
                held += int(line.split()[1]) * 1024
    return held


def timed_start(path):
    """Seconds until everything of a table is loaded."""
    began = time.perf_counter()
    with DataCache(path, FOREBAY_MEMORY="4GiB") as cache:
        cache.wait_ready(120)
        return time.perf_counter() - began


def bench_kubeflow(bench):
    # 480 MB; 512 MiB.
    for name, path, per_byte, bar in (
            ("narrow", narrow_table(bench), 1.0 / 400e6, NARROW_BAR),
            ("512-byte rows", wide_table(bench, 512), 1.8 / 512e6, WIDE_BAR)):
        table = pq.read_table(path)
        rows, size = len(table), table.nbytes
        del table
        starts = [timed_start(path) for _ in range(READY_ROUNDS - 1)]
        began = time.perf_counter()
        with DataCache(path, FOREBAY_MEMORY="4GiB") as cache:
            cache.wait_ready(120)
            starts.append(time.perf_counter() - began)
            bench.report(f"Kubeflow, {name}, ready after", statistics.median(starts),
                         f"s for {size / 1e6:.0f} MB (up to {max(starts):.2f})",
                         per_byte * size, "s")
            bench.report(f"Kubeflow, {name}, memory", memory_of(cache) / size,
                         "of the table's Arrow size", MEMORY_BAR, "×")
            with bare_server(path) as bare:
                best = best_size(bare.location, [int(b / (size / rows)) for b in BATCH_BYTES])
                for clients in (1, 2):
                    value, a, b = ratio(lambda: read_all(cache, clients),
                                        lambda: drain_streams(bare.location, [str(best)] * clients),
                                        STREAM_ROUNDS)
                    value *= 1 / clients  # bare Flight sends the table to each client
                    sent = rows / a
                    bench.report(f"Kubeflow, {name}, {clients} client{'s' * (clients > 1)}", value,
                                 f"× bare Flight ({clients * rows / b / 1e6:.1f} M rows/s; ours "
                                 f"{sent / 1e6:.1f}, {sent * size / rows / 1e9:.2f} GB/s)", bar)


def bench_kubeflow_client(bench):
    """Our client on the host of a node, in the place of Kubeflow's loop in Python."""
    from forebay.torch import Dataset, Loader
    path = narrow_table(bench)
    with bare_server(path) as bare, Cluster(1, store="mem:4GiB") as cluster:
        cluster.create("narrow", path)
        best = best_size(bare.location, [size // 24 for size in BATCH_BYTES])
        for shuffle, bar in (("sequential", CLIENT_BAR), ("global", SHUFFLED_CLIENT_BAR)):
            dataset = Dataset(cluster.uri("narrow"), 1024, shuffle=shuffle, rank=0, world_size=1,
                              node=str(cluster.nodes[0].socket))
            rows = dataset.dataset.num_rows
            loader = Loader(dataset)

            def epoch():
                for batch in loader:
                    pass

            epoch()
            value, a, b = ratio(epoch, lambda: drain(bare.location, str(best)))
            bench.report(f"our client in Kubeflow's place, {shuffle}", value,
                         f"× bare Flight ({rows / b / 1e6:.1f} M rows/s; ours "
                         f"{rows / a / 1e6:.1f})", bar)


BENCHES = {"kubeflow": bench_kubeflow, "kubeflow client": bench_kubeflow_client}
