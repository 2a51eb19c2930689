"""One head, over HTTP and by the command line."""

import json
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster import free_port
from heads import BIN, Head, Node, Process, call, wait_until, write_table

SECRET = "tr0ub4dor"


def create(head, table, name="events", **more):
    status, answer = head.call("POST", "/v1/datasets",
                               {"name": name, "source": str(table), **more})
    assert status == 200, answer
    return answer


@pytest.mark.fast
def test_a_dataset_is_created_listed_shown_refreshed_and_deleted(head, table, forebay):
    at = ["--head", head.address]
    made = json.loads(forebay("dataset", "create", "events", "--source", table, "--replicas", 2,
                              "--columns", "id,label", "-o", "json", *at).stdout)
    assert made["rows"] == 3_000 and made["files"] == 3 and made["replicas"] == 2
    assert made["columns"] == ["id", "label"]
    assert "events" in forebay("dataset", "list", *at).stdout
    assert made["version"] in forebay("dataset", "show", "events", *at).stdout
    # The version stays what it was until it is refreshed.
    write_table(table, files=4)
    shown = json.loads(forebay("dataset", "show", "events", "-o", "json", *at).stdout)
    assert shown["version"] == made["version"]
    fresh = json.loads(forebay("dataset", "refresh", "events", "-o", "json", *at).stdout)
    assert fresh["version"] != made["version"] and fresh["rows"] == 4_000
    assert head.get(f"/v1/versions/{made['version']}")["rows"] == 3_000
    forebay("dataset", "delete", "events", *at)
    assert "no dataset events" in forebay("dataset", "show", "events", *at, code=3).stderr
    assert head.get("/v1/datasets")["datasets"] == []


def test_the_same_wish_twice_is_one_dataset_and_another_is_refused(head, table, tmp_path):
    first = create(head, table)
    assert create(head, table) == first
    status, answer = head.call("POST", "/v1/datasets",
                               {"name": "events", "source": str(table), "replicas": 3})
    assert status == 409 and answer["error"]["code"] == "source changed"
    assert "its number of replicas is 1, not 3" in answer["error"]["message"]


def test_a_misspelled_field_is_refused_with_the_near_miss(head, table):
    status, answer = head.call("POST", "/v1/datasets", {
        "name": "events", "source": str(table), "colums": ["id"]})
    assert status == 400 and "did you mean columns?" in answer["error"]["message"]
    assert head.get("/v1/datasets")["datasets"] == []


def test_many_pin_one_version_at_once(head, table):
    with ThreadPoolExecutor(24) as pool:
        made = list(pool.map(lambda i: head.call("POST", "/v1/datasets", {
            "name": f"d{i % 8}", "source": str(table)}, timeout=120), range(48)))
    assert [status for status, _ in made] == [200] * 48, made
    assert len({answer["version"] for _, answer in made}) == 1


def test_replicas_without_nodes_for_them_are_told_of(tmp_path, processes, table, forebay):
    processes.append(Head(tmp_path, "--timeout", "5m", name="patient"))
    head = processes[-1].wait()
    assert Node(head, "a").register() == 200
    made = forebay("dataset", "create", "events", "--source", table, "--replicas", 2, "--head",
                   head.address)
    said = "2 replicas are wanted, but 1 node is up"
    assert said in made.stderr
    assert said in forebay("status", "--head", head.address).stdout


def test_a_head_listens_for_this_machine_unless_told_that_everybody_may(tmp_path, processes):
    """No address but loopback without --insecure, which warns."""
    command = [BIN / "forebay-head", "--state", tmp_path, "--meta", "memory:"]
    refused = subprocess.run([*command, "--listen", f"0.0.0.0:{free_port()}"],
                             capture_output=True, text=True, timeout=30)
    assert refused.returncode == 2 and "--insecure" in refused.stderr, refused
    assert "127.0.0.1:7070" in subprocess.run([BIN / "forebay-head", "--help"], text=True,
                                              capture_output=True, timeout=30).stdout
    log = tmp_path / "log"
    processes.append(Process([*command, "--listen", f"0.0.0.0:{free_port()}", "--insecure"], log))
    wait_until(lambda: "without authentication" in log.read_text(), "no warning")


