"""A reader whose node has no room for the table gets its rows from the other nodes."""

import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster, wait_until
from test_cluster import (ROWS, alone, data_bytes, ids_of, small_node, table,  # noqa: F401
                          warm_up)
from test_cold import large_files  # noqa: F401

import forebay


def counter(cluster, node, name):
    """As the node last told its head."""
    report = cluster.call("GET", f"/v1/nodes/{node.name}")["report"]
    return report.get("counters", {}).get(name, 0)


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_small_node_gathers_rows_of_a_global_order(table, alone, replicas):
    with Cluster(3, store="mem:64MiB") as cluster:
        cluster.create("events", table, replicas=replicas)
        reader = small_node(cluster)
        ds = forebay.open(cluster.uri("events"), node=str(reader.socket))
        for how in ({"seed": 5}, {"seed": 5, "rank": 1, "world_size": 3}):
            here = list(ds.batches(999, shuffle="global", remainder="pad", **how))
            there = list(alone.batches(999, shuffle="global", remainder="pad", **how))
            assert len(here) == len(there)
            for mine, expected in zip(here, there):
                for column in ("id", "x", "wide"):
                    assert (mine[column] == expected[column]).all()
        assert sum(cluster.counters("source_bytes").values()) <= 1.2 * data_bytes(table)
        wait_until(lambda: counter(cluster, reader, "peer_rows_total") > ROWS,
                   "rows did not come from peers")


def test_a_table_that_no_cluster_has_room_for_is_refused(table):
    with Cluster(2, store="mem:8MiB") as cluster:
        cluster.create("events", table)
        ds = forebay.open(cluster.uri("events"), node=str(cluster.nodes[0].socket))
        with pytest.raises(forebay.NoRoom, match="nodes together have 16.0 MiB"):
            next(iter(ds.batches(1000, shuffle="global")))


def test_texts_are_gathered_though_the_schema_does_not_tell_their_size(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    rows = 40_000
    texts = [f"{i} " * (i % 200) if i % 7 else None for i in range(rows)]
    pq.write_table(pa.table({"id": np.arange(rows), "text": texts}), folder / "0.parquet",
                   row_group_size=4000)
    whole = forebay.open(str(folder), store="mem:256MiB", columns=["id"])
    expected = [texts[i] for i in ids_of(whole, shuffle="global", seed=1)]
    with Cluster(2, store="mem:64MiB") as cluster:
        cluster.create("events", folder)
        reader = small_node(cluster)
        ds = forebay.open(cluster.uri("events"), node=str(reader.socket))
        seen = [text for batch in ds.batches(1000, shuffle="global", seed=1, remainder="keep",
                                             format="arrow")
                for text in pa.record_batch(batch)["text"].to_pylist()]
        assert seen == expected


@pytest.mark.alone
@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("how", [{"shuffle": "global"}, {"shuffle": "window", "window": 2}])
def test_a_node_that_stands_still_is_hedged(large_files, how, replicas):
    """So many units that each node owns some, whatever their hashes."""
    alone = forebay.open(str(large_files), store="mem:512MiB")
    with Cluster(3, store="mem:256MiB") as cluster:
        cluster.create("events", large_files, replicas=replicas)
        warm_up(cluster, "events")
        reader = small_node(cluster, "--borrowed-memory", "32MiB")  # three chunks, of 16
        ds, again = (forebay.open(cluster.uri("events"), node=str(reader.socket)) for _ in "12")
        assert len(ids_of(ds, seed=0, **how)) == len(alone)  # everybody knows everybody
        seen, stalls = [], []
        cluster.nodes[1].signal(signal.SIGSTOP)
        start = time.monotonic()
        for batch in again.batches(1000, seed=1, remainder="keep", **how):
            stalls.append(time.monotonic() - start)
            seen.append(batch["id"])
            start = time.monotonic()
        assert (np.concatenate(seen) == ids_of(alone, seed=1, **how)).all()
        assert max(stalls) < 4, sorted(stalls)[-5:]
        cluster.nodes[1].signal(signal.SIGCONT)
        # A chunk of which there is one replica may come from the source instead.
        names = ["peer_hedges_total"]
        if how["shuffle"] == "window" and replicas == 1:
            names.append("peer_fallbacks_total")
        wait_until(lambda: sum(counter(cluster, reader, name) for name in names) > 0,
                   "no call was hedged")
