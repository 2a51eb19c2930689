"""Cold nodes whose readers go different ways need each other at the same time."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster
from test_cluster import ids_of

import forebay

FILES, ROWS = 16, 16 * 40_000


@pytest.fixture(scope="module")
def large_files(tmp_path_factory):
    """Each is a fill unit of its own."""
    folder = tmp_path_factory.mktemp("large")
    for i in range(FILES):
        ids = np.arange(i * ROWS // FILES, (i + 1) * ROWS // FILES)
        wide = np.random.default_rng(i).random(len(ids) * 64, dtype=np.float32)
        pq.write_table(pa.table({"id": ids, "wide": pa.FixedSizeListArray.from_arrays(wide, 64)}),
                       folder / f"{i:02}.parquet", compression="none")
    return folder


@pytest.mark.parametrize("attempt", range(3))
def test_nodes_that_wait_for_each_other_go_on(large_files, attempt):
    with Cluster(3, store="mem:512MiB") as cluster:
        cluster.create("events", large_files, replicas=1)
        rows = []

        def read(node, seed):
            ds = forebay.open(cluster.uri("events"), node=str(node.socket), timeout=30)
            rows.append(len(ids_of(ds, shuffle="window", window=1, seed=seed)))

        readers = [threading.Thread(target=read, args=(node, 10 * attempt + seed))
                   for seed, node in enumerate(cluster.nodes * 3)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert rows == [ROWS] * len(readers)
