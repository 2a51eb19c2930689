"""Order "global" needs all rows in the store: it fills it first, or says that they do not
fit. Whatever is read, in whatever order, memory that no tier holds stays within its
budget."""

import contextlib
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nodes import PROGRAMS
from processes import wait_until

import forebay

torch = pytest.importorskip("torch")
from forebay.torch import Dataset, LeasedDataset, Loader, Mixture  # noqa: E402

MIB = 1 << 20


@pytest.fixture(scope="module")
def floats(tmp_path_factory):
    """64 MiB of numbers, in files of 8 MiB."""
    folder = tmp_path_factory.mktemp("floats")
    for i in range(8):
        x = np.arange(i * 65536, (i + 1) * 65536, dtype="f8")
        columns = {f"c{k}": x for k in range(16)}
        pq.write_table(pa.table(columns), folder / f"{i}.parquet", row_group_size=8192)
    return folder


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """32 MiB of text, whose size nobody knows before it is decoded."""
    folder = tmp_path_factory.mktemp("texts")
    text = "a long text " * 80
    for i in range(8):
        table = pa.table({"x": np.arange(4096) + i * 4096, "text": [text] * 4096})
        pq.write_table(table, folder / f"{i}.parquet", row_group_size=512)
    return folder


def rows(batches, column):
    return sorted(value for batch in batches for value in np.asarray(batch[column]).tolist())


def test_a_table_that_does_not_fit_says_by_how_much(floats, tmp_path):
    ds = forebay.open(floats, store=f"ssd:{tmp_path}/store:48MiB")
    with pytest.raises(forebay.NoRoom, match=(
            r'shuffle="global" needs all rows in the store, and file://.*floats0 does not fit: '
            r'it takes about 64\.0 MiB, and the store has 48\.0 MiB; use shuffle="window", a '
            r'store with 16\.0 MiB more')):
        next(iter(ds.batches(100, shuffle="global")))
    assert ds.coverage().chunks_stored == 0  # it is known before anything is read


def test_what_reads_less_or_in_order_needs_less(floats, tmp_path):
    ds = forebay.open(floats, store=f"ssd:{tmp_path}/store:48MiB")
    assert len(rows(ds.batches(1000, shuffle="global", columns=["c1"], remainder="keep"),
                    "c1")) == ds.num_rows
    for shuffle in ("window", "sequential"):
        next(iter(ds.batches(100, shuffle=shuffle)))


def test_who_insists_gets_all_rows(floats, tmp_path):
    ds = forebay.open(floats, store=f"ssd:{tmp_path}/store:48MiB")
    batches = ds.batches(8192, shuffle="global", seed=3, resident=False)
    assert rows(batches, "c3") == list(range(ds.num_rows))


