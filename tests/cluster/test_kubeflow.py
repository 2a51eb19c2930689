"""The contract of Kubeflow's data cache, driven by plain pyarrow.flight."""

import gzip
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.flight as flight
import pytest
from cluster import BIN, wait_until
from data_cache import DataCache

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tables"))
from iceberg_writer import IcebergTable  # noqa: E402

ROWS, FILES = 20_011, 6
COLUMNS = [("id", "long"), ("x", "double"), ("name", "string")]


def rows_of(first, last):
    ids = np.arange(first, last)
    return pa.table({"id": ids, "x": ids / 8, "name": [f"row {i}" for i in ids]})


def metadata_of(table):
    """The newest metadata file."""
    return max((table.folder / "metadata").glob("v*.metadata.json"),
               key=lambda path: int(path.name[1:].split(".")[0]))


def make_table(folder, version=2, rows=ROWS, files=FILES):
    """An Iceberg table and its data files."""
    table = IcebergTable(folder, COLUMNS, version=version)
    ends = [rows * i // files for i in range(files + 1)]
    data = [table.data_file(rows_of(*pair), row_group_size=1000)
            for pair in zip(ends, ends[1:])]
    table.commit(data=data)
    return table, data


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return make_table(tmp_path_factory.mktemp("kubeflow") / "table")[0]


@pytest.fixture(scope="module")
def cache(table):
    with DataCache(metadata_of(table)) as cache:
        yield cache.wait_ready()


def all_rows(cache, total):
    """All shares together, sorted; checks that their sizes differ by one at most."""
    shares = [cache.share(index, total) for index in range(total)]
    sizes = {share.num_rows for share in shares}
    assert max(sizes) - min(sizes) <= 1
    return pa.concat_tables(shares).sort_by("id").combine_chunks()


@pytest.mark.parametrize("total", [1, 2, 3, 7, 64, 1000])
def test_every_row_is_in_exactly_one_share(cache, total):
    assert all_rows(cache, total).equals(rows_of(0, ROWS))


def test_the_command_line_starts_head_and_workers_too(table):
    with DataCache(metadata_of(table), by_forebay=True) as cache:
        cache.wait_ready()
        assert all_rows(cache, 3).equals(rows_of(0, ROWS))


def test_shares_beyond_the_rows_are_empty_but_valid(tmp_path):
    table, _ = make_table(tmp_path / "small", rows=100, files=3)
    with DataCache(metadata_of(table)) as cache:
        cache.wait_ready()
        assert all_rows(cache, 105).equals(rows_of(0, 100))
        empty = next(info for i in range(105) if (info := cache.info(i, 105)).total_records == 0)
        assert empty.schema.names == ["id", "x", "name"]
        assert empty.endpoints == [] and empty.total_bytes == 0


@pytest.mark.fast
def test_shares_are_served_by_the_workers_that_hold_them(tmp_path):
    table = IcebergTable(tmp_path / "large", [("id", "long"), ("x", "double")])
    rows, groups = 1_100_000, 12  # each group is a fill unit of its own
    ids = np.arange(rows * groups)
    table.commit(data=[table.data_file(pa.table({"id": ids, "x": ids / 8}), row_group_size=rows,
                                       compression="none", use_dictionary=False)])
    with DataCache(metadata_of(table), FOREBAY_MEMORY="512MiB") as cache:
        cache.wait_ready()
        read = cache.source_bytes()
        seen = set()
        for index in range(5):
            info = cache.info(index, 5)
            places = [place.uri.decode() for part in info.endpoints for place in part.locations]
            assert len(places) == len(info.endpoints) == len(set(places))
            seen |= {int(place.rsplit(":", 1)[1]) for place in places}
            expected = np.sort(cache.share(index, 5)["id"].to_numpy())
            assert (expected == ids[len(ids) * index // 5:len(ids) * (index + 1) // 5]).all()
        assert seen == {worker.port for worker in cache.workers}
        assert cache.source_bytes() == read
        time.sleep(1.1)  # the next heartbeat
        assert all(node["report"]["counters"]["peer_bytes_total"] == 0 for node in cache.nodes())


def test_totals_are_exact_where_rows_have_one_size(tmp_path):
    table = IcebergTable(tmp_path / "narrow", [("id", "long"), ("y", "int")])
    table.commit(data=[table.data_file(pa.table({"id": np.arange(1000), "y": np.arange(1000)}))])
    with DataCache(metadata_of(table)) as cache:
        cache.wait_ready()
        info = cache.info(1, 3)
        assert (info.total_records, info.total_bytes) == (333, 333 * 12)


@pytest.mark.parametrize("path", [["0"], ["0", "1", "2"], ["2", "2"], ["0", "0"], ["-1", "2"],
                                  ["a", "b"], ["", ""]])
def test_wrong_paths_are_named_errors(cache, path):
    with flight.connect(f"grpc://127.0.0.1:{cache.head.port}") as client:
        with pytest.raises(pa.ArrowInvalid, match="index, total"):
            client.get_flight_info(flight.FlightDescriptor.for_path(*path))


def test_a_schema_is_told_without_a_share(cache):
    with flight.connect(f"grpc://127.0.0.1:{cache.head.port}") as client:
        schema = client.get_schema(flight.FlightDescriptor.for_path("0", "9")).schema
    assert schema.names == ["id", "x", "name"]


def check(metadata, expected):
    with DataCache(metadata) as cache:
        cache.wait_ready()
        for total in (1, 3, 64):
            assert all_rows(cache, total).equals(expected)


@pytest.mark.parametrize("version, how", [(2, "position"), (3, "vectors"), (2, "equality")])
def test_deleted_rows_are_in_no_share(tmp_path, version, how):
    table, data = make_table(tmp_path / "table", version)
    ends = [ROWS * i // FILES for i in range(FILES + 1)]
    gone = sorted({*range(0, 500), *range(7_000, 9_000, 3), ROWS - 1})
    if how == "equality":
        deletes = [table.equality_deletes(pa.table({"id": pa.array(gone, pa.int64())}))]
    else:
        by_file = {file.path: [i - first for i in gone if first <= i < last]
                   for file, first, last in zip(data, ends, ends[1:])}
        by_file = {path: rows for path, rows in by_file.items() if rows}
        deletes = (table.deletion_vectors(by_file) if how == "vectors"
                   else [table.position_deletes(by_file)])
    table.commit(deletes=deletes)
    kept = np.setdiff1d(np.arange(ROWS), gone)
    check(metadata_of(table), rows_of(0, ROWS).take(kept))


def test_columns_that_were_added_later_are_null_in_older_rows(tmp_path):
    table, _ = make_table(tmp_path / "table", rows=3000, files=2)
    table.evolve(add=[("later", "int")])
    more = rows_of(3000, 4000).append_column("later", pa.array(range(1000), pa.int32()))
    table.commit(data=[table.data_file(more)])
    later = pa.array([None] * 3000 + list(range(1000)), pa.int32())
    check(metadata_of(table), rows_of(0, 4000).append_column("later", later))


def test_compressed_metadata_is_read(tmp_path, table):
    copy = tmp_path / "table"
    shutil.copytree(table.folder, copy)
    plain = metadata_of(table)
    packed = copy / "metadata" / "v1.gz.metadata.json"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    check(packed, rows_of(0, ROWS))


def test_a_table_of_one_file_is_whole(tmp_path):
    table, _ = make_table(tmp_path / "one", rows=10, files=1)
    check(metadata_of(table), rows_of(0, 10))


def test_an_empty_table_has_empty_shares(tmp_path):
    table = IcebergTable(tmp_path / "none", COLUMNS)
    table.commit()
    with DataCache(metadata_of(table)) as cache:
        cache.wait_ready()
        assert cache.share(0, 3).num_rows == 0


def never_ready(metadata, named, seconds=5, **environment):
    with DataCache(metadata, local=False, **environment) as cache:
        wait_until(lambda: str(named) in cache.head.said(), "the log does not name the file")
        wait_until(lambda: cache.workers[0].ready()[0] != 0, "the worker does not answer")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert cache.head.ready() == (503, "not ready")
            assert cache.workers[0].ready() == (503, "not ready")
            time.sleep(0.1)
        with pytest.raises(flight.FlightUnavailableError, match="not loaded"):
            cache.info(0, 1)
        assert cache.head.running.poll() is None


def test_a_missing_data_file_is_never_ready(tmp_path):
    table, data = make_table(tmp_path / "table")
    os.unlink(data[2].path)
    never_ready(metadata_of(table), Path(data[2].path).name)


def test_a_corrupt_data_file_is_never_ready(tmp_path):
    table, data = make_table(tmp_path / "table")
    path = Path(data[3].path)
    content = bytearray(path.read_bytes())
    for at in range(8, len(content) // 2, 64):
        content[at] ^= 0xFF
    path.write_bytes(content)
    never_ready(metadata_of(table), path.name)


def test_missing_metadata_is_never_ready(tmp_path):
    never_ready(tmp_path / "v7.metadata.json", "v7.metadata.json", 2)


def test_a_table_that_does_not_fit_is_never_ready(tmp_path):
    table = IcebergTable(tmp_path / "big", [("x", "double")])
    rng = np.random.default_rng(1)
    table.commit(data=[table.data_file(pa.table({"x": rng.random(1_000_000)}),
                                       row_group_size=100_000, compression="none")
                       for _ in range(3)])
    never_ready(metadata_of(table), "not ready, trying again", FOREBAY_MEMORY="4MiB")


def test_a_file_that_comes_back_makes_it_ready(tmp_path):
    table, data = make_table(tmp_path / "table")
    os.rename(data[0].path, data[0].path + ".away")
    with DataCache(metadata_of(table)) as cache:
        wait_until(lambda: Path(data[0].path).name in cache.head.said(), "the file is not named")
        assert cache.head.ready() == (503, "not ready")
        os.rename(data[0].path + ".away", data[0].path)
        cache.wait_ready()
        assert all_rows(cache, 3).equals(rows_of(0, ROWS))


def test_it_is_not_ready_before_all_workers_are_there(table):
    with DataCache(metadata_of(table), workers=1, CONNECT_TIMEOUT_SECS="1") as cache:
        wait_until(lambda: "1 of 2 workers" in cache.head.said(), "no word of the missing worker")
        assert cache.head.ready() == (503, "not ready")
        cache.workers.append(cache.worker(2))
        cache.wait_ready()
        assert all_rows(cache, 2).equals(rows_of(0, ROWS))


def test_a_leader_worker_set_of_four(table):
    with DataCache(metadata_of(table), workers=3, local=False) as cache:
        cache.wait_ready()
        for worker in cache.workers:
            wait_until(lambda worker=worker: worker.ready() == (200, "ready"), "a worker is not")
        assert all_rows(cache, 5).equals(rows_of(0, ROWS))


def test_a_worker_whose_node_dies_ends_and_its_rows_are_loaded_anew(table):
    with DataCache(metadata_of(table)) as cache:
        cache.wait_ready()
        worker = cache.workers[0]
        os.kill(worker.children()[0], signal.SIGKILL)
        assert worker.running.wait(20) != 0
        wait_until(lambda: cache.head.ready() == (503, "not ready"), "still ready")
        worker.start()  # as Kubernetes would
        cache.wait_ready()
        before = cache.source_bytes()
        assert all_rows(cache, 4).equals(rows_of(0, ROWS))
        assert cache.source_bytes() == before


def test_a_head_that_is_started_anew_loads_again(table):
    with DataCache(metadata_of(table)) as cache:
        cache.wait_ready()
        cache.head.kill()
        time.sleep(1.1)  # its terms are seconds
        cache.head.start()
        cache.wait_ready()
        assert all_rows(cache, 4).equals(rows_of(0, ROWS))


def test_forebay_head_is_the_same_head(table):
    with DataCache(metadata_of(table), workers=0) as cache:
        cache.head.stop()
        cache.head.command = [BIN / "forebay", "head", "127.0.0.1", str(cache.head.port)]
        cache.head.start()
        wait_until(lambda: cache.head.ready() == (503, "not ready"), "no health port")


def test_on_one_machine_the_health_port_is_the_heads(table):
    with DataCache(metadata_of(table), workers=0) as cache:
        cache.head.stop()
        cache.common["HEALTH_PORT"] = str(cache.head.health_port)
        cache.workers = [cache.worker(i + 1) for i in range(2)]
        for worker in cache.workers:
            wait_until(worker.children, "a worker starts no node")
        cache.head.start()
        cache.wait_ready()


def test_it_ends_in_order_and_leaves_nothing_behind(table):
    with DataCache(metadata_of(table)) as cache:
        cache.wait_ready()
        for container in [*cache.workers, cache.head]:
            container.stop()
            assert container.running.returncode == 0
        assert not list(cache.folder.glob("forebay-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_it_runs_as_uid_1000_without_dev_shm(tmp_path_factory):
    folder = Path("/tmp") / f"fbk-table-{os.getpid()}"
    try:
        table, _ = make_table(folder)
        folder.chmod(0o755)
        with DataCache(metadata_of(table), user=1000) as cache:
            cache.wait_ready()
            assert all_rows(cache, 3).equals(rows_of(0, ROWS))
            pids = [cache.head.running.pid]
            for worker in cache.workers:
                pids += [worker.running.pid, *worker.children()]
            assert len(pids) == 5
            for pid in pids:
                assert Path(f"/proc/{pid}").stat().st_uid == 1000
                assert "/dev/shm" not in Path(f"/proc/{pid}/maps").read_text()
                opened = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
                assert not [name for name in opened if name.startswith("/dev/shm")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
