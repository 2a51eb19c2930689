"""Readers of a node whose store takes no chunk share its borrowed memory: nobody keeps it
from the others."""

import numpy as np
import pytest
from cluster import Cluster
from test_cluster import ids_of, small_node, warm_up
from test_cold import ROWS, large_files  # noqa: F401

import forebay

WINDOW = {"shuffle": "window", "window": 2}
# The third batch has one row of the next window: three chunks are at hand, 29.3 MiB.
OVER_A_WINDOW = 26_667


@pytest.fixture(scope="module")
def reader(large_files):  # noqa: F811
    """Opens the dataset at a node that lends memory for three chunks."""
    with Cluster(2, store="mem:256MiB") as cluster:
        cluster.create("events", large_files)
        warm_up(cluster, "events")
        node = small_node(cluster, "--borrowed-memory", "32MiB")
        yield lambda: forebay.open(cluster.uri("events"), node=str(node.socket), timeout=10)


def over_a_window(ds):
    """Batches, of which the first three were read."""
    batches = iter(ds.batches(OVER_A_WINDOW, seed=1, remainder="keep", **WINDOW))
    return batches, [next(batches)["id"] for _ in range(3)]


@pytest.mark.parametrize("datasets", [1, 2])
def test_a_reader_that_pauses_in_a_window_leaves_room_for_others(reader, datasets):
    ds = reader()
    paused, seen = over_a_window(ds)
    other = ds if datasets == 1 else reader()
    assert np.unique(ids_of(other, seed=2, **WINDOW)).size == ROWS
    seen += [batch["id"] for batch in paused]
    assert (np.sort(np.concatenate(seen)) == np.arange(ROWS)).all()


def test_a_reader_that_stops_in_a_window_gives_its_memory_back(reader):
    ds = reader()  # stays open
    stopped, seen = over_a_window(ds)
    del stopped
    assert np.unique(ids_of(reader(), seed=2, **WINDOW)).size == ROWS
    assert len(ds) == ROWS and len(seen) == 3
