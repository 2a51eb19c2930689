"""More readers than two cold nodes have threads to call each other with: rows, chunks and files
all at once, and everybody waits for somebody."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster
from test_cluster import data_bytes

import forebay

# Of each kind, on each node. A node has 3 × 32 threads for calls.
READERS = 40
ROWS = {"large": 400_000, "small": 40_000}


def write_table(folder, rows, files):
    folder.mkdir()
    for i, ids in enumerate(np.array_split(np.arange(rows), files)):
        wide = np.repeat(ids.astype(np.float32), 128)
        pq.write_table(pa.table({"id": ids, "wide": pa.FixedSizeListArray.from_arrays(wide, 128)}),
                       folder / f"{i:02}.parquet", compression="none", use_dictionary=False)
    return folder


def write_tree(folder):
    folder.mkdir()
    rng = np.random.default_rng(5)
    for i in range(200):
        (folder / f"{i:03}").write_bytes(rng.bytes(100_000))
    return folder


class Readers:
    def __init__(self, cluster, tree):
        self._cluster, self._tree = cluster, tree
        self._failures = []

    def rows(self, node, rank):
        """The large table has no room in one node: its rows come one by one."""
        self._table("large", node, rank, shuffle="global")

    def chunks(self, node, rank):
        self._table("small", node, rank, shuffle="window", window=1)

    def _table(self, name, node, rank, **how):
        ds = forebay.open(self._cluster.uri(name), node=str(node.socket), timeout=60)
        seen = 0
        for batch in ds.batches(500, rank=rank, world_size=READERS, remainder="keep", **how):
            assert (batch["wide"][:, 77] == batch["id"].astype(np.float32)).all(), "other rows"
            seen += len(batch["id"])
        assert seen == ROWS[name] // READERS

    def files(self, node, rank):
        files = forebay.files(self._cluster.uri("tree"), node=str(node.socket))
        for path in sorted(self._tree.iterdir())[rank::READERS]:
            assert files.read(path.name) == path.read_bytes()

    def run(self):
        threads = [threading.Thread(target=self._one, args=(read, node, rank))
                   for rank in range(READERS) for node in self._cluster.nodes
                   for read in (self.rows, self.chunks, self.files)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(150)
        assert not any(thread.is_alive() for thread in threads), "some readers wait for ever"
        assert not self._failures, self._failures

    def _one(self, read, node, rank):
        try:
            read(node, rank)
        except BaseException as error:
            self._failures.append(f"{read.__name__} {rank} at {node.name}: {error!r}")


# A peer that is silent for a second, as on a machine that others use, costs a second reading.
@pytest.mark.alone
def test_more_readers_than_threads_end_and_the_source_is_read_once(tmp_path):
    large = write_table(tmp_path / "large", ROWS["large"], 48)
    small = write_table(tmp_path / "small", ROWS["small"], 8)
    tree = write_tree(tmp_path / "tree")
    # Room for what a node owns and for all of what is small, not for the large table.
    with Cluster(2, store="mem:195MiB") as cluster:
        cluster.create("large", large)
        cluster.create("small", small)
        cluster.create("tree", tree, kind="files")
        Readers(cluster, tree).run()
        read = sum(cluster.counters("source_bytes").values())
        total = sum(map(data_bytes, (large, small, tree)))
        reports = [cluster.call("GET", f"/v1/nodes/{node.name}")["report"].get("counters")
                   for node in cluster.nodes]
        print(f"read {read / total:.3f} of the source; {reports}")
        assert read <= 1.02 * total