def test_a_dataset_that_makes_no_sense_is_a_typed_error(head, table):
    for body, status in [(b"no", 400), ({"name": "a/b", "source": str(table)}, 400),
                         ({"name": "a", "source": str(table / "no")}, 404),
                         ({"name": "a", "source": str(table), "columns": ["no"]}, 404),
                         ({"name": "a", "source": "gopher://x/"}, 501)]:
        got, answer = head.call("POST", "/v1/datasets", body)
        assert (got // 100, "message" in answer["error"]) == (status // 100, True), (body, answer)
    assert head.get("/v1/datasets")["datasets"] == []


def test_no_secret_is_shown_or_logged(head, table, forebay):
    create(head, table, options={"s3.secret-access-key": SECRET, "s3.region": "here"})
    at = ["--head", head.address]
    shown = forebay("dataset", "show", "events", *at).stdout
    assert "s3.secret-access-key=***" in shown and "s3.region=here" in shown
    everything = [shown, forebay("dataset", "list", "-o", "json", *at).stdout,
                  forebay("status", "--head", head.address, "-o", "json").stdout,
                  head.log.read_text(), head.call("GET", "/metrics", raw=True)[1].decode()]
    assert not any(SECRET in text for text in everything)
    # Nodes need it.
    assert head.get("/v1/datasets/events/source")["options"]["s3.secret-access-key"] == SECRET
    # Whoever may not read the head's files does not read it there either.
    assert (head.folder / "meta.db").stat().st_mode & 0o77 == 0


def test_manifests_are_served_and_planned_again_when_lost(head, table):
    version = create(head, table)["version"]
    path = f"/v1/versions/{version}/manifest"
    status, manifest = head.call("GET", path, raw=True)
    assert status == 200 and len(manifest) > 500
    head.kill()
    (head.folder / "manifests" / f"{version}.manifest").unlink()
    head.start()
    assert head.wait().call("GET", path, raw=True)[1] == manifest
    assert head.call("GET", f"/v1/versions/{'0' * 32}/manifest")[0] == 404
    assert head.call("GET", "/v1/versions/..%2f..%2fmeta.db/manifest")[0] in (400, 404)


def test_nodes_join_fall_silent_come_back_and_are_drained(head, forebay):
    a, b = Node(head, "a"), Node(head, "b", weight=2.0)
    assert (a.register(), b.register()) == (200, 200)
    assert [m["id"] for m in b.roster["members"]] == ["a", "b"]

    def down():
        b.beat()
        return a.state() == "down"
    wait_until(down, "a is never down")
    assert b.state() == "up"
    assert a.beat() == 200 and a.state() == "up"
    at = ["--head", head.address]
    forebay("node", "drain", "a", *at)
    assert a.state() == "draining"
    assert a.beat() == 200
    nodes = {n["id"]: n for n in json.loads(forebay("nodes", "-o", "json", *at).stdout)["nodes"]}
    assert nodes["a"]["state"] == "draining" and nodes["b"]["weight"] == 2.0
    assert "draining" in forebay("nodes", *at).stdout
    assert "no node x" in forebay("node", "drain", "x", *at, code=3).stderr

    def gone():
        b.beat()
        return a.state() is None
    wait_until(gone, "a drained node that fell silent stays")


def test_a_node_that_is_down_is_drained_and_gone(head, forebay):
    a, b = Node(head, "a"), Node(head, "b")
    a.register()
    b.register()

    def down():
        b.beat()
        return a.state() == "down"
    wait_until(down, "a silent node stays up")
    status, answer = head.call("POST", "/v1/nodes/a/drain", {})
    assert (status, answer["id"], answer["state"]) == (200, "a", "gone")
    assert a.state() is None
    assert head.call("POST", "/v1/nodes/a/drain", {})[0] == 404


def test_a_warmup_without_nodes_says_what_it_waits_for(head, table):
    create(head, table)
    waiting = subprocess.Popen([BIN / "forebay", "warmup", "events", "--wait", "--head",
                                head.address], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    wait_until(lambda: head.get("/v1/operations")["operations"], "no warm-up begins")
    time.sleep(0.5)  # a line is written at once, or never
    for operation in head.get("/v1/operations")["operations"]:
        head.call("DELETE", f"/v1/operations/{operation['id']}")
    error = waiting.communicate(timeout=30)[1]
    assert "the warm-up waits: no node is up" in error and "100" not in error


def test_a_newer_process_of_the_same_id_fences_the_older(head):
    older, newer = Node(head, "a"), Node(head, "a")
    older.register()
    newer.register()
    assert newer.fence > older.fence
    assert older.beat() == 409
    assert newer.beat() == 200


def test_a_head_that_is_killed_knows_everything_again(head, table):
    create(head, table)
    a = Node(head, "a")
    a.register()
    epoch, fence = a.roster["epoch"], a.fence
    head.kill()
    head.start()
    head.wait()
    assert head.get("/v1/datasets/events")["rows"] == 3_000
    assert a.state() == "up"
    assert a.beat() == 404
    assert a.register() == 200 and a.fence > fence and a.roster["epoch"] > epoch


def test_a_warmup_ends_when_every_node_is_done(head, table, forebay, processes):
    version = create(head, table)["version"]
    a, b = Node(head, "a"), Node(head, "b")
    a.register()
    b.register()
    waiting = subprocess.Popen([BIN / "forebay", "warmup", "events", "--wait", "--head",
                                head.address, "-o", "json"], stdout=subprocess.PIPE, text=True)
    share = {"a": 1, "b": 2}

    def done():
        for node in (a, b):
            node.beat(warmups=[
                {"operation": w["operation"], "roster_epoch": node.roster["epoch"],
                 "done": True, "units": share[node.id], "units_done": share[node.id],
                 "rows": 1_000 * share[node.id], "rows_done": 1_000 * share[node.id],
                 "bytes_done": 10, "failures": [], "failure_count": 0}
                for w in node.orders.get("warmups", []) if w["version"] == version])
        return waiting.poll() is not None
    units = head.get(f"/v1/versions/{version}")["units"]
    share["b"] = units - 1
    wait_until(done, "the warm-up does not end")
    answer = json.loads(waiting.communicate()[0])
    assert waiting.returncode == 0, answer
    assert answer["state"] == "done" and answer["units_done"] == answer["units"] == units
    assert a.beat() == 200 and a.orders == {"warmups": []}


def test_a_warmup_that_fails_names_its_files(head, table):
    create(head, table)
    a = Node(head, "a")
    a.register()
    waiting = subprocess.Popen([BIN / "forebay", "warmup", f"forebay://{head.address}/events",
                                "--wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)

    def done():
        a.beat(warmups=[{"operation": w["operation"], "roster_epoch": a.roster["epoch"],
                         "done": True, "units": 3, "units_done": 2,
                         "failures": [{"file": f"{table}/1.parquet", "error": "it is gone"}],
                         "failure_count": 1} for w in a.orders.get("warmups", [])])
        return waiting.poll() is not None
    wait_until(done, "the warm-up does not end")
    assert waiting.returncode == 11
    assert f"could not load {table}/1.parquet: it is gone" in waiting.communicate()[1]


def test_status_tells_how_much_is_cached(head, table, forebay):
    version = create(head, table)["version"]
    units = head.get(f"/v1/versions/{version}")["units"]
    a = Node(head, "a")
    a.register()
    a.beat(tiers=[{"name": "mem", "used_bytes": 1 << 20, "capacity_bytes": 4 << 20}],
           versions=[{"dataset": "events", "version": version, "cached_bytes": 500, "cached_units": units}],
           jobs=[{"job": "run-7", "version": version, "epoch": 1, "position": 750,
                  "rows": 3_000}],
           counters={"chunk_hits_total": 3, "chunk_misses_total": 1})
    status = json.loads(forebay("status", "--head", head.address, "-o", "json").stdout)
    assert status["hit_ratio"] == 0.75
    assert status["datasets"][0]["cached_percent"] == 100
    assert status["datasets"][0]["phase"] == "cached"
    text = forebay("status", "--head", head.address).stdout
    assert "100.0 %" in text and "1.0 MiB of 4.0 MiB" in text
    job = head.get("/v1/jobs")["jobs"][0]
    assert (job["job"], job["percent"], job["node"]) == ("run-7", 25.0, "a")


@pytest.fixture
def silent():
    """An address that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_head_that_says_nothing_is_passed_over(head, silent, table, forebay):
    at = ("--head", f"{silent},{head.address}")
    began = time.monotonic()
    forebay("nodes", *at)
    forebay("dataset", "create", "events", "--source", table, *at)
    forebay("dataset", "delete", "events", *at)
    assert time.monotonic() - began < 30


def test_a_relative_source_is_that_of_the_caller(head, table, forebay, monkeypatch):
    monkeypatch.chdir(table.parent)
    forebay("dataset", "create", "events", "--source", "events", "--head", head.address)
    assert head.get("/v1/datasets/events")["source"] == str(table)
    status, answer = head.call("POST", "/v1/datasets", {"name": "b", "source": "events"})
    assert status == 400 and "relative path" in answer["error"]["message"]


def test_verbs_ask_the_head_that_the_environment_names(head, table, forebay, monkeypatch):
    create(head, table)
    Node(head, "a").register()
    monkeypatch.setenv("FOREBAY_HEAD", head.address)
    monkeypatch.chdir(table.parent)
    assert json.loads(forebay("status", "-o", "json").stdout)["datasets"][0]["name"] == "events"
    # The dataset, though there is a folder of this name.
    started = json.loads(forebay("warmup", "events", "-o", "json").stdout)
    assert started["dataset"] == "events" and started["state"] == "running"


def test_health_readiness_and_metrics(head):
    assert head.call("GET", "/healthz", raw=True) == (200, b"ok\n")
    assert head.call("GET", "/ready", raw=True) == (200, b"ready\n")
    Node(head, "a").register()
    status, text = head.call("GET", "/metrics", raw=True)
    lines = text.decode().splitlines()
    assert status == 200 and "forebay_head_leads 1" in lines
    assert 'forebay_head_nodes{state="up"} 1' in lines
    names = {line.split("{")[0].split(" ")[0] for line in lines if not line.startswith("#")}
    assert all(name.startswith("forebay_") for name in names)


def test_what_makes_no_sense_is_a_typed_error_and_hurts_nobody(head):
    for method, path, status in [("GET", "/", 404), ("GET", "/v1/nothing", 404),
                                 ("DELETE", "/v1/nodes", 405), ("POST", "/v1/status", 405),
                                 ("GET", "/v1/versions/xyz", 400),
                                 ("GET", "/v1/operations/1-1", 404)]:
        got, answer = head.call(method, path)
        assert got == status and answer["error"]["message"], (method, path, answer)
    for body in [b"", b"[]", b"{}", b'{"id": 5}', b"\xff\xfe", b'{"id": "a", "fence": -1}',
                 b"[" * 100_000]:
        for path in ["/v1/nodes/register", "/v1/nodes/heartbeat", "/v1/nodes/leave"]:
            got, answer = head.call("POST", path, body)
            assert got == 400 and answer["error"]["code"] == "invalid", (path, body[:20])
    host, port = head.address.split(":")
    idle = []
    for i in range(500):
        idle.append(socket.create_connection((host, int(port))))
        if i % 2:
            idle[-1].sendall(b"POST /v1/nodes/register HTTP/1.1\r\nContent-Length: 99\r\n")
    assert Node(head, "a").register() == 200
    with socket.create_connection((host, int(port))) as s:
        s.sendall(b"POST /v1/datasets HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 413 ")
    for s in idle:
        s.close()
    memory = open(f"/proc/{head.process.pid}/status").read()
    assert int(memory.split("VmRSS:")[1].split()[0]) < 300_000


def test_one_store_has_one_head(head, tmp_path):
    second = subprocess.run([BIN / "forebay-head", "--state", head.folder, "--listen",
                             "127.0.0.1:0"], capture_output=True, text=True, timeout=30)
    assert second.returncode == 8 and "another head uses" in second.stderr


def test_a_head_reads_only_what_it_may(tmp_path, processes, table):
    processes.append(Head(tmp_path, "--allow", f"file://{table}", name="careful"))
    head = processes[-1].wait()
    create(head, table)
    other = write_table(tmp_path / "other")
    status, answer = head.call("POST", "/v1/datasets", {"name": "b", "source": str(other)})
    assert status == 403 and "may not read" in answer["error"]["message"]


def test_a_head_ends_in_order(head):
    head.kill(signal.SIGTERM)
    assert head.process.returncode == 0


def test_the_verb_becomes_the_program(tmp_path, processes):
    head = Head(tmp_path, name="by-verb")
    processes.append(head)
    head.wait().kill()
    head.command = [str(BIN / "forebay"), "head", *head.command[1:]]
    head.start()
    head.wait()
    assert call(head.address, "GET", "/v1/datasets") == (200, {"datasets": []})
