"""Kill -9 of the node under readers: every read right, no errors, no debris.

Readers go over a table in every way there is while the node is killed at random instants
of fill, hand-over and eviction. The store is far smaller than the table, so that chunks
are evicted and filled all the time.
"""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 400_000
FILES = 8
STORES = ["ssd:{dir}/store:12MiB", "mem:{dir}/tmpfs:12MiB", "mem:12MiB"]
SEED = int(os.environ.get("FOREBAY_CHAOS_SEED", str(random.randrange(1 << 30))))
FOREBAY = Path(__file__).parents[2] / "bin" / "forebay"


def value_of(ids):
    return (ids * 2654435761) & 0xFFFFFFFF


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chaos") / "table"
    folder.mkdir()
    for i in range(FILES):
        ids = np.arange(i * ROWS // FILES, (i + 1) * ROWS // FILES, dtype=np.int64)
        columns = {"id": ids, "value": value_of(ids), "wide": np.repeat(ids, 8).reshape(-1, 8)}
        columns["wide"] = pa.FixedSizeListArray.from_arrays(columns["wide"].ravel(), 8)
        columns["text"] = [f"row {n}" for n in ids]
        pq.write_table(pa.table(columns), folder / f"{i}.parquet", row_group_size=10_000)
    return folder


def check(batch):
    ids = batch["id"]
    assert (batch["value"] == value_of(ids)).all(), "values do not belong to their rows"
    assert (batch["wide"] == ids[:, None]).all(), "wide rows do not belong to their rows"
    assert batch["text"][0] == f"row {ids[0]}"
    return ids


def read_forever(uri, store, seed, stop, failures, reads):
    """Checks every batch of sequential and shuffled epochs and of takes."""
    import forebay

    rng = random.Random(seed)
    try:
        while not stop.is_set():
            dataset = forebay.open(uri, store=store)
            assert dataset.num_rows == ROWS
            kind = rng.choice(["sequential", "global", "take"])
            if kind == "take":
                rows = [rng.randrange(ROWS) for _ in range(500)]
                assert (check(dataset.take(rows)) == np.array(rows)).all()
                reads.value += 1
                continue
            seen = []
            epoch = dataset.batches(4096, shuffle=kind, seed=seed, remainder="keep",
                                    resident=False)  # the store is too small on purpose
            for batch in epoch:
                seen.append(check(batch).copy())
                reads.value += 1
                if stop.is_set():
                    return
            everything = np.concatenate(seen)
            assert len(everything) == ROWS
            assert (np.sort(everything) == np.arange(ROWS)).all(), "rows lost or repeated"
            if kind == "sequential":
                assert (everything == np.arange(ROWS)).all(), "rows out of order"
    except BaseException as error:  # noqa: BLE001 - told to the parent
        failures.put(f"{type(error).__name__}: {error}")


def node_pids():
    """The nodes of this test's runtime directory."""
    status = subprocess.run([FOREBAY, "status", "-o", "json"], capture_output=True, text=True)
    if status.returncode != 0:
        return []
    nodes = json.loads(status.stdout)
    nodes = nodes.get("nodes", nodes) if isinstance(nodes, dict) else nodes
    return [node["pid"] for node in nodes]


def end_nodes():
    """In order, and back when they are gone: what they were writing is theirs until then."""
    pids = node_pids()
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/exe").exists() for pid in pids):
        assert time.monotonic() < deadline, "a node does not end"
        time.sleep(0.01)


@pytest.mark.parametrize("tiers", STORES)
@pytest.mark.parametrize("wanted_kills", [8, pytest.param(200, marks=pytest.mark.slow)])
def test_readers_outlive_every_node(table, tmp_path, monkeypatch, tiers, wanted_kills):
    print(f"FOREBAY_CHAOS_SEED={SEED}")
    rng = random.Random(SEED)
    runtime = Path(f"/tmp/fbchaos-{os.getpid()}")
    runtime.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    store = tiers.format(dir=tmp_path)
    context = multiprocessing.get_context("spawn")
    stop, failures = context.Event(), context.Queue()
    reads = [context.Value("q", 0) for _ in range(3)]
    readers = [
        context.Process(target=read_forever, args=(str(table), store, SEED + i, stop, failures, reads[i]))
        for i in range(3)
    ]
    for reader in readers:
        reader.start()
    kills = 0
    deadline = time.monotonic() + 20 + wanted_kills * 2
    while kills < wanted_kills and time.monotonic() < deadline and failures.empty():
        time.sleep(rng.uniform(0.02, 0.4))
        for pid in node_pids():
            try:
                os.kill(pid, signal.SIGKILL)
                kills += 1
            except ProcessLookupError:
                pass
    before = [read.value for read in reads]
    time.sleep(1.5)  # the readers go on without being disturbed
    stop.set()
    for reader in readers:
        reader.join(60)
    alive = [reader.pid for reader in readers if reader.is_alive()]
    for reader in readers:
        reader.kill()
    end_nodes()
    errors = []
    while not failures.empty():
        errors.append(failures.get())
    assert not errors, errors
    assert not alive, "a reader hangs"
    assert kills >= wanted_kills, f"only {kills} kills"
    assert sum(read.value for read in reads) > sum(before), "readers stopped after the kills"
    if "{dir}" in tiers:
        check_directory(store.split(":")[1])


def check_directory(directory):
    """Every chunk checks out and a sweep leaves nothing temporary behind."""
    verify = subprocess.run([FOREBAY, "store", "verify", directory], capture_output=True, text=True)
    assert verify.returncode == 0, verify.stdout + verify.stderr
    subprocess.run([FOREBAY, "store", "gc", directory], check=True, capture_output=True)
    debris = [p for p in (Path(directory) / "tmp").rglob("*") if p.is_file()]
    assert not debris
    quarantined = list((Path(directory) / "quarantine").glob("*"))
    assert not quarantined, quarantined