def shared_memory():
    """Of this process: chunks that it maps and that are on no disk."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssShmem:")[1].split()[0]) << 10


def test_who_insists_takes_little_memory(floats, tmp_path, node_status):
    ds = forebay.open(floats, store=f"ssd:{tmp_path}/store:24MiB")
    before, most, seen = shared_memory(), 0, []
    for batch in ds.batches(8192, shuffle="global", seed=3, resident=False):
        most = max(most, shared_memory() - before)
        seen += np.asarray(batch["c3"]).tolist()
    assert sorted(seen) == list(range(ds.num_rows))
    expected = ds.batches(8192, shuffle="global", seed=3, columns=["c3"])  # 4 MiB: fits
    assert seen == [x for batch in expected for x in np.asarray(batch["c3"]).tolist()]
    assert most <= 16 * MIB  # of the 40 MiB that the store has no room for
    status = node_status()
    assert status["borrowed_bytes"] <= status["borrowed_bytes_max"] == 256 * MIB


class NodeSocket(str):
    """The socket of a node, whose process is known."""
    pid: int


@contextlib.contextmanager
def node_with(tmp_path, *options):
    """The socket of a node with these options; it ends with this."""
    socket = tmp_path / "s"
    node = subprocess.Popen([PROGRAMS / "forebay-node", "--socket", socket, *options])
    try:
        wait_until(socket.exists, "the node does not start")
        named = NodeSocket(socket)
        named.pid = node.pid
        yield named
    finally:
        node.terminate()
        node.wait(30)


def node_memory(socket):
    """Chunks that the node holds in memory, and those that it keeps for readers."""
    total = 0
    for fd in Path(f"/proc/{socket.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if os.readlink(fd).startswith("/memfd:"):
                total += fd.stat().st_blocks * 512
    return total


@pytest.mark.parametrize("shuffle", ["global", "window", "sequential"])
def test_text_of_unknown_size_stays_under_the_budget(texts, tmp_path, shuffle):
    with node_with(tmp_path, "--store", "mem:4MiB", "--borrowed-memory", "5MiB") as socket:
        ds = forebay.open(texts, node=socket)
        before, most, seen = shared_memory(), 0, []
        kept = []
        for batch in ds.batches(512, shuffle=shuffle, resident=False, format="arrow"):
            batch = pa.record_batch(batch)
            kept.append(batch)  # its memory is this process's own, not the node's
            most = max(most, shared_memory() - before)
            seen += batch["x"].to_pylist()
        assert sorted(seen) == list(range(ds.num_rows))
        assert most <= (4 + 5) * MIB
        rows_of = {x: str(t) for batch in kept for x, t in zip(
            batch["x"].to_pylist()[:2], batch["text"][:2])}
        assert set(rows_of.values()) <= {"a long text " * 80}


def test_other_ways_to_read_stay_under_the_budget(texts, tmp_path):
    with node_with(tmp_path, "--store", "mem:4MiB", "--borrowed-memory", "5MiB") as socket:
        ds = forebay.open(texts, node=socket)
        rows = np.random.default_rng(1).permutation(ds.num_rows)[:4000]
        assert pa.record_batch(ds.take(rows, format="arrow"))["x"].to_pylist() == rows.tolist()
        mixture = Mixture([ds, forebay.open(texts, node=socket)], 512, weights=[1, 1],
                          shuffle="global", resident=False, columns=["x"])
        assert sum(len(batch["x"]) for batch in mixture) > 2 * ds.num_rows - 2 * 512


# Chunks take up to 16 MiB: more than the tier, and in the second case than the budget.
@pytest.mark.parametrize("budget", [40, 1])
def test_a_table_as_arrow_leaves_nothing_with_the_node(texts, tmp_path, budget):
    options = ("--store", "mem:2MiB", "--borrowed-memory", f"{budget}MiB")
    with node_with(tmp_path, *options) as socket:
        ds = forebay.open(texts, node=socket)
        before, kept = shared_memory(), []
        for batch in pa.RecordBatchReader.from_stream(ds):
            kept.append(batch)
            wait_until(lambda: node_memory(socket) <= 3 * MIB, "the node keeps the chunk")
        assert len(kept) > 1
        assert shared_memory() - before <= 2 * MIB
        assert pa.table(ds)["x"].to_pylist() == list(range(ds.num_rows))
        assert pa.Table.from_batches(kept)["x"].to_pylist() == list(range(ds.num_rows))


def test_a_reader_that_pauses_does_not_keep_others_waiting(texts, tmp_path):
    with node_with(tmp_path, "--store", "mem:2MiB", "--borrowed-memory", "5MiB") as socket:
        ds = forebay.open(texts, node=socket)
        for format in ("numpy", "torch"):
            paused = [iter(forebay.open(texts, node=socket).batches(100, format=format))
                      for _ in range(3)]
            held = [next(batches) for batches in paused]
            assert pa.table(ds)["x"].to_pylist() == list(range(ds.num_rows))
            assert [len(batch["x"]) for batch in held] == [100] * 3


def test_batches_over_many_ranges_stay_under_the_budget(texts, tmp_path):
    with node_with(tmp_path, "--store", "mem:2MiB", "--borrowed-memory", "5MiB") as socket:
        ds = forebay.open(texts, node=socket)
        batches = list(ds.batches(10000, remainder="keep"))
        assert np.concatenate([b["x"] for b in batches]).tolist() == list(range(ds.num_rows))


READER = """
import sys, numpy as np, forebay
ds = forebay.open(sys.argv[1], node=sys.argv[2])
rows = [b["x"] for b in ds.batches(512, shuffle=sys.argv[3], resident=False)]
assert sorted(np.concatenate(rows).tolist()) == list(range(ds.num_rows))
"""


def test_many_readers_at_once_all_come_to_the_end(texts, tmp_path):
    with node_with(tmp_path, "--store", "mem:2MiB", "--borrowed-memory", "5MiB") as socket:
        readers = [subprocess.Popen([sys.executable, "-c", READER, texts, socket, shuffle])
                   for shuffle in ("sequential",) * 4 + ("global",)]
        assert [reader.wait(120) for reader in readers] == [0] * 5


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", place],
                             capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def test_a_store_without_quota_is_as_large_as_its_disk(floats, small_disk, node_status):
    ds = forebay.open(floats, store=f"ssd:{small_disk}/store")
    with pytest.raises(forebay.NoRoom, match=(
            r'it takes about 64\.0 MiB, and the store has (29|30)\.\d MiB; use '
            r'shuffle="window"')):
        next(iter(ds.batches(100, shuffle="global")))
    assert ds.coverage().chunks_stored == 0  # it is known before anything is read
    assert 29 * MIB < node_status()["tiers"][0]["capacity_bytes"] < 31 * MIB
    before = shared_memory()
    seen = rows(ds.batches(8192, shuffle="global", resident=False), "c3")
    assert seen == list(range(ds.num_rows))
    # Files on this disk are shared memory too: its 31 MiB, and little beside them.
    assert shared_memory() - before <= (31 + 16) * MIB


def test_a_warmup_of_a_larger_table_is_no_success(floats):
    ds = forebay.open(floats, store="mem:21MiB")
    states = []
    with pytest.raises(forebay.NoRoom, match=(
            r"the store is smaller than what was loaded: \d+ of \d+ chunks left it again; "
            r"give it at least 64\.\d MiB, or load fewer columns")):
        ds.warmup(progress=states.append)
    assert states[-1].done
    assert 0 < states[-1].evicted < states[-1].chunk_count
    coverage = ds.coverage()
    assert coverage.chunks_stored == coverage.chunk_count - states[-1].evicted
    assert ds.warmup(["c1"]).evicted == 0


def test_a_size_without_a_unit_is_refused(floats):
    with pytest.raises(ValueError, match=r"tier 'mem:4' has no size: 4 what\? write 4GiB"):
        forebay.open(floats, store="mem:4")


def test_a_store_in_a_folder_that_is_not_there_is_refused(floats, tmp_path):
    with pytest.raises(FileNotFoundError, match=(
            r"the store .*/nonexistent/foo cannot be made: .*/nonexistent does not exist; make "
            r"it, or name another directory")):
        forebay.open(floats, store=f"ssd:{tmp_path}/nonexistent/foo:1GiB")
    assert not (tmp_path / "nonexistent").exists()


def test_a_store_of_more_memory_than_there_is_warns(floats):
    with pytest.warns(UserWarning, match=(
            r"the store has a memory tier of 900\.0 TiB, and this machine has .*iB of memory")):
        forebay.open(floats, store="mem:900TiB")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forebay.open(floats, store="mem:32MiB")


def test_the_default_store_has_half_of_what_is_free(floats, tmp_path, monkeypatch, node_status):
    monkeypatch.delenv("FOREBAY_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", f"{tmp_path}/cache")  # made when missing
    forebay.open(floats)
    tier = node_status()["tiers"][0]
    assert tier["path"] == f"{tmp_path}/cache/forebay/store"
    disk = os.statvfs(tmp_path)
    free = disk.f_bavail * disk.f_frsize
    assert 0.4 * free < tier["quota_bytes"] < 0.55 * free


def test_text_that_does_not_fit_is_found_out_while_it_is_loaded(texts, tmp_path):
    ds = forebay.open(texts, store=f"ssd:{tmp_path}/store:16MiB")
    with pytest.raises(forebay.NoRoom, match=(
            r'does not fit: it takes about (2\d|3\d)\.\d MiB, and the store has 16\.0 MiB')):
        next(iter(ds.batches(100, shuffle="global")))


@pytest.mark.parametrize("make", [
    lambda ds, _: Loader(Dataset(ds, 100, shuffle="global")),
    lambda ds, _: Dataset(ds, 100, shuffle="global"),
    lambda ds, _: Mixture([ds], 100, weights=[1], shuffle="global"),
    lambda ds, folder: LeasedDataset(ds, 100, leases=folder / "leases", shuffle="global"),
], ids=["Loader", "Dataset", "Mixture", "LeasedDataset"])
def test_all_that_iterate_say_so(floats, tmp_path, make):
    ds = forebay.open(floats, store=f"ssd:{tmp_path}/store:48MiB")
    with pytest.raises(forebay.NoRoom, match='use shuffle="window"'):
        next(iter(make(ds, tmp_path)))


def test_the_store_is_filled_before_the_first_batch(texts, store, caplog):
    ds = forebay.open(texts, store=store)
    with caplog.at_level(logging.INFO, "forebay"):
        next(iter(ds.batches(10, shuffle="global")))
        assert ds.coverage().rows_stored == ds.num_rows
        said = [r.message for r in caplog.records if "filling the store" in r.message]
        assert said and said[0].endswith("of 32768 rows")
        caplog.clear()
        next(iter(ds.batches(10, shuffle="global", epoch=1)))
        assert not caplog.records  # it is there
