"""Clusters of real processes: the same rows as on one machine, read from the source once."""

import contextlib
import json
import os
import random
import signal
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pyarrow.parquet as pq
import pytest
from cluster import BIN, ROOT, Cluster, free_port, wait_until

import forebay

ROWS = 400_000
FILES = 16
SEED = int(os.environ.get("FOREBAY_CHAOS_SEED", str(random.randrange(1 << 30))))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster") / "table"
    folder.mkdir()
    rng = np.random.default_rng(3)
    for i in range(FILES):
        ids = np.arange(i * ROWS // FILES, (i + 1) * ROWS // FILES, dtype=np.int64)
        wide = pa.FixedSizeListArray.from_arrays(rng.random(len(ids) * 16, dtype=np.float32), 16)
        pq.write_table(pa.table({"id": ids, "x": rng.random(len(ids)), "wide": wide}),
                       folder / f"{i:02}.parquet", row_group_size=12_500, compression="none")
    return folder


@pytest.fixture(scope="module")
def alone(table, tmp_path_factory):
    return forebay.open(str(table), store=f"ssd:{tmp_path_factory.mktemp('alone')}/store")


def data_bytes(table):
    return sum(path.stat().st_size for path in table.iterdir())


def ids_of(dataset, **how):
    return np.concatenate([batch["id"] for batch in dataset.batches(1000, remainder="keep", **how)])


@pytest.mark.parametrize("nodes, replicas", [(1, 1), (3, 1), (3, 2)])
def test_a_cluster_gives_the_same_rows_as_one_machine(table, alone, nodes, replicas):
    with Cluster(nodes) as cluster:
        cluster.create("events", table, replicas=replicas)
        for node in cluster.nodes:
            ds = forebay.open(cluster.uri("events"), node=str(node.socket))
            assert ds.num_rows == ROWS
            for how in ({}, {"shuffle": "global", "seed": 5}, {"shuffle": "window", "seed": 5}):
                for rank in range(2):
                    shard = {"rank": rank, "world_size": 2}
                    assert (ids_of(ds, **how, **shard) == ids_of(alone, **how, **shard)).all()
            rows = [0, ROWS - 1, 77_777]
            assert (ds.take(rows)["wide"] == alone.take(rows)["wide"]).all()


def test_a_dataset_has_the_columns_it_was_made_with(table, alone):
    with Cluster(2) as cluster:
        cluster.create("events", table, columns=["x", "id"])
        warm_up(cluster, "events")
        ds = forebay.open(cluster.uri("events"), node=str(cluster.nodes[0].socket))
        assert ds.columns == ["x", "id"]
        before = cluster.counters("source_bytes")
        batch = next(iter(ds.batches(1000)))
        assert list(batch) == ["x", "id"] and (batch["id"] == np.arange(1000)).all()
        # What was warmed is what is read.
        assert (ids_of(ds) == np.arange(ROWS)).all()
        assert cluster.counters("source_bytes") == before
        other = forebay.open(cluster.uri("events"), columns=["wide"],
                             node=str(cluster.nodes[0].socket))
        assert (other.take([5])["wide"] == alone.take([5])["wide"]).all()
        command = json.dumps({"dataset": "events"}).encode()
        with flight.connect(f"grpc://{cluster.nodes[0].flight}") as client:
            info = client.get_flight_info(flight.FlightDescriptor.for_command(command))
        assert info.schema.names == ["x", "id"]


def test_streams_that_overlap_have_the_columns_of_their_dataset(table):
    """Too much to be on its way at once: the first ones are open while the others begin."""
    with Cluster(1) as cluster:
        cluster.create("events", table, columns=["wide", "id"])
        ticket = flight.Ticket(json.dumps({"dataset": "events"}))
        with flight.connect(f"grpc://{cluster.nodes[0].flight}") as client:
            streams = [client.do_get(ticket) for _ in range(3)]
            firsts = [stream.read_chunk().data for stream in streams]
            assert [first.schema.names for first in firsts] == [["wide", "id"]] * 3
            ids = [np.concatenate([first["id"], *(batch.data["id"] for batch in stream)])
                   for first, stream in zip(firsts, streams)]
        assert all((each == np.arange(ROWS)).all() for each in ids)


def test_a_filter_may_be_given_with_a_name(tmp_path):
    folder = tmp_path / "table"
    folder.mkdir()
    pq.write_table(pa.table({"id": range(1000), "x": range(1000)}), folder / "0.parquet")
    with Cluster(2) as cluster:
        cluster.create("events", folder, columns=["id"])
        node = cluster.nodes[0]
        ds = forebay.open(cluster.uri("events"), filter="x >= 990", node=str(node.socket))
        assert ds.columns == ["id"] and ids_of(ds).tolist() == list(range(990, 1000))
        command = json.dumps({"dataset": "events", "filter": "x < 5"}).encode()
        with flight.connect(f"grpc://{node.flight}") as client:
            info = client.get_flight_info(flight.FlightDescriptor.for_command(command))
            assert info.total_records == 5
            rows = client.do_get(info.endpoints[0].ticket).read_all()
        assert rows.to_pydict() == {"id": [0, 1, 2, 3, 4]}
        node.kill()  # the reader goes on with its version
        node.start()

        def answers():
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
                return link.connect_ex(str(node.socket)) == 0
        wait_until(answers, "the node does not come back")
        assert ids_of(ds).tolist() == list(range(990, 1000))
        assert ds.take([3])["id"].tolist() == [993]
        # Never other rows than those of the dataset's version.
        pq.write_table(pa.table({"id": range(5), "x": range(5)}), folder / "1.parquet")
        with pytest.raises(forebay.SourceChanged, match="refresh"):
            forebay.open(cluster.uri("events"), filter="x < 3", node=str(node.socket))


def test_a_loader_tells_the_time_of_peers_from_that_of_the_source(table, tmp_path):
    Loader = pytest.importorskip("forebay.torch").Loader
    with Cluster(1) as cluster:
        cluster.create("events", table)
        waits = []
        # The member has nothing yet; who is no member has everything from it.
        for where in ({"node": str(cluster.nodes[0].socket)}, {"store": f"ssd:{tmp_path}/store"}):
            ds = forebay.torch.Dataset(cluster.uri("events"), 1000, **where)
            loader = Loader(ds, threads=1)
            assert sum(len(batch["id"]) for batch in loader) == ROWS
            waits.append(loader.stats()["waited"])
        assert waits[0]["source"] > 0 and waits[0]["peer"] == 0
        assert waits[1]["source"] == 0 and waits[1]["peer"] > 0


def test_nodes_and_jobs_together_read_the_source_once(tmp_path):
    # Large enough for footers, which each node reads for itself, not to count.
    rows, table = 1_600_000, tmp_path / "table"
    table.mkdir()
    for i in range(4):
        ids = np.arange(i * rows // 4, (i + 1) * rows // 4)
        values = np.random.default_rng(i).random(len(ids) * 16)
        wide = pa.FixedSizeListArray.from_arrays(values, 16)
        pq.write_table(pa.table({"id": ids, "wide": wide}), table / f"{i}.parquet",
                       row_group_size=50_000, compression="none")
    with Cluster(4, store="mem:512MiB") as cluster:
        cluster.create("events", table)
        failures = []

        def job(node, seed):
            try:
                ds = forebay.open(cluster.uri("events"), node=str(node.socket))
                assert len(ids_of(ds, shuffle="global", seed=seed)) == rows
            except BaseException as error:
                failures.append(error)

        jobs = [threading.Thread(target=job, args=(node, seed))
                for node in cluster.nodes for seed in range(3)]
        for thread in jobs:
            thread.start()
        for thread in jobs:
            thread.join()
        assert not failures
        read = sum(cluster.counters("source_bytes").values())
        assert read <= 1.02 * data_bytes(table)


def test_a_new_node_takes_its_share_from_the_others_and_nothing_from_the_source(table):
    with Cluster(3) as cluster:
        cluster.create("events", table)
        warm_up(cluster, "events")
        before = sum(cluster.counters("source_bytes").values())
        held = {name: chunks(cluster, name) for name in ("n0", "n1", "n2")}
        cluster.add_node(weight=3)  # half of all, so that chance hardly gives it none
        cluster.wait_for_nodes()
        warm_up(cluster, "events")
        assert sum(cluster.counters("source_bytes").values()) == before
        moved = chunks(cluster, "n3")
        assert 0 < moved < sum(held.values())
        assert {name: chunks(cluster, name) for name in held} == held


def chunks(cluster, name):
    node = next(node for node in cluster.nodes if node.name == name)
    return sum(tier["chunks"] for tier in cluster.status(node)["tiers"])


def warm_up(cluster, name):
    operation = cluster.call("POST", f"/v1/datasets/{name}/warmup", {})

    def ended():
        nonlocal operation
        operation = cluster.call("GET", f"/v1/operations/{operation['id']}")
        return operation["state"] != "running"

    wait_until(ended, "the warm-up does not end", 120)
    assert operation["state"] == "done", operation


def small_node(cluster, *arguments):
    """A node for the reader alone: it owns next to nothing and keeps little."""
    before = cluster.store, cluster.node_arguments
    cluster.store, cluster.node_arguments = "mem:4MiB", arguments
    node = cluster.add_node(weight=0.0001)
    cluster.store, cluster.node_arguments = before
    cluster.wait_for_nodes()
    return node


def test_a_head_that_is_gone_costs_readers_nothing(table, alone):
    with Cluster(2) as cluster:
        cluster.create("events", table)
        ds = forebay.open(cluster.uri("events"), node=str(cluster.nodes[0].socket))
        expected = ids_of(alone, shuffle="global", seed=2)
        cluster.head.kill()
        assert (ids_of(ds, shuffle="global", seed=2) == expected).all()
        cluster.head.start()
        cluster.wait_for_nodes()
        again = forebay.open(cluster.uri("events"), node=str(cluster.nodes[1].socket))
        assert (ids_of(again, shuffle="global", seed=2) == expected).all()


def test_nodes_work_on_under_a_head_whose_state_was_wiped(table, alone):
    with Cluster(2, head=("--timeout", "2s")) as cluster:
        for _ in range(2):  # so that its term is larger than that of a first start
            cluster.head.kill()
            cluster.head.start()
            cluster.wait_for_nodes()
        cluster.head.kill()
        for file in cluster.folder.glob("meta.db*"):
            file.unlink()
        shutil.rmtree(cluster.folder / "head")
        cluster.head.start()
        cluster.wait_for_nodes()
        cluster.create("events", table)
        warm_up(cluster, "events")  # each node has to act as an owner for that
        ds = forebay.open(cluster.uri("events"), node=str(cluster.nodes[0].socket))
        assert (ids_of(ds, shuffle="global", seed=2) ==
                ids_of(alone, shuffle="global", seed=2)).all()


def test_an_open_waits_for_a_head_that_is_started_anew(table):
    with Cluster(1) as cluster:
        cluster.create("events", table)
        cluster.head.kill()
        later = threading.Timer(3, cluster.head.start)
        later.start()
        try:
            ds = forebay.open(cluster.uri("events"), node=str(cluster.nodes[0].socket))
        finally:
            later.join()
        assert ds.num_rows == ROWS


def test_a_head_that_is_not_there_is_named_before_the_callers_time_is_up(tmp_path):
    with pytest.raises(ConnectionError, match="the head at 127.0.0.1:1 does not answer"):
        forebay.open("forebay://127.0.0.1:1/events", store=f"ssd:{tmp_path}/store", timeout=8)


def test_a_drained_node_leaves_and_no_read_fails(table, alone):
    with Cluster(3) as cluster:
        cluster.create("events", table)
        warm_up(cluster, "events")
        ds = forebay.open(cluster.uri("events"), node=str(cluster.nodes[0].socket))
        expected = ids_of(alone, shuffle="global", seed=4)
        batches = iter(ds.batches(1000, shuffle="global", seed=4, remainder="keep"))
        seen = [next(batches)["id"]]
        cluster.call("POST", "/v1/nodes/n2/drain", {})
        seen += [batch["id"] for batch in batches]
        assert (np.concatenate(seen) == expected).all()


def test_a_node_that_is_down_is_not_asked_before_it_is_back(table):
    with Cluster(2, head=("--timeout", "2s")) as cluster:
        for name in ("first", "second"):
            cluster.create(name, table, replicas=1)
        reader, dead = cluster.nodes
        dead.kill()
        asked = []
        with socket.create_server(("127.0.0.1", int(dead.flight.split(":")[1]))) as there:
            def count():
                with contextlib.suppress(OSError):
                    while True:
                        asked.append(there.accept())
            counting = threading.Thread(target=count)
            counting.start()
            try:
                first = forebay.open(cluster.uri("first"), node=str(reader.socket))
                assert len(ids_of(first)) == ROWS
                wait_until(lambda: sorted(cluster.states()) == ["down", "up"], "it is not down")
                time.sleep(1)  # until the reader's node has heard of it
                before = len(asked)
                second = forebay.open(cluster.uri("second"), node=str(reader.socket))
                assert len(ids_of(second, shuffle="global", seed=1)) == ROWS
                # What was dialled for the first may be dialled once more by gRPC itself.
                assert before > 0 and len(asked) <= before + 1
                assert "of second" not in Path(reader.log).read_text()
            finally:
                there.shutdown(socket.SHUT_RDWR)
                counting.join()
                for connection, _ in asked:
                    connection.close()


def test_restarted_nodes_still_hold_what_they_held(table):
    with Cluster(3, store="ssd:{dir}:256MiB") as cluster:
        cluster.create("events", table)
        warm_up(cluster, "events")
        before = sum(cluster.counters("source_bytes").values())
        assert before > 0
        for node in cluster.nodes:
            node.kill()
            node.start()
        cluster.wait_for_nodes()
        ds = forebay.open(cluster.uri("events"), node=str(cluster.nodes[1].socket))
        assert len(ids_of(ds, shuffle="global", seed=1)) == ROWS
        assert sum(cluster.counters("source_bytes").values()) <= 0.05 * before


def test_nodes_tell_prometheus_what_they_count(table):
    http = f"127.0.0.1:{free_port()}"
    with Cluster(1, node=("--http", http)) as cluster:
        cluster.create("events", table)
        warm_up(cluster, "events")
        with urllib.request.urlopen(f"http://{http}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        values = {line.split()[0]: int(line.split()[1]) for line in lines if line[0] != "#"}
        assert values["forebay_node_source_bytes_total"] > data_bytes(table)
        assert values["forebay_node_fills_total"] > 0
        assert values['forebay_node_store_used_bytes{tier="mem"}'] > 0
        assert values["forebay_node_may_own"] == 1


def test_the_example_trains_against_a_cluster(tmp_path):
    with Cluster(3) as cluster:
        env = {**os.environ, "FOREBAY_HEAD": cluster.head_address,
               "FOREBAY_NODE": str(cluster.nodes[0].socket)}
        run = subprocess.run([sys.executable, ROOT / "examples/cluster_train.py", tmp_path / "t"],
                             env=env, text=True, capture_output=True, timeout=120)
        assert run.returncode == 0, run.stderr
        assert "n0 up, n1 up, n2 up" in run.stdout


def listening(pid):
    """The addresses at which a process takes connections."""
    sockets = {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()}
    found = set()
    for family, table in ((socket.AF_INET, "tcp"), (socket.AF_INET6, "tcp6")):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                raw = bytes.fromhex(words[1].split(":")[0])
                quads = [raw[i:i + 4][::-1] for i in range(0, len(raw), 4)]
                found.add(socket.inet_ntop(family, b"".join(quads)))
    return found


def test_serve_listens_where_it_is_told_to_and_nowhere_else(tmp_path):
    head = f"127.0.0.7:{free_port()}"
    serving = subprocess.Popen([BIN / "forebay", "serve", "--listen", head, "--tier", "mem:64MiB",
                                "--socket", tmp_path / "s", "--state", tmp_path / "state"])
    try:
        def joined():
            try:
                with urllib.request.urlopen(f"http://{head}/v1/nodes", timeout=5) as answer:
                    return [n["state"] for n in json.load(answer)["nodes"]] == ["up"]
            except OSError:
                return False
        wait_until(joined, "the node does not join its own head")
        assert listening(serving.pid) <= {"127.0.0.7", "::ffff:127.0.0.7"}
    finally:
        serving.terminate()
        assert serving.wait(20) == 0


@pytest.mark.fast
def test_serve_is_a_cluster_in_one_process(table, alone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    head, at = f"127.0.0.1:{free_port()}", folder / "node.sock"
    serving = subprocess.Popen([BIN / "forebay", "serve", "--listen", head, "--tier", "mem:256MiB",
                                "--socket", at, "--state", folder / "state",
                                "--flight", f"127.0.0.1:{free_port()}"])
    try:
        create = [BIN / "forebay", "dataset", "create", "events", "--source", table, "--head", head]
        wait_until(lambda: subprocess.run(create, capture_output=True).returncode == 0,
                   "the head does not answer")
        warm = subprocess.run([BIN / "forebay", "warmup", "events", "--wait", "--head", head],
                              text=True, capture_output=True, timeout=120)
        assert warm.returncode == 0, warm.stderr
        ds = forebay.open(f"forebay://{head}/events", node=str(at))
        assert (ids_of(ds, shuffle="global", seed=9)
                == ids_of(alone, shuffle="global", seed=9)).all()
    finally:
        serving.terminate()
        assert serving.wait(20) == 0
