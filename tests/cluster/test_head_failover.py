"""Two heads on one etcd."""

import sys
import time
import urllib.request
from pathlib import Path

import pytest
from heads import Head, Node, Process, wait_until, write_table
from ports import free_port

from forebay.head_leases import HeadLeases

PROXY = Path(__file__).resolve().parents[1] / "servers/fault_proxy.py"


def two_heads(folder, etcd, processes):
    heads = [Head(folder, meta=etcd.meta, name=name) for name in ("one", "two")]
    processes += heads
    wait_until(lambda: any(head.leads() for head in heads), "nobody leads")
    for head in heads:
        head.wait()
    leader, follower = sorted(heads, key=lambda head: not head.leads())
    return leader, follower


def test_one_leads_and_the_other_sends_on(tmp_path, etcd, processes, table):
    leader, follower = two_heads(tmp_path, etcd, processes)
    status, _ = follower.call("GET", "/v1/nodes", follow=False)
    assert status == 307
    status, answer = follower.call("POST", "/v1/datasets",
                                   {"name": "events", "source": str(table)})
    assert status == 200 and answer["rows"] == 3_000
    assert leader.get("/v1/datasets/events")["rows"] == 3_000
    assert b"forebay_head_leads 0" in follower.call("GET", "/metrics", raw=True)[1]


def test_leases_of_one_head_are_kept_by_the_one_that_leads(tmp_path, etcd, processes,
                                                           monkeypatch):
    monkeypatch.setattr("forebay.head_leases._PATIENCE_SECONDS", 20)
    leader, follower = two_heads(tmp_path, etcd, processes)
    leases = HeadLeases(follower.address, epoch="e", rows=100, lease_rows=60,
                        lease_ms=60_000, holder="rank 0")
    first = leases.take()
    assert (first.first, first.count) == (0, 60)
    leader.kill(15)
    # The head that sent us on leads now.
    assert leases.acknowledge(first.fence, 60)
    assert leases.progress() == (100, 60, 0)


@pytest.mark.alone
def test_the_other_leads_within_five_seconds_of_a_death(tmp_path, etcd, processes, table):
    leader, follower = two_heads(tmp_path, etcd, processes)
    version = leader.call("POST", "/v1/datasets",
                          {"name": "events", "source": str(table)})[1]["version"]
    manifest = leader.call("GET", f"/v1/versions/{version}/manifest", raw=True)[1]
    node = Node(leader, "a")
    node.register()
    kept = follower.folder / "manifests" / f"{version}.manifest"
    wait_until(kept.exists, "the follower does not keep manifests at hand")
    # From now on only a kept manifest can tell what the version was.
    write_table(table, files=5)

    leader.kill()
    death = time.monotonic()
    wait_until(follower.leads, "the other does not take over")
    assert time.monotonic() - death <= 5
    assert follower.get("/v1/datasets/events")["version"] == version
    assert follower.call("GET", f"/v1/versions/{version}/manifest", raw=True)[1] == manifest
    node.head = follower
    assert node.state() == "up"
    epoch = node.roster["epoch"]
    assert node.beat() == 404
    assert node.register() == 200 and node.roster["epoch"] > epoch
    # The one that died comes back as a follower.
    leader.start()
    leader.wait()
    assert leader.call("GET", "/v1/nodes", follow=False)[0] == 307


def test_terms_stay_apart_where_answers_of_etcd_are_lost(tmp_path, etcd, processes):
    """Each of two endpoints is a proxy that carries a write out and drops the answer."""
    real = etcd.meta.removeprefix("etcd://127.0.0.1:")
    ports = [free_port(), free_port()]
    for port in ports:
        processes.append(Process([sys.executable, PROXY, port, real], tmp_path / "proxy.log"))

    def ask(port, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return int(answer.read())

    def answers(port):
        try:
            return ask(port, "/__fired") == 0
        except OSError:
            return False
    for port in ports:
        wait_until(lambda port=port: answers(port), "the proxy does not start")
        ask(port, "/__plan?stage=write&kind=reset&path=kv/txn&times=3")
    meta = "etcd://" + ",".join(f"127.0.0.1:{port}" for port in ports)
    heads = [Head(tmp_path, meta=meta, name=name) for name in ("one", "two")]
    processes += heads
    wait_until(lambda: any(head.leads() for head in heads), "nobody leads")
    assert sum(ask(port, "/__fired") for port in ports) >= 2, "no answer was lost"
    for head in heads:
        head.wait()
    assert sum(head.leads() for head in heads) == 1
    terms = [int(line.rsplit(" ", 1)[1]) for head in heads
             for line in head.log.read_text().splitlines() if "this head leads, term" in line]
    assert len(set(terms)) == len(terms), terms


@pytest.mark.alone
def test_a_leader_that_ends_in_order_leaves_no_gap(tmp_path, etcd, processes):
    leader, follower = two_heads(tmp_path, etcd, processes)
    leader.kill(15)
    end = time.monotonic()
    wait_until(follower.leads, "the other does not take over")
    assert time.monotonic() - end < 2


def test_an_etcd_that_is_away_ends_the_lead_until_it_is_back(tmp_path, etcd, processes):
    leader, follower = two_heads(tmp_path, etcd, processes)
    etcd.kill()
    wait_until(lambda: not leader.leads(), "it leads without its lease")
    assert not follower.leads()
    assert leader.call("GET", "/v1/nodes", follow=False)[0] in (307, 503)
    time.sleep(2)  # each asks on, some times a second
    etcd.start()
    wait_until(lambda: leader.leads() or follower.leads(), "nobody leads again")
    for head in (leader, follower):
        assert head.log.read_text().count("does not say who leads") <= 1
