"""Bits that flip between nodes are found, and what they were part of is asked for again."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster, wait_until
from test_cluster import small_node, warm_up
from test_gather import counter
from trickle import Trickle

import forebay

ROWS, WIDTH = 40_000, 256  # 40 MB: more than the reader's node holds


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damage") / "table"
    folder.mkdir()
    rng = np.random.default_rng(8)
    for i in range(2):
        wide = pa.FixedSizeListArray.from_arrays(
            rng.random(ROWS // 2 * WIDTH, dtype=np.float32), WIDTH)
        ids = np.arange(i * ROWS // 2, (i + 1) * ROWS // 2)
        pq.write_table(pa.table({"id": ids, "wide": wide}), folder / f"{i}.parquet",
                       compression="none")
    return folder


@pytest.fixture(scope="module")
def expected(table):
    ds = forebay.open(str(table), store="mem:256MiB")
    return list(ds.batches(500, shuffle="global", seed=3))


@pytest.fixture
def behind_proxy(table):
    """One node that holds everything, and a small one for the reader that reaches it by a proxy."""
    proxies = []

    def start(**how):
        holder = cluster.add_node(advertise="127.0.0.2")
        wait_until(lambda: cluster.answers(holder), "the node does not answer")
        proxies.append(Trickle(holder, **how))
        cluster.wait_for_nodes()
        cluster.create("events", table)
        warm_up(cluster, "events")
        return cluster, proxies[0], small_node(cluster)

    with Cluster(0, store="mem:128MiB") as cluster:
        try:
            yield start
        finally:
            for proxy in proxies:
                proxy.close()


def check_rows(cluster, reader, expected):
    read = sum(cluster.counters("source_bytes").values())
    ds = forebay.open(cluster.uri("events"), node=str(reader.socket))
    here = list(ds.batches(500, shuffle="global", seed=3))
    assert len(here) == len(expected)
    for mine, other in zip(here, expected):
        assert (mine["id"] == other["id"]).all()
        assert (mine["wide"] == other["wide"]).all()
    assert sum(cluster.counters("source_bytes").values()) == read
    wait_until(lambda: counter(cluster, reader, "peer_rows_total") >= ROWS,
               "the rows did not come from the peer")


@pytest.mark.parametrize("kind", ["answers", "questions"])
def test_a_flipped_bit_between_peers_is_found_and_asked_for_again(behind_proxy, expected, kind):
    cluster, proxy, reader = behind_proxy()
    proxy.flips[kind] = 1
    check_rows(cluster, reader, expected)
    assert proxy.flipped == 1
    wait_until(lambda: counter(cluster, reader, "peer_damaged_total") == 1, "it was not counted")
    assert counter(cluster, reader, "peer_failed_calls_total") == 0


def test_rows_come_by_flight_where_the_bulk_port_is_closed(behind_proxy, expected):
    cluster, _, reader = behind_proxy(bulk=False)
    check_rows(cluster, reader, expected)
    assert counter(cluster, reader, "peer_damaged_total") == 0
