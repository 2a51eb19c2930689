"""Nodes with stores in memory that start anew, and nodes that have little room."""

import time
from concurrent.futures import ThreadPoolExecutor

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


def test_what_several_nodes_lost_together_comes_back(tmp_path):
    """No peer has the units of which both owners started anew."""
    tree = tmp_path / "tree"
    tree.mkdir()
    for i in range(60):
        (tree / f"{i}.bin").write_bytes(bytes([i]) * 200_000)
    with Cluster(3, store="mem:256MiB") as cluster:
        cluster.create("files", tree, kind="files", replicas=2)
        warm_up(cluster, "files")
        nodes = cluster.call("GET", "/v1/status")["nodes"]
        held = next(node["report"]["versions"][0]["cached_units"]
                    for node in nodes if node["id"] == "n2")
        lost = cluster.nodes[:2]
        for node in lost:
            node.kill()
        for node in lost:
            node.start()
        cluster.wait_for_nodes()
        wait_until(lambda: cluster.status(lost[0])["source_bytes"] > 0,
                   "what no peer has is not read from the source", 60)
        wait_until(lambda: percent(cluster, "files") == 100, "their share does not come back", 60)
        # Once, by the first owner, though both of them lack it.
        read = cluster.counters("source_bytes")
        assert read["n0"] + read["n1"] <= 1.2 * (60 - held) * 200_000


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


WIDTH, UNITS, CHUNK_BYTES = 64, 64, 9 << 20


@pytest.fixture(scope="module")
def many_units(tmp_path_factory):
    """Files that are just large enough to be units of their own: so many that each of two
    nodes is the first to keep about half of them, whatever their hashes are."""
    folder = tmp_path_factory.mktemp("units") / "table"
    folder.mkdir()
    rng = np.random.default_rng(9)
    rows = CHUNK_BYTES // (4 * WIDTH)
    for i in range(UNITS):
        values = rng.random(rows * WIDTH, dtype=np.float32)
        pq.write_table(pa.table({"wide": pa.FixedSizeListArray.from_arrays(values, WIDTH)}),
                       folder / f"{i:02}.parquet", compression="none")
    return folder


def read_epoch(cluster, node, **order):
    ds = forebay.open(cluster.uri("events"), node=str(node.socket))
    rows = sum(len(batch["wide"]) for batch in ds.batches(1000, remainder="keep", **order))
    assert rows == len(ds)


def counted(cluster, nodes):
    """(bytes read from the source, units read there since a peer was too busy to answer)."""
    total = sum(cluster.status(node)["source_bytes"] for node in nodes)

    def told(counter):
        reports = {node["id"]: node["report"] for node in cluster.call("GET", "/v1/nodes")["nodes"]}
        return sum(reports[node.name]["counters"][counter] for node in nodes)
    wait_until(lambda: told("source_bytes_total") == total, "the head does not know")
    return total, told("peer_fallbacks_total")


def read_by_all(cluster, nodes, **order):
    """How many bytes an epoch on each of the nodes at once reads from the source; None where a
    node gave up waiting for another, after which it leaves that one alone for seconds."""
    before, given_up_before = counted(cluster, nodes)
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda node: read_epoch(cluster, node, **order), nodes))
    after, given_up = counted(cluster, nodes)
    print(order, (after - before) >> 20, "MiB,", given_up - given_up_before, "given up")
    return after - before if given_up == given_up_before else None


def test_the_last_copy_in_the_cluster_goes_last(many_units):
    """Two nodes of three have room for every unit once, but not twice."""
    room = int(0.7 * UNITS * CHUNK_BYTES) >> 20
    size = sum(path.stat().st_size for path in many_units.iterdir())
    with Cluster(3, store=f"mem:{room}MiB") as cluster:
        cluster.create("events", many_units, replicas=2)
        warm_up(cluster, "events")
        time.sleep(2.5)  # nodes count again, and the head hears of it
        no_room = 1 - percent(cluster) / 100  # of two copies of each unit
        cluster.nodes[0].kill()
        wait_until(lambda: "down" in cluster.states(), "nobody noticed")
        time.sleep(2.5)  # nodes hear of it with their next heartbeat
        left = cluster.nodes[1:]
        # Only what had no second copy when the node died has to come from the source. Windows are
        # small: first copies that come while all second ones are mapped evict each other.
        read = read_by_all(cluster, left, shuffle="window", window=4, seed=0)
        print(f"{2 * no_room * UNITS:.0f} copies had no room")
        assert read is None or read <= (2 * no_room + 0.02) * size, f"{read / size:.2f} times"
        # Nothing is read again, unless chance gave one node more units than it has room for.
        for shuffle in ("window", "global", "window"):
            reads = (read_by_all(cluster, left, shuffle=shuffle, seed=seed) for seed in range(1, 9))
            read = next((read for read in reads if read is not None), None)
            assert read is not None, "the nodes were too busy in all epochs"
            assert read <= 0.02 * size, f"{shuffle}: {read / size:.2f} times"
