"""Ranks that take work instead of having fixed shares: each row is acknowledged once,
whoever dies, stalls or comes back."""

import json
import logging
import os
import pickle
import random
import signal
import time
import traceback
from pathlib import Path

import nodes
import pytest

import forebay

torch = pytest.importorskip("torch")

from forebay.torch import LeasedDataset, Loader  # noqa: E402

NOT_LOCAL = ("nfs", "cifs", "smb", "fuse", "9p", "ceph", "lustre")


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory):
    """One node for all tests here."""
    with nodes.own_node(tmp_path_factory.mktemp("leases")) as spec:
        yield spec


@pytest.fixture(scope="module")
def ds(numbers):
    return forebay.open(numbers)


def leased(ds, folder, batch_size=100, **arguments):
    return LeasedDataset(ds, batch_size, leases=folder / "leases.db",
                         **{"columns": ["x"], "shuffle": "global", "seed": 3, **arguments})


def rows_of(batches):
    return [row for batch in batches for row in batch["x"].tolist()]


def order_of(ds, **order):
    batches = ds.batches(1000, remainder="keep", columns=["x"],
                         **{"shuffle": "global", "seed": 3, **order})
    return [row for batch in batches for row in batch["x"].tolist()]


@pytest.mark.parametrize("shuffle", ["sequential", "window", "global"])
def test_one_rank_sees_the_epoch_in_its_order(ds, tmp_path, shuffle):
    dataset = leased(ds, tmp_path, 64, shuffle=shuffle)
    assert rows_of(dataset) == order_of(ds, shuffle=shuffle)
    assert dataset.progress() == {"rows": 5000, "acknowledged": 5000, "held": 0}
    assert rows_of(dataset) == []  # the record stays
    dataset.set_epoch(1)
    assert rows_of(dataset) == order_of(ds, shuffle=shuffle, epoch=1)


def test_a_data_loader_without_workers_will_do_and_one_with_will_not(ds, tmp_path):
    dataset = leased(ds, tmp_path)
    with pytest.raises(RuntimeError, match="num_workers=0"):
        list(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1))
    with pytest.raises(TypeError, match="LeasedDataset"):
        Loader(dataset)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None)
    assert rows_of(loader) == order_of(ds)


def test_ranks_that_take_turns_share_the_rows(ds, tmp_path):
    ranks = [iter(leased(ds, tmp_path, size)) for size in (100, 30, 7)]
    rows = []
    while len(rows) < 4000:  # then one would wait for the others
        for rank in ranks:
            rows += next(rank)["x"].tolist()
    assert len(set(rows)) == len(rows)
    for rank in ranks:
        rank.close()
    rows += rows_of(leased(ds, tmp_path))
    # Each of the three was closed with a batch in its hands.
    assert sorted(set(rows)) == list(range(5000)) and len(rows) <= 5137


def test_a_batch_is_done_when_the_loop_comes_back_for_the_next(ds, tmp_path):
    dataset = leased(ds, tmp_path)
    batches = iter(dataset)
    for step in range(5):
        next(batches)
        assert dataset.progress()["acknowledged"] == 100 * step
    dataset.acknowledge()
    dataset.acknowledge()
    assert dataset.progress()["acknowledged"] == 500
    next(batches)
    assert dataset.progress()["acknowledged"] == 500


def test_a_loop_that_ends_early_gives_its_rows_back_at_once(ds, tmp_path):
    expected = order_of(ds)
    dataset = leased(ds, tmp_path, lease_seconds=30)
    for step, _ in enumerate(dataset):
        if step == 3:
            break
    began = time.monotonic()
    assert dataset.progress() == {"rows": 5000, "acknowledged": 300, "held": 1300}
    assert rows_of(leased(ds, tmp_path)) == expected[300:]
    assert time.monotonic() - began < 20


def test_who_was_silent_for_too_long_is_refused(ds, tmp_path):
    expected = order_of(ds)
    slow = leased(ds, tmp_path, lease_seconds=0.2)
    batches = iter(slow)
    next(batches)
    next(batches)
    time.sleep(0.3)
    assert rows_of(leased(ds, tmp_path)) == expected[100:]
    with pytest.raises(forebay.LeaseLost, match="positions 100 to 199 of epoch 0.*0.2 seconds"):
        next(batches)
    assert slow.lost_rows == 100 and rows_of(slow) == []


def test_who_was_silent_can_go_on_with_other_rows(ds, tmp_path, caplog):
    slow = leased(ds, tmp_path, lease_seconds=0.2, lost="skip")
    batches = iter(slow)
    next(batches)
    time.sleep(0.3)
    fast = iter(leased(ds, tmp_path, lease_seconds=1000))
    taken = next(fast)["x"].tolist()
    with caplog.at_level(logging.WARNING, "forebay"):
        own = next(batches)["x"].tolist()
    assert "given to another rank" in caplog.text and slow.lost_rows == 100
    assert taken == order_of(ds)[:100] and own == order_of(ds)[1600:1700]


