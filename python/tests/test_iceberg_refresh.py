"""A new snapshot of a table fetches what is new and nothing else."""

import sys
from pathlib import Path

import forebay
import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "tables"))
from iceberg_writer import IcebergTable  # noqa: E402

ROWS = 40_000
COLUMNS = [("id", "long"), ("x", "double"), ("name", "string")]


def part(i, rows=ROWS):
    ids = np.arange(i * ROWS, i * ROWS + rows)
    return pa.table({"id": ids, "x": np.random.default_rng(i).random(rows),
                     "name": pa.array([f"row {v}" for v in ids])})


@pytest.fixture
def table(tmp_path):
    return IcebergTable(tmp_path / "table", COLUMNS)


@pytest.fixture
def refresh(table, store, node_status):
    """Opens the table as it is now, loads it, and says how many bytes that fetched."""
    def run(**options):
        before = node_status()["source_bytes"] if run.opened else 0
        dataset = forebay.open(table.folder, store=store, **options)
        run.opened.append(dataset)
        dataset.warmup()
        return dataset, node_status()["source_bytes"] - before
    run.opened = []
    return run


def size_of(table, pattern="data/*.parquet"):
    return sum(f.stat().st_size for f in table.folder.glob(pattern))


def metadata_bytes(table):
    return size_of(table, "metadata/*")


def test_an_append_fetches_what_was_appended(table, refresh):
    table.commit(data=[table.data_file(part(i)) for i in range(10)])
    dataset, first = refresh()
    assert first > size_of(table) * 0.95
    table.commit(data=[table.data_file(part(10, ROWS // 10))])
    dataset, second = refresh()
    assert dataset.num_rows == 10 * ROWS + ROWS // 10
    assert second < 0.02 * first + metadata_bytes(table)


def test_a_delete_in_every_file_fetches_the_delete_files_alone(table, refresh):
    data = [table.data_file(part(i)) for i in range(10)]
    table.commit(data=data)
    refresh()
    deletes = [table.position_deletes({file.path: [7]}) for file in data]
    table.commit(deletes=deletes)
    dataset, fetched = refresh()
    assert dataset.num_rows == 10 * ROWS - 10
    ids = np.sort(dataset.take(np.arange(dataset.num_rows))["id"])
    dead = np.arange(10) * ROWS + 7
    assert np.array_equal(ids, np.setdiff1d(np.arange(10 * ROWS), dead))
    # A footer is read with the file's last kilobytes: these files are smaller than that.
    assert fetched <= 2 * sum(d.size for d in deletes) + metadata_bytes(table)


def test_an_added_column_fetches_only_itself(table, refresh):
    table.commit(data=[table.data_file(part(i)) for i in range(5)])
    refresh()
    table.evolve(add=[("y", "long")])
    new = part(5).append_column("y", pa.array(np.arange(ROWS)))
    file = table.data_file(new)
    table.commit(data=[file])
    dataset, fetched = refresh()
    assert dataset.columns == ["id", "x", "name", "y"]
    assert fetched < file.size * 1.1 + metadata_bytes(table)
    rows = dataset.take([0, dataset.num_rows - 1], format="arrow")
    assert pa.table(rows)["y"].to_pylist() == [None, ROWS - 1]


def test_a_renamed_column_fetches_nothing(table, refresh):
    table.commit(data=[table.data_file(part(i)) for i in range(5)])
    refresh()
    table.evolve(rename=[("x", "weight")])
    table.commit()
    dataset, fetched = refresh()
    assert dataset.columns == ["id", "weight", "name"]
    assert fetched <= metadata_bytes(table)


def test_a_dropped_column_fetches_nothing_where_columns_have_chunks_of_their_own(
        table, refresh):
    table.commit(data=[table.data_file(part(i)) for i in range(3)])
    refresh(columns=["id"])
    table.evolve(drop=["name"])
    table.commit()
    dataset, fetched = refresh(columns=["id"])
    assert dataset.num_rows == 3 * ROWS
    assert fetched <= metadata_bytes(table)


def test_rows_keep_their_numbers_as_a_table_grows(table, refresh):
    table.commit(data=[table.data_file(part(i, 100)) for i in range(4)])
    before, _ = refresh()
    first = before.take(np.arange(400))["id"]
    table.commit(data=[table.data_file(part(9, 100))])
    after, _ = refresh()
    assert np.array_equal(after.take(np.arange(400))["id"], first)


def test_an_older_snapshot_stays_readable_and_shares_chunks(table, refresh):
    first = table.commit(data=[table.data_file(part(0))])
    table.commit(data=[table.data_file(part(1))])
    refresh()
    dataset, fetched = refresh(snapshot=first)
    assert dataset.num_rows == ROWS
    assert fetched <= metadata_bytes(table)
