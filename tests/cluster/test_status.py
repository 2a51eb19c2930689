"""What a head says is cached, with nodes that really hold it, or not."""

import json
import subprocess
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cluster import BIN, Cluster, wait_until
from test_cluster import warm_up

import forebay

FILES, ROWS, WIDTH = 8, 60_000, 32


def write(folder):
    """65 MB, in files that are large enough to be units of their own."""
    folder.mkdir()
    rng = np.random.default_rng(5)
    for i in range(FILES):
        values = rng.random(ROWS * WIDTH, dtype=np.float32)
        wide = pa.FixedSizeListArray.from_arrays(values, WIDTH)
        ids = np.arange(i * ROWS, (i + 1) * ROWS)
        pq.write_table(pa.table({"id": ids, "wide": wide}), folder / f"{i}.parquet",
                       compression="none")
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write(tmp_path_factory.mktemp("status") / "table")


def shown(cluster, name="events"):
    datasets = cluster.call("GET", "/v1/status")["datasets"]
    return next(dataset for dataset in datasets if dataset["name"] == name)


def percent(cluster, name="events"):
    return shown(cluster, name)["cached_percent"]


def read_all(cluster, node):
    ds = forebay.open(cluster.uri("events"), node=str(node.socket))
    assert sum(len(batch["id"]) for batch in ds.batches(1000, remainder="keep")) == FILES * ROWS


@pytest.mark.parametrize("nodes, replicas", [(1, 1), (1, 2), (3, 2)])
def test_a_dataset_is_cached_once_its_warm_up_is_done(table, nodes, replicas):
    with Cluster(nodes, store="mem:256MiB") as cluster:
        cluster.create("events", table, replicas=replicas)
        assert (percent(cluster), shown(cluster)["phase"]) == (0, "not cached")
        warm = subprocess.run([BIN / "forebay", "warmup", cluster.uri("events"), "--wait"],
                              capture_output=True, text=True, timeout=60)
        assert warm.returncode == 0, warm.stderr
        now = shown(cluster)
        assert (now["cached_percent"], now["phase"]) == (100, "cached")
        assert now["units"] == FILES * min(nodes, replicas)
        assert now["cached_bytes"] >= FILES * ROWS * 4 * WIDTH * min(nodes, replicas)
        # Long after the order is gone.
        wait_until(lambda: not cluster.call("GET", "/v1/status")["nodes"][0]["report"]["warmups"],
                   "the order stays")
        time.sleep(1.5)
        assert percent(cluster) == 100


def test_a_refreshed_dataset_is_cached_once_its_warm_up_is_done(tmp_path):
    folder = write(tmp_path / "table")
    with Cluster(1, store="mem:256MiB") as cluster:
        cluster.create("events", folder)
        warm_up(cluster, "events")
        for i in range(3):
            pq.write_table(pq.read_table(folder / "0.parquet").slice(0, 1000 + i),
                           folder / "new.parquet")
            cluster.call("POST", "/v1/datasets/events/refresh")
            warm_up(cluster, "events")
            assert percent(cluster) == 100


def test_what_readers_brought_is_cached(table):
    with Cluster(2, store="mem:256MiB") as cluster:
        cluster.create("events", table)
        for node in cluster.nodes:
            read_all(cluster, node)
        wait_until(lambda: shown(cluster)["phase"] == "cached", "what was read is not cached", 10)


def test_what_was_evicted_is_not_cached(table, tmp_path):
    with Cluster(1, store="mem:96MiB") as cluster:
        cluster.create("events", table)
        cluster.create("others", write(tmp_path / "others"))
        warm_up(cluster, "events")
        assert percent(cluster) == 100
        warm_up(cluster, "others")
        assert percent(cluster, "others") == 100
        wait_until(lambda: 0 < percent(cluster) < 60, "evicted units are counted", 10)
        assert shown(cluster)["phase"] == "partly cached"


def test_nodes_that_are_started_anew_say_what_they_hold(table):
    with Cluster(2, store="ssd:{dir}:256MiB") as cluster:
        cluster.create("events", table)
        warm_up(cluster, "events")
        for node in cluster.nodes:
            node.kill()
        for node in cluster.nodes:
            node.start()
        cluster.wait_for_nodes()
        wait_until(lambda: percent(cluster) == 100, "what is on disk is not counted", 10)


def test_a_tree_of_files_is_cached_as_a_table_is(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    for i in range(50):
        (tree / f"{i}.bin").write_bytes(bytes([i]) * 10_000)
    with Cluster(2, store="mem:256MiB") as cluster:
        cluster.create("files", tree, kind="files")
        assert percent(cluster, "files") == 0
        warm_up(cluster, "files")
        assert percent(cluster, "files") == 100


def test_two_datasets_of_one_source_are_told_apart(table):
    with Cluster(1, store="mem:256MiB") as cluster:
        cluster.create("ids", table, columns=["id"])
        cluster.create("all", table)
        warm_up(cluster, "ids")
        assert percent(cluster, "ids") == 100 and percent(cluster, "all") == 0


def test_nothing_of_a_cluster_without_nodes_is_cached(table):
    with Cluster(0) as cluster:
        cluster.create("events", table, replicas=2)
        assert percent(cluster) == 0
        text = subprocess.run([BIN / "forebay", "status", "--head", cluster.head_address, "-o",
                               "json"], capture_output=True, text=True, timeout=60).stdout
        assert json.loads(text)["datasets"][0]["phase"] == "not cached"


def test_jobs_say_which_epoch_and_where_in_it_they_are(table):
    with Cluster(1, store="mem:256MiB") as cluster:
        cluster.create("events", table)
        ds = forebay.open(cluster.uri("events"), node=str(cluster.nodes[0].socket))
        batches = iter(ds.batches(1000, shuffle="global", seed=1, epoch=3))

        for _ in range(10):
            next(batches)
        time.sleep(0.6)  # progress is told twice a second, and with a batch
        next(batches)

        def job():
            jobs = cluster.call("GET", "/v1/jobs")["jobs"]
            return jobs[0] if jobs else {}
        wait_until(lambda: job().get("position") == 10_000, "no progress is told", 5)
        assert (job()["epoch"], job()["rows"], job()["node"]) == (3, FILES * ROWS, "n0")


def test_a_warm_up_names_each_file_that_failed_and_no_other(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    for i in range(4):
        pq.write_table(pa.table({"id": np.arange(10)}), folder / f"p{i}.parquet")
    with Cluster(1, store="mem:64MiB") as cluster:
        cluster.create("small", folder)
        (folder / "p1.parquet").write_bytes(b"")
        (folder / "p2.parquet").unlink()
        warm = subprocess.run([BIN / "forebay", "warmup", cluster.uri("small"), "--wait"],
                              capture_output=True, text=True, timeout=60)
        named = [line.split(": ")[1] for line in warm.stderr.splitlines() if "could not" in line]
        assert warm.returncode == 11
        assert named == [f"could not load file://{folder}/p{i}.parquet" for i in (1, 2)]