def test_who_comes_back_before_anybody_took_its_rows_is_welcome(ds, tmp_path):
    dataset = leased(ds, tmp_path, lease_seconds=0.1)
    batches = iter(dataset)
    rows = next(batches)["x"].tolist()
    time.sleep(0.2)
    assert rows + rows_of(batches) == order_of(ds)


def test_epochs_orders_and_versions_do_not_mix(ds, tmp_path):
    first = leased(ds, tmp_path)
    rows_of(first)
    for arguments in ({"epoch": 1}, {"seed": 4}, {"shuffle": "sequential"},
                      {"shuffle": "window", "window": 2}):
        assert leased(ds, tmp_path, **arguments).progress()["acknowledged"] == 0
    assert leased(ds, tmp_path, 17).progress()["acknowledged"] == 5000


def test_datasets_can_be_pickled(ds, tmp_path):
    dataset = pickle.loads(pickle.dumps(leased(ds, tmp_path)))
    assert rows_of(dataset) == order_of(ds)


def test_wrong_arguments_are_refused(ds, tmp_path):
    for arguments, words in [({"batch_size": 0}, "batch_size"), ({"lease_rows": 0}, "lease_rows"),
                             ({"lease_seconds": -1}, "lease_seconds must be a positive"),
                             ({"lost": "cry"}, "lost must be one of"),
                             ({"columns": ["nothing"]}, "nothing")]:
        with pytest.raises(ValueError, match=words):
            leased(ds, tmp_path, **arguments)
    with pytest.raises(FileNotFoundError):
        leased(ds, tmp_path / "missing")
    (tmp_path / "leases.db").write_text("this is no database, and it is long enough" * 100)
    with pytest.raises(forebay.CorruptData, match="leases.db"):
        leased(ds, tmp_path)


def test_network_file_systems_are_refused(ds):
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    remote = [fields[1] for fields in mounts if fields[2].startswith(NOT_LOCAL)
              and fields[2] != "fusectl" and os.path.isdir(fields[1])]
    if not remote:
        pytest.skip("there is no network file system here")
    with pytest.raises(NotImplementedError, match="locks between machines cannot be trusted"):
        leased(ds, Path(remote[0]))


LEASE_SECONDS = 0.3
RANKS = 3
DEATHS = 8


def train(ds, folder, record, seed):
    """One rank: acknowledges batches and writes down which, and now and then dies with a
    batch in its hands or is away for longer than its lease."""
    rng = random.Random(seed)
    dataset = leased(ds, folder, rng.choice([20, 50]), lease_rows=200,
                     lease_seconds=LEASE_SECONDS, lost="skip")
    deadly = len(list(folder.glob("*.record"))) <= DEATHS + RANKS
    with open(record, "w", buffering=1) as out:
        for batch in dataset:
            rows = batch["x"].tolist()
            time.sleep(rng.random() * 0.01)
            fate = rng.random()
            if fate < 0.05:
                time.sleep(LEASE_SECONDS * 2)
            elif fate < 0.1 and deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                dataset.acknowledge()
                out.write(json.dumps(["done", rows]) + "\n")
            except forebay.LeaseLost:
                out.write(json.dumps(["refused", rows]) + "\n")


def start(ds, folder, number, seed):
    record = folder / f"{number}.record"
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        train(ds, folder, record, seed + number)
        code = 0
    except BaseException:
        (folder / "error").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def test_each_row_is_acknowledged_once_whoever_dies_or_stalls(ds, tmp_path):
    seed = random.randrange(2**32)
    print("seed", seed)
    living = {start(ds, tmp_path, number, seed) for number in range(RANKS)}
    started, deaths = RANKS, 0
    while living:
        pid, end = os.wait()
        living.discard(pid)
        assert end in (0, signal.SIGKILL), (tmp_path / "error").read_text()
        if end == signal.SIGKILL:
            living.add(start(ds, tmp_path, started, seed))
            started, deaths = started + 1, deaths + 1
    lines = [json.loads(line) for record in tmp_path.glob("*.record")
             for line in record.read_text().splitlines()]
    done = [row for kind, rows in lines if kind == "done" for row in rows]
    assert sorted(done) == list(range(5000))
    assert deaths > 0 and any(kind == "refused" for kind, _ in lines)
    assert leased(ds, tmp_path).progress() == {"rows": 5000, "acknowledged": 5000, "held": 0}
