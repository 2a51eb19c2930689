"""Readers go on, with the same rows and without long waits, while parts of the cluster die, stall
or start again."""

import os
import random
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from cluster import Cluster, wait_until
from heads import start_etcds
from test_cluster import alone, ids_of, small_node, table, warm_up  # noqa: F401

import forebay

SEED = int(os.environ.get("FOREBAY_CHAOS_SEED", str(random.randrange(1 << 30))))
ORDERS = {"window": {"shuffle": "window", "window": 2}, "global": {"shuffle": "global"}}
KILLS = [3, pytest.param(50, marks=pytest.mark.slow)]


class Reading:
    """Reads epoch after epoch, and remembers when it waited for how long."""

    def __init__(self, dataset, alone, how):
        self._dataset, self._alone, self._how = dataset, alone, how
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.waits, self.epochs, self.failure = [], 0, None
        self.strikes = []  # (when, at whom)

    def _run(self):
        try:
            while not self._stop.is_set():
                self._epoch()
                self.epochs += 1
        except BaseException as error:
            self.failure = (time.monotonic(), error)

    def _epoch(self):
        expected = ids_of(self._alone, seed=1, epoch=self.epochs, **self._how)
        seen = 0
        last = time.monotonic()
        for batch in self._dataset.batches(2000, seed=1, epoch=self.epochs, remainder="keep",
                                           **self._how):
            now = time.monotonic()
            self.waits.append((now, now - last))
            ids = batch["id"]
            assert (ids == expected[seen:seen + len(ids)]).all(), "another sequence"
            seen += len(ids)
            if self._stop.is_set():
                return
            last = time.monotonic()
        assert seen == len(expected)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(120)
        assert not self._thread.is_alive(), f"a batch did not come within 120 s; {self.story()}"

    def story(self):
        """All that is known when a run fails; the logs of the processes come with it."""
        start = self.strikes[0][0] if self.strikes else 0
        strikes = [f"{at - start:.2f} {whom}" for at, whom in self.strikes]
        waits = [f"{wait:.2f} until {at - start:.2f}" for at, wait in self.waits if wait > 0.5]
        failure = self.failure and f"{self.failure[1]!r} at {self.failure[0] - start:.2f}"
        load = os.getloadavg()[0]
        return (f"seed {SEED}, load {load:.1f}, {self.epochs} epochs, {len(self.waits)} batches\n"
                f"strikes at {strikes}\nwaits over 0.5 s: {waits}\nfailure: {failure}")

    def check(self):
        """After each strike the longest wait was short."""
        assert self.failure is None, self.story()
        assert self.epochs > 0 and self.waits and self.strikes, self.story()
        times = [at for at, _ in self.strikes]
        worst = [max((wait for at, wait in self.waits if first <= at < last), default=0)
                 for first, last in zip(times, [*times[1:], float("inf")])]
        print(f"{self.epochs} epochs; longest waits {sorted(worst)[-5:]}")
        assert sorted(worst)[int(len(worst) * 0.99)] <= 5, self.story()


@contextmanager
def reading(table, alone, order, counted=True, **how):
    """The reader's own node holds a tenth of the table, so it asks the others all the time.
    One that is started anew counts from 0."""
    with Cluster(3, store="mem:64MiB", **how) as cluster:
        cluster.create("events", table, replicas=2)
        warm_up(cluster, "events")
        reader = small_node(cluster)
        ds = forebay.open(cluster.uri("events"), node=str(reader.socket))
        with Reading(ds, alone, ORDERS[order]) as going_on:
            yield cluster, going_on
        going_on.check()  # while the cluster lives: when this fails, it prints its logs
        if counted:
            # How much is chance: who has all rows mapped asks no more, and what a killed node
            # held in memory comes from the source.
            assert brought(cluster, reader) > 0, f"the reader asked nobody; {going_on.story()}"


def brought(cluster, node):
    """How much came from other nodes, as this one last told its head."""
    counters = {}

    def told():
        counters.update(cluster.call("GET", f"/v1/nodes/{node.name}")["report"].get("counters", {}))
        return bool(counters)

    # Where a member of etcd has just died, another head may have to lead first.
    wait_until(lambda: cluster.reached("/v1/nodes"), "no head leads")
    cluster.wait_for_nodes()
    wait_until(told, "a node does not report")
    print(counters)
    return counters["peer_chunks_total"] + counters["peer_rows_total"]


def repeat(kills, going_on, choose, strike):
    """strike(rng, victims) as often, with those that choose(rng) names."""
    rng = random.Random(SEED)
    for _ in range(kills):
        time.sleep(rng.uniform(0.2, 1.0))
        victims = choose(rng)
        going_on.strikes.append((time.monotonic(), [str(victim.log) for victim in victims]))
        strike(rng, victims)
    time.sleep(1)


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_nodes_that_die_or_stall(table, alone, how, order, kills):
    with reading(table, alone, order) as (cluster, going_on):
        def strike(rng, victims):
            victim, = victims
            victim.signal(how)
            time.sleep(rng.uniform(0.5, 6.0) if how == signal.SIGSTOP else 0.3)
            if how == signal.SIGSTOP:
                victim.signal(signal.SIGCONT)
            else:
                victim.running.wait()
                victim.start()
        repeat(kills, going_on, lambda rng: [rng.choice(cluster.nodes[:3])], strike)


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("order", ORDERS)
def test_all_nodes_but_one_die(table, alone, order, kills):
    with reading(table, alone, order) as (cluster, going_on):
        def strike(rng, victims):
            for victim in victims:
                victim.kill()
            time.sleep(rng.uniform(0, 2))
            for victim in victims:
                victim.start()
        repeat(kills, going_on, lambda rng: rng.sample(cluster.nodes[:3], 2), strike)


@pytest.mark.parametrize("kills", KILLS)
def test_heads_that_die(table, alone, kills):
    with reading(table, alone, "global") as (cluster, going_on):
        def strike(rng, victims):
            cluster.head.kill()
            time.sleep(rng.uniform(0, 2))
            cluster.head.start()
        repeat(kills, going_on, lambda rng: [cluster.head], strike)


@pytest.mark.parametrize("kills", KILLS)
def test_members_of_etcd_that_die(table, alone, tmp_path, kills):
    members = start_etcds(tmp_path, 3)
    try:
        with reading(table, alone, "global", meta=members[0].meta) as (_, going_on):
            def strike(rng, victims):
                victim, = victims
                victim.kill()
                time.sleep(rng.uniform(0, 2))
                victim.start()
            repeat(kills, going_on, lambda rng: [rng.choice(members)], strike)
    finally:
        for member in members:
            member.end()


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_readers_own_node_dies(table, alone, order, kills):
    with reading(table, alone, order, counted=False) as (cluster, going_on):
        def strike(rng, victims):
            node, = victims
            rng.choice([node.kill, node.stop])()  # stopped in order, its socket goes too
            time.sleep(rng.uniform(0, 1))
            node.start()
        repeat(kills, going_on, lambda rng: [cluster.nodes[3]], strike)
