"""Ranks of several hosts take rows by leases that the head keeps: each row is acknowledged
once, whoever dies, also the head."""

import multiprocessing
import random
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import Cluster, wait_until
from heads import Head

import forebay

torch = pytest.importorskip("torch")

from forebay.torch import LeasedDataset  # noqa: E402

ROWS = 20_000


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leases") / "events"
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


def test_ranks_on_two_nodes_share_an_epoch_through_a_restart_of_the_head(events, tmp_path):
    with Cluster(2) as cluster:
        cluster.create("events", events)
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


def careless_rank(uri, head, node, record):
    """Says what it has before it acknowledges it, and when that is done."""
    dataset = leased(uri, head, node, lease_seconds=2)
    with open(record, "a") as out:
        for batch in dataset:
            out.write("".join(f"{n} " for n in batch["id"].tolist()))
            out.flush()
            time.sleep(0.1)
            dataset.acknowledge()
            out.write("done\n")
            out.flush()


def test_each_row_is_acknowledged_once_where_ranks_are_killed(events, tmp_path):
    context = multiprocessing.get_context("spawn")
    records = []

    def start(cluster, i):
        records.append(tmp_path / f"record{len(records)}")
        process = context.Process(target=careless_rank, args=(
            cluster.uri("events"), cluster.head_address, str(cluster.nodes[i].socket),
            records[-1]))
        process.start()
        return process

    with Cluster(2) as cluster:
        cluster.create("events", events)
        ranks = [start(cluster, i) for i in range(2)]
        for kill in range(3):
            # One that comes late may find all done.
            wait_until(lambda: all(r.exists() and r.stat().st_size > 0 for r in records[-2:])
                       or not any(rank.is_alive() for rank in ranks), "a rank does nothing", 60)
            time.sleep(random.random() / 5)
            ranks[kill % 2].kill()
            ranks[kill % 2].join()
            ranks[kill % 2] = start(cluster, kill % 2)
        for process in ranks:
            process.join(120)
            assert process.exitcode == 0
        watch = leased(cluster.uri("events"), cluster.head_address, str(cluster.nodes[0].socket))
        assert watch.progress() == {"rows": ROWS, "acknowledged": ROWS, "held": 0}
    done, unsure = [], []
    for record in records:
        for line in record.read_text().splitlines():
            ids = [int(word) for word in line.split() if word != "done"]
            (done if line.endswith("done") else unsure).append(ids)
    rows = [n for ids in done for n in ids]
    assert len(rows) == len(set(rows))
    # A rank that was killed may have acknowledged the batch that it had.
    assert len(unsure) <= 3
    assert set(rows).union(*unsure) == set(range(ROWS))


def test_leases_outlive_the_head_that_leads(tmp_path, etcd, processes, table):
    heads = [Head(tmp_path, meta=etcd.meta, name=name) for name in ("one", "two")]
    processes += heads
    wait_until(lambda: any(head.leads() for head in heads), "nobody leads")
    dataset = LeasedDataset(str(table), 100, lease_rows=200, lease_seconds=30,
                            leases="forebay://" + ",".join(head.address for head in heads),
                            store=f"ssd:{tmp_path}/store")
    seen = []
    for i, batch in enumerate(dataset):
        if i == 5:
            next(head for head in heads if head.leads()).kill()
        seen += batch["id"].tolist()
    assert seen == list(range(3_000))
    assert dataset.progress()["acknowledged"] == len(seen)


def test_rows_of_a_silent_rank_are_given_again_and_it_is_refused(events):
    with Cluster(1) as cluster:
        cluster.create("events", events)
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
