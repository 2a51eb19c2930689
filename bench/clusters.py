"""Clusters on this machine: what a reader gets whose node holds the data, or has to get all of it
from another node; what readers that do nothing cost."""

import resource
import statistics
import sys
import threading
from pathlib import Path

import forebay
import pyarrow.parquet as pq
from flight import BATCH_BYTES, bare_server, best_size, drain
from harness import ROOT, ROUNDS, end_node, ratio, timed
from tables import wide_table

sys.path += [str(ROOT / "tests" / "cluster"), str(ROOT / "tests" / "support")]
from cluster import Cluster  # noqa: E402

TABLE_BYTES = 1 << 30
# Both sides run the same code, 50 ms at a time: few rounds would only compare their noise.
LOCAL_ROUNDS = max(ROUNDS, 41)
READERS = 1000


def count_rows(dataset, **how):
    return sum(batch.num_rows for batch in
               dataset.batches(2048, format="arrow", remainder="keep", **how))


def sum_rows(dataset):
    return sum(float(batch["emb"].sum()) for batch in dataset.batches(2048, remainder="keep"))


def rows_in(path):
    return sum(pq.read_metadata(file).num_rows for file in path.glob("*.parquet"))


def owner_and_reader(path):
    """One node that owns the table, and one that can keep next to nothing."""
    cluster = Cluster(1, store="mem:8GiB")
    try:
        cluster.create("events", path)
        cluster.store = "mem:64MiB"
        reader = cluster.add_node(weight=1e-9)
        cluster.wait_for_nodes()
        owner = forebay.open(cluster.uri("events"), node=str(cluster.nodes[0].socket))
        owner.warmup()
        return cluster, owner, forebay.open(cluster.uri("events"), node=str(reader.socket))
    except BaseException:
        cluster.__exit__(*sys.exc_info())
        raise


def bench_cluster_local(bench):
    path = wide_table(bench, 1024, TABLE_BYTES)
    alone = bench.open(path)
    cluster, owner, _ = owner_and_reader(path)
    with cluster:
        sum_rows(alone), sum_rows(owner)
        value, a, b = ratio(lambda: sum_rows(owner), lambda: sum_rows(alone), LOCAL_ROUNDS)
        bench.report("cluster, data in the reader's own node, sums", value,
                     f"× one machine ({b:.2f} s; ours {a:.2f} s)", 1.0)
    end_node(alone)


def bench_cluster_remote(bench):
    """The reader's node starts with an empty store each time."""
    path = wide_table(bench, 1024, TABLE_BYTES)
    rows = rows_in(path)
    cluster, _, _ = owner_and_reader(path)
    with cluster, bare_server(path) as bare:
        size = best_size(bare.location, [bytes // 1024 for bytes in BATCH_BYTES])
        cluster.nodes.pop().stop()
        cluster.store = "mem:2GiB"
        pairs = []
        for _ in range(ROUNDS):
            bare_time = timed(lambda: drain(bare.location, str(size)))
            reader = cluster.add_node(weight=1e-9)
            cluster.wait_for_nodes()
            dataset = forebay.open(cluster.uri("events"), node=str(reader.socket))
            pairs.append((timed(lambda: count_rows(dataset)), bare_time))
            cluster.nodes.pop().stop()
        ours, theirs = (statistics.median(column) for column in zip(*pairs))
        bench.report("cluster, all from a peer, sequential, 1 KiB rows",
                     statistics.median(b / a for a, b in pairs),
                     f"× bare Flight ({rows / theirs / 1e6:.2f} M rows/s; ours "
                     f"{rows / ours / 1e6:.2f})", 0.85)


def bench_cluster_rows(bench):
    path = wide_table(bench, 1024, TABLE_BYTES)
    rows = rows_in(path)
    cluster, _, remote = owner_and_reader(path)
    with cluster, bare_server(path) as bare:
        size = best_size(bare.location, [bytes // 1024 for bytes in BATCH_BYTES])
        seeds = iter(range(1000))

        def shuffled():
            assert count_rows(remote, shuffle="global", seed=next(seeds)) == rows

        shuffled()
        value, a, b = ratio(shuffled, lambda: drain(bare.location, str(size)))
        bench.report("cluster, all from a peer, rows gathered, 1 KiB rows", value,
                     f"× bare Flight in order ({rows / b / 1e6:.2f} M rows/s; ours "
                     f"{rows / a / 1e6:.2f})", 0.85 * 0.6)


def resident_bytes(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def bench_cluster_idle_readers(bench):
    path = wide_table(bench, 1024, 64 << 20)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with Cluster(1, store="mem:1GiB") as cluster:
        cluster.create("events", path)
        node = cluster.nodes[0]
        open_one = lambda: forebay.open(cluster.uri("events"), node=str(node.socket))
        first = open_one()
        assert count_rows(first) > 0
        before = resident_bytes(node.pid)
        readers = [open_one() for _ in range(READERS)]
        for reader in readers:
            next(iter(reader.batches(64)))
        each = (resident_bytes(node.pid) - before) / READERS / (1 << 20)
        bench.report(f"cluster, {READERS} idle readers, each on a node", each,
                     f"MiB ({threading.active_count()} threads here)", 1.0, "MiB")


BENCHES = {
    "cluster local": bench_cluster_local,
    "cluster remote": bench_cluster_remote,
    "cluster rows": bench_cluster_rows,
    "cluster idle readers": bench_cluster_idle_readers,
}
