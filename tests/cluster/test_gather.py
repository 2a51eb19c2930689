"""A reader whose node has no room for the table gets its rows from the other nodes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster
from test_cluster import ROWS, alone, data_bytes, ids_of, small_node, table  # noqa: F401

import forebay


def gathered(cluster, node):
    return cluster.call("GET", f"/v1/nodes/{node.name}")["report"]["counters"]


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
