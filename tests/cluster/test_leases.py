"""Ranks of several hosts take rows by leases that the head keeps: each row is acknowledged
once, whoever dies, also the head."""

import multiprocessing
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster, wait_until

import forebay

torch = pytest.importorskip("torch")

from forebay.torch import LeasedDataset  # noqa: E402

ROWS = 20_000


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leases") / "table"
    folder.mkdir()
    pq.write_table(pa.table({"id": np.arange(ROWS)}), folder / "a.parquet", row_group_size=5000)
    return folder


def leased(cluster_uri, head, node, **more):
    arguments = {"leases": f"forebay://{head}", "shuffle": "global", "seed": 3,
                 "lease_rows": 400, "node": node, **more}
    return LeasedDataset(cluster_uri, 100, **arguments)


def rank(uri, head, node, record, seconds):
    """Writes down every batch that was acknowledged, and only those."""
    dataset = leased(uri, head, node, lease_seconds=3)
    with open(record, "a") as out:
        for batch in dataset:
            ids = batch["id"].tolist()
            time.sleep(seconds)
            dataset.acknowledge()
            out.write("".join(f"{n}\n" for n in ids))
            out.flush()


def test_ranks_on_two_nodes_share_an_epoch_through_a_restart_of_the_head(table, tmp_path):
    with Cluster(2) as cluster:
        cluster.create("events", table)
        context = multiprocessing.get_context("spawn")
        ranks = [context.Process(target=rank, args=(
            cluster.uri("events"), cluster.head_address, str(node.socket),
            tmp_path / f"rank{i}", seconds))
            for i, (node, seconds) in enumerate(zip(cluster.nodes, (0.005, 0.02), strict=True))]
        for process in ranks:
            process.start()
        for record in (tmp_path / "rank0", tmp_path / "rank1"):
            wait_until(lambda record=record: record.exists() and record.stat().st_size > 0,
                       "a rank does nothing")
        cluster.head.kill()
        cluster.head.start()
        for process in ranks:
            process.join(120)
            assert process.exitcode == 0
        counts = [[int(line) for line in Path(tmp_path / f"rank{i}").read_text().split()]
                  for i in range(2)]
        assert sorted(counts[0] + counts[1]) == list(range(ROWS))
        assert len(counts[0]) > len(counts[1]) > 0  # the faster one took more


def test_rows_of_a_silent_rank_are_given_again_and_it_is_refused(table):
    with Cluster(1) as cluster:
        cluster.create("events", table)
        node = str(cluster.nodes[0].socket)
        arguments = (cluster.uri("events"), cluster.head_address, node)
        zombie = leased(*arguments, lease_seconds=0.5)
        stuck = iter(zombie)
        next(stuck)
        seen = []

        def work():
            for batch in leased(*arguments, lease_seconds=30):
                seen.extend(batch["id"].tolist())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(120)
        assert sorted(seen) == list(range(ROWS))
        with pytest.raises(forebay.LeaseLost):
            next(stuck)
        progress = zombie.progress()
        assert progress == {"rows": ROWS, "acknowledged": ROWS, "held": 0}


def test_leases_of_a_head_that_is_not_there_say_so(table, monkeypatch, tmp_path):
    monkeypatch.setattr("forebay.head_leases._PATIENCE_SECONDS", 0.2)
    with pytest.raises(ConnectionError, match="no head keeps leases at 127.0.0.1:1"):
        LeasedDataset(str(table), 100, leases="forebay://127.0.0.1:1",
                      store=f"ssd:{tmp_path}/store")
