"""Nodes with stores in memory that start anew, and nodes that have little room."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster, wait_until
from test_cluster import chunks, warm_up
from test_status import FILES, percent, read_all, shown, table  # noqa: F401

import forebay


def restart(cluster, node):
    """And waits until it holds what it held; what the head says of it may be from before."""
    held = chunks(cluster, node.name)
    node.kill()
    node.start()
    cluster.wait_for_nodes()
    wait_until(lambda: chunks(cluster, node.name) == held, "its share does not come back", 60)


def test_a_node_that_is_started_anew_gets_its_share_from_its_peers(table):  # noqa: F811
    with Cluster(3, store="mem:256MiB") as cluster:
        cluster.create("events", table, replicas=2)
        warm_up(cluster, "events")
        assert percent(cluster) == 100
        before = cluster.counters("source_bytes")
        for node in cluster.nodes[:2]:
            restart(cluster, node)
            before[node.name] = 0
            wait_until(lambda: percent(cluster) == 100, "the head does not know", 20)
            assert shown(cluster)["phase"] == "cached"
        # Nobody asked for a row, and nobody read the source.
        assert cluster.counters("source_bytes") == before


def test_what_no_peer_has_of_a_warm_dataset_comes_from_the_source(table, tmp_path):  # noqa: F811
    pq.write_table(pa.table({"id": range(1000)}), tmp_path / "0.parquet")
    with Cluster(3, store="mem:256MiB") as cluster:
        cluster.create("events", table)
        cluster.create("cold", tmp_path)
        warm_up(cluster, "events")
        before = cluster.counters("source_bytes")
        node = cluster.nodes[0]
        restart(cluster, node)
        wait_until(lambda: percent(cluster) == 100, "the head does not know", 20)
        after = cluster.counters("source_bytes")
        assert {name: after[name] for name in ("n1", "n2")} == \
            {name: before[name] for name in ("n1", "n2")}
        assert after["n0"] <= before["n0"]
        assert percent(cluster, "cold") == 0, "nobody had asked for it"


def test_trees_of_files_come_back_too(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for i in range(60):
        (tree / f"{i}.bin").write_bytes(bytes([i]) * 200_000)
    with Cluster(2, store="mem:256MiB") as cluster:
        cluster.create("files", tree, kind="files", replicas=2)
        warm_up(cluster, "files")
        restart(cluster, cluster.nodes[0])
        wait_until(lambda: percent(cluster, "files") == 100, "the head does not know", 20)
        assert cluster.counters("source_bytes")["n0"] == 0


WIDTH = 64


@pytest.fixture(scope="module")
def many_units(tmp_path_factory):
    """20 files that are large enough to be units of their own."""
    folder = tmp_path_factory.mktemp("units") / "table"
    folder.mkdir()
    rng = np.random.default_rng(9)
    rows = (9 << 20) // (4 * WIDTH)
    for i in range(20):
        values = rng.random(rows * WIDTH, dtype=np.float32)
        pq.write_table(pa.table({"wide": pa.FixedSizeListArray.from_arrays(values, WIDTH)}),
                       folder / f"{i:02}.parquet", compression="none")
    return folder


def test_the_last_copy_in_the_cluster_goes_last(many_units):
    """Two nodes of three have room for all that there is, but not for two copies of it."""
    size = sum(path.stat().st_size for path in many_units.iterdir())
    with Cluster(3, store=f"mem:{int(size * 0.85) >> 20}MiB") as cluster:
        cluster.create("events", many_units, replicas=2)
        warm_up(cluster, "events")
        cluster.nodes[0].kill()
        wait_until(lambda: "down" in cluster.states(), "nobody noticed")
        left = cluster.nodes[1:]
        before = cluster.counters("source_bytes")
        for seed in range(3):
            for node in left:
                ds = forebay.open(cluster.uri("events"), node=str(node.socket))
                for batch in ds.batches(1000, shuffle="window", seed=seed, remainder="keep"):
                    assert batch["wide"].shape[1] == WIDTH
        read = sum(cluster.counters("source_bytes").values()) - sum(before.values())
        # Chance may give one node more of the first copies than it keeps.
        assert read <= 0.5 * size, f"the source was read {read / size:.2f} times"
