"""node and status."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from socket import create_server

import pytest
from fault_proxies import FaultProxy
from ports import free_port

from programs import BIN, is_alive, peer_pid, wait_until, write_table

SERVERS = Path(__file__).resolve().parents[1] / "servers"


@pytest.fixture
def start(cli):
    """Starts `forebay node …` in the foreground; ends it with the test."""
    started = []

    def start(*arguments, socket=None, **who):
        known = set(cli.sockets())
        command = [BIN / "forebay", "node", *map(str, arguments)]
        node = subprocess.Popen(command, env=cli.env, stderr=subprocess.PIPE, text=True,
                                **who)
        started.append(node)
        if socket is None:
            wait_until(lambda: set(cli.sockets()) - known or node.poll() is not None, "no node")
        else:
            wait_until(lambda: peer_pid(socket) or node.poll() is not None, "no node")
        return node
    yield start
    for node in started:
        if node.poll() is None:
            node.terminate()
        node.communicate(timeout=30)


def test_node_is_found_by_readers_of_its_store(cli, start, table):
    node = start()
    assert cli.json("inspect", table)["node_pid"] == node.pid
    assert cli.node_pids() == [node.pid]


def test_node_ends_in_order_on_a_signal(cli, start):
    for number in (signal.SIGTERM, signal.SIGINT):
        node = start()
        node.send_signal(number)
        assert node.wait(timeout=30) == 0
        assert cli.sockets() == []


def test_node_passes_other_options_on(cli, start, tmp_path):
    socket = cli.runtime / "s"
    node = start("--store", f"ssd:{tmp_path}/other:64MiB", "--socket", socket,
                 "--fill-threads", 1, "--fill-memory", "128MiB", socket=socket)
    assert node.poll() is None
    cli.env["FOREBAY_NODE"] = str(socket)
    (status,) = cli.json("status")["nodes"]
    assert status["pid"] == node.pid
    assert status["socket"] == str(socket)
    assert status["tiers"][0]["quota_bytes"] == 64 << 20


def test_node_with_an_unknown_option_is_a_usage_error(cli, start):
    node = start("--frob")
    assert node.wait(timeout=30) == 2


def test_a_second_node_of_a_store_says_that_one_is_there(cli, start):
    first = start()
    done = cli.run("node")
    assert done.returncode == 8
    assert "already serves" in done.stderr
    assert is_alive(first.pid)


def test_status_shows_nodes_tiers_and_fills(cli, start, table):
    node = start()
    cli.json("warmup", table)
    (status,) = cli.json("status")["nodes"]
    assert (status["pid"], status["readers"]) == (node.pid, [])
    assert status["version"] == cli.json("version")["version"]
    assert status["fills"] > 0 and status["failed_fills"] == 0
    assert status["source_bytes"] > 80_000 * 100
    assert status["tiers"][0]["used_bytes"] > 80_000 * 100
    text = cli.run("status").stdout.splitlines()
    assert text[0].split()[:3] == ["NODE", "VERSION", "UP"]
    assert text[1].split()[:2] == [str(node.pid), status["version"]]
    assert text[4].split()[1] == f"ssd:{cli.store}"


def test_status_shows_every_node_of_the_user(cli, start, tmp_path):
    pids = {start().pid, start("--store", f"ssd:{tmp_path}/b").pid,
            start("--store", "mem:64MiB").pid}
    assert {n["pid"] for n in cli.json("status")["nodes"]} == pids


def test_status_shows_who_reads(cli, start, table):
    start()
    bench = subprocess.Popen([BIN / "forebay", "bench", table, "--passes", "1000"], env=cli.env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def views():
            readers = cli.json("status")["nodes"][0]["readers"]
            return next((r["views"] for r in readers if r["pid"] == bench.pid), [])
        wait_until(lambda: views() and views()[0]["positions"] == 80_000, "no progress shown")
        assert views()[0]["uri"] == f"file://{table}"
        line = cli.run("status").stdout.splitlines()[-1]
        assert str(bench.pid) in line and f"file://{table}" in line
    finally:
        bench.kill()
        bench.wait()


def test_a_private_node_is_stopped_by_name_and_shows_its_log(cli, table):
    pid = cli.json("inspect", table)["node_pid"]
    (status,) = cli.json("status")["nodes"]
    assert status["log"] == status["socket"] + ".log" and Path(status["log"]).exists()
    assert status["log"] in cli.run("status").stdout
    wrong = cli.run("node", "stop", pid + 1)
    assert wrong.returncode == 3 and str(pid + 1) in wrong.stderr and is_alive(pid)
    assert cli.json("node", "stop", pid) == {
        "stopped": [{"pid": pid, "socket": status["socket"]}]}
    assert not is_alive(pid) and cli.json("status") == {"nodes": []}
    # The next reader starts the next one, and the log of the first is kept.
    assert cli.json("inspect", table)["node_pid"] != pid
    assert Path(status["log"] + ".1").exists()


def test_stop_ends_the_only_node_or_all_and_never_one_of_several(cli, start, tmp_path):
    nodes = [start(), start("--store", f"ssd:{tmp_path}/b")]
    several = cli.run("node", "stop")
    assert several.returncode == 2 and "--all" in several.stderr
    assert all(is_alive(node.pid) for node in nodes)
    assert {n["pid"] for n in cli.json("node", "stop", "--all")["stopped"]} == {
        node.pid for node in nodes}
    assert [node.wait(timeout=30) for node in nodes] == [0, 0]
    last = start()
    assert f"stopped node {last.pid}" in cli.run("node", "stop").stdout
    assert last.wait(timeout=30) == 0
    none = cli.run("node", "stop")
    assert none.returncode == 0 and none.stdout == "" and "no private node" in none.stderr


def test_asking_does_not_keep_a_node(cli, start):
    node = start("--idle-ms", 300)
    wait_until(lambda: cli.run("status", "-o", "json") and node.poll() is not None,
               "the node is kept by those who ask")
    assert node.wait() == 0


def test_a_reader_waits_for_a_named_node_that_is_being_restarted(cli, start, table):
    socket = cli.runtime / "s"
    cli.env["FOREBAY_NODE"] = str(socket)
    start("--socket", socket, socket=socket).kill()
    waiting = subprocess.Popen([BIN / "forebay", "inspect", table, "-o", "json"], env=cli.env,
                               stdout=subprocess.PIPE, text=True)
    node = start("--socket", socket, socket=socket)
    assert json.loads(waiting.communicate(timeout=60)[0])["node_pid"] == node.pid
    node.kill()
    node.wait()
    late = cli.run("inspect", table, "--timeout", "1s")
    assert late.returncode == 8 and str(socket) in late.stderr


def test_a_hung_node_is_named_and_does_not_hang_status(cli, start):
    node = start()
    os.kill(node.pid, signal.SIGSTOP)
    try:
        done = cli.run("status", "-o", "json")
    finally:
        os.kill(node.pid, signal.SIGCONT)
    assert done.returncode == 9
    assert json.loads(done.stdout) == {"nodes": []}
    assert "the other end did not answer in time" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is somebody else")
def test_node_serves_a_group_and_nobody_beyond_it(cli, start):
    try:
        subprocess.run([BIN / "forebay-node", "--help"], user=65534, cwd="/", check=True,
                       capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("other users cannot run the programs of this checkout")
    group, server, nobody = 54321, 65533, {"user": 65534, "group": 65534}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        table = write_table(place / "events")
        for path in (place, table):
            path.chmod(0o755)
        (place / "node").mkdir()
        os.chown(place / "node", server, server)
        socket = place / "node/s"
        how = ("--socket", socket, "--socket-group", group, "--store", f"ssd:{place}/node/store")
        refused = start(*how, socket=socket)
        assert refused.wait(timeout=30) == 2 and "a user of its own" in refused.stderr.read()
        node = start(*how, socket=socket, user=server, group=server, extra_groups=[group])
        cli.env["FOREBAY_NODE"] = str(socket)
        member = cli.run("inspect", table, **nobody, extra_groups=[group])
        assert member.returncode == 0, member.stderr
        stranger = cli.run("inspect", table, **nobody, extra_groups=[])
        assert stranger.returncode == 4, stranger.stderr
        assert node.poll() is None


@pytest.mark.parametrize("option, value", [("--id", "a/b"), ("--id", "x" * 129),
                                           ("--weight", "inf"), ("--weight", "-1")])
def test_node_refuses_what_no_head_would_take(cli, start, option, value):
    node = start("--head", "127.0.0.1:1", "--flight", "127.0.0.1:0", f"{option}={value}")
    assert node.wait(timeout=30) == 2
    assert value in node.stderr.read()


def test_node_says_that_a_flight_port_is_taken(cli, start):
    with create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        node = start("--flight", address)
        assert node.wait(timeout=30) == 8
        assert node.stderr.read() == f"{address} is taken: another process listens there\n"


def test_node_ends_while_a_reader_waits_for_a_silent_head(cli, start):
    with create_server(("127.0.0.1", 0)) as silent:
        node = start()
        head = f"127.0.0.1:{silent.getsockname()[1]}"
        waiting = subprocess.Popen([BIN / "forebay", "inspect", f"forebay://{head}/events"],
                                   env=cli.env, stderr=subprocess.DEVNULL)
        silent.settimeout(30)
        silent.accept()[0].close()  # the node asks
        node.send_signal(signal.SIGTERM)
        assert node.wait(timeout=15) == 0
        waiting.kill()
        waiting.wait()


@pytest.fixture
def slow_web(table):
    """The URL of a file of the table, behind a proxy that can make its reads hang."""
    port = free_port()
    server = subprocess.Popen([sys.executable, SERVERS / "http_server.py", str(port), table])
    try:
        with FaultProxy(port) as proxy:
            name = sorted(path.name for path in Path(table).glob("*.parquet"))[0]
            yield proxy, f"{proxy.endpoint}/{name}"
    finally:
        server.kill()
        server.wait()


@pytest.mark.parametrize("planned", [True, False])
def test_node_ends_soon_while_its_source_hangs(cli, start, slow_web, planned):
    proxy, url = slow_web
    node = start()
    if planned:
        wait_until(lambda: cli.run("inspect", url).returncode == 0, "no web server")
    proxy.plan("read", "stall", times=1_000_000)
    waiting = subprocess.Popen([BIN / "forebay", "warmup", url], env=cli.env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: proxy.fired() > 0, "nobody reads")
    began = time.monotonic()
    node.send_signal(signal.SIGTERM)
    assert node.wait(timeout=60) == 0
    assert time.monotonic() - began < 3
    waiting.kill()
    waiting.wait()
