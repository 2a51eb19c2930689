"""A peer that is alive, but whose bytes trickle, costs its readers little."""

import time

import numpy as np
import pytest
from cluster import Cluster, wait_until
from test_cluster import ids_of, small_node, warm_up
from test_cold import large_files  # noqa: F401
from test_gather import counter
from trickle import Trickle

import forebay


@pytest.fixture
def trickling(large_files):  # noqa: F811
    """Two nodes that are well, one behind a proxy, and a small one for the reader."""
    with Cluster(2, store="mem:256MiB") as cluster:
        slow = cluster.add_node(advertise="127.0.0.2")
        wait_until(lambda: cluster.answers(slow), "the slow node does not answer")
        proxy = Trickle(slow)
        cluster.wait_for_nodes()
        try:
            cluster.create("events", large_files, replicas=2)
            warm_up(cluster, "events")
            # Less than the table: in windows too it asks its peers in every epoch.
            yield cluster, proxy, small_node(cluster, "--borrowed-memory", "32MiB")
        finally:
            proxy.close()


@pytest.mark.alone
@pytest.mark.parametrize("how", [{"shuffle": "global"}, {"shuffle": "window", "window": 2}])
def test_readers_go_on_at_another_replica(large_files, trickling, how):  # noqa: F811
    cluster, proxy, reader = trickling
    alone = forebay.open(str(large_files), store="mem:512MiB")
    ds, again = (forebay.open(cluster.uri("events"), node=str(reader.socket)) for _ in "12")
    assert len(ids_of(ds, seed=0, **how)) == len(alone)  # everybody knows everybody
    read = cluster.counters("source_bytes")
    proxy.rate = 100_000
    seen, stalls = [], []
    start = time.monotonic()
    for batch in again.batches(1000, seed=1, remainder="keep", **how):
        stalls.append(time.monotonic() - start)
        seen.append(batch["id"])
        start = time.monotonic()
    proxy.rate = None
    assert (np.concatenate(seen) == ids_of(alone, seed=1, **how)).all()
    print(f"{proxy.slowed} bytes trickled; longest waits {sorted(stalls)[-5:]}")
    assert proxy.slowed > 0 and max(stalls) < 4
    wait_until(lambda: counter(cluster, reader, "peer_hedges_total") > 0, "nobody was hedged")
    # Other replicas had it all.
    assert cluster.counters("source_bytes") == read
