"""What goes wrong with Iceberg tables is named, and nothing half-loaded is ever ready."""

import json
import shutil
import sys
from pathlib import Path

import forebay
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "tables"))
from iceberg_writer import IcebergTable  # noqa: E402

ROWS = 1000


@pytest.fixture
def table(tmp_path):
    table = IcebergTable(tmp_path / "table", [("id", "long"), ("x", "double")])
    files = [table.data_file(pa.table({"id": np.arange(i * ROWS, (i + 1) * ROWS),
                                       "x": np.zeros(ROWS)})) for i in range(3)]
    table.commit(data=files)
    table.files = files
    return table


def metadata_path(table):
    return table.folder / "metadata" / f"v{len(table.snapshots)}.metadata.json"


def edit_metadata(table, change):
    path = metadata_path(table)
    metadata = json.loads(path.read_text())
    change(metadata)
    path.write_text(json.dumps(metadata))


def test_a_missing_data_file_is_named(table, store):
    Path(table.files[1].path).unlink()
    with pytest.raises(FileNotFoundError, match=Path(table.files[1].path).name):
        forebay.open(table.folder, store=store)


def test_a_short_data_file_is_named(table, store):
    path = Path(table.files[1].path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(forebay.SourceChanged, match=path.name):
        forebay.open(table.folder, store=store)


def test_a_data_file_with_other_rows_is_named(table, store):
    path = Path(table.files[1].path)
    pq.write_table(pa.table({"id": np.arange(7), "x": np.zeros(7)},
                            schema=table.schema()), path)
    # As large as the table says, so that only the rows differ.
    data = path.read_bytes()
    pad = table.files[1].size - len(data)
    assert pad > 0
    path.write_bytes(data[:4] + bytes(pad) + data[4:])
    with pytest.raises(forebay.CorruptData, match=path.name):
        forebay.open(table.folder, store=store)


def test_a_data_file_overwritten_after_the_open_is_named(table, store):
    dataset = forebay.open(table.folder, store=store)
    path = Path(table.files[2].path)
    data = bytearray(path.read_bytes())
    path.write_bytes(data)
    with pytest.raises((forebay.SourceChanged, forebay.WarmupFailed), match=path.name):
        dataset.warmup()
    assert dataset.coverage().rows_stored < dataset.num_rows


def test_an_unreadable_manifest_list_is_named(table, store):
    path = Path(table.snapshots[-1]["manifest-list"])
    path.write_bytes(b"not avro")
    with pytest.raises(forebay.CorruptData, match=path.name):
        forebay.open(table.folder, store=store)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=path.name):
        forebay.open(table.folder, store=store)


def test_counts_that_differ_are_an_error(table, store):
    def change(metadata):
        metadata["snapshots"][-1]["summary"]["total-records"] = "2999"
    edit_metadata(table, change)
    with pytest.raises(forebay.CorruptData, match="forebay.ignore-summary=true"):
        forebay.open(table.folder, store=store)
    trusting = forebay.open(table.folder, store=store, options={"forebay.ignore-summary": True})
    assert len(trusting) == 3000
    # What one caller trusts is nobody else's version.
    with pytest.raises(forebay.CorruptData, match="total-records"):
        forebay.open(table.folder, store=store)


@pytest.mark.parametrize("arguments, words", [
    ({"snapshot": 17}, "1001"), ({"tag": "gold"}, "gold"), ({"branch": "dev"}, "main"),
    ({"as_of": "2001-01-01T00:00:00Z"}, "2026")])
def test_an_unknown_state_lists_what_there_is(table, store, arguments, words):
    with pytest.raises(FileNotFoundError, match=words):
        forebay.open(table.folder, store=store, **arguments)


def test_two_states_at_once_are_refused(table, store):
    with pytest.raises(ValueError, match="one of"):
        forebay.open(table.folder, store=store, snapshot=1001, tag="gold")


def test_a_state_of_a_plain_folder_is_refused(table, store):
    with pytest.raises(ValueError, match="not an Iceberg table"):
        forebay.open(table.folder / "data", store=store, snapshot=1)


def test_a_newer_format_version_is_refused(table, store):
    edit_metadata(table, lambda m: m.update({"format-version": 4}))
    with pytest.raises(NotImplementedError, match="4"):
        forebay.open(table.folder, store=store)


def test_a_file_that_is_no_metadata_is_refused(table, store):
    metadata_path(table).write_text('{"some": "json"}')
    with pytest.raises((ValueError, forebay.CorruptData), match="metadata"):
        forebay.open(metadata_path(table), store=store)


@pytest.mark.parametrize("text, words", [
    ("nope = 1", "nope"), ("id = 'abc'", "abc"), ("id >", "10|end|expected"),
    ("id = = 1", "=")])
def test_a_wrong_filter_points_at_the_place(table, store, text, words):
    with pytest.raises(ValueError, match=words):
        forebay.open(table.folder, store=store, filter=text)


def test_a_filter_keeps_exactly_the_rows_that_match(table, store):
    dataset = forebay.open(table.folder, store=store, filter="id >= 500 and id < 2100")
    assert dataset.num_rows == 1600
    ids = np.sort(dataset.take(np.arange(1600))["id"])
    assert np.array_equal(ids, np.arange(500, 2100))
    plain = forebay.open(table.folder / "data", store=store, filter="id >= 500 and id < 2100")
    assert plain.num_rows == 1600


def test_metadata_cannot_lead_out_of_the_table(table, store, tmp_path):
    """An s3:// path in a table of local files: another scheme, somebody's bucket."""
    def change(metadata):
        metadata["snapshots"][-1]["manifest-list"] = "s3://other/secret.avro"
    edit_metadata(table, change)
    with pytest.raises(PermissionError, match="s3://other"):
        forebay.open(table.folder, store=store)


def test_encrypted_tables_are_refused(table, store):
    edit_metadata(table, lambda m: m["properties"].update({"encryption.key-id": "k"}))
    with pytest.raises(NotImplementedError, match="ncrypt"):
        forebay.open(table.folder, store=store)


def test_deletes_of_all_kinds_at_once(tmp_path, store):
    table = IcebergTable(tmp_path / "t", [("id", "long"), ("x", "double")], version=3)
    files = [table.data_file(pa.table({"id": np.arange(i * ROWS, (i + 1) * ROWS),
                                       "x": np.zeros(ROWS)})) for i in range(3)]
    table.commit(data=files)
    table.commit(deletes=[table.position_deletes({files[0].path: [0, 999]}),
                          table.equality_deletes(pa.table({"id": [5, 1005, 2005]}))])
    table.commit(deletes=table.deletion_vectors({files[1].path: [1, 2, 3]}))
    # Written after the equality delete, so it lives.
    table.commit(data=[table.data_file(pa.table({"id": [1005], "x": [1.0]}))])
    dataset = forebay.open(table.folder, store=store)
    found = np.sort(dataset.take(np.arange(dataset.num_rows))["id"])
    dead = {0, 999, 5, 1005, 2005, 1001, 1002, 1003}
    expected = sorted([i for i in range(3 * ROWS) if i not in dead] + [1005])
    assert found.tolist() == expected


def test_the_same_snapshot_with_its_data_elsewhere_is_another_version(table, store, tmp_path):
    here = forebay.open(table.folder, store=store)
    shutil.copytree(table.folder / "data", tmp_path / "copy")
    remap = {f"{table.folder}/data/": f"{tmp_path}/copy/"}
    there = forebay.open(table.folder, store=store, remap=remap)
    assert there.version != here.version
    shutil.rmtree(table.folder / "data")
    assert len(there.take(np.arange(3 * ROWS))["id"]) == 3 * ROWS
