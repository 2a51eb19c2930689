"""What is wrong and what to do, in one sentence."""

import os
import pickle
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay
from forebay import _native, errors


@pytest.fixture
def ds(numbers):
    return forebay.open(numbers)


@pytest.mark.parametrize("arguments, message", [
    ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
    ({"batch_size": -4}, "batch_size must be at least 1, not -4"),
    ({"batch_size": 2.5}, "batch_size must be a whole number, not 2.5"),
    ({}, "give either batch_size"),
    ({"batch_size": 2, "global_batch_size": 2}, "give either batch_size"),
    ({"global_batch_size": 0}, "global_batch_size must be at least 1"),
    ({"batch_size": 2, "rank": 2, "world_size": 2}, "rank must be below world_size: rank=2"),
    ({"batch_size": 2, "rank": -1}, "rank must be at least 0, not -1"),
    ({"batch_size": 2, "world_size": 0}, "world_size must be at least 1"),
    ({"batch_size": 2, "worker": 1}, "worker must be below worker_count"),
    ({"batch_size": 2, "shuffle": "yes"}, "shuffle must be one of 'global', 'window', 'sequential'"),
    ({"batch_size": 2, "shuffle": True}, "shuffle must be one of"),
    ({"batch_size": 2, "format": "pandas"}, "format must be one of"),
    ({"batch_size": 2, "remainder": "some"}, "remainder must be one of"),
    ({"batch_size": 2, "seed": -1}, "seed must be at least 0"),
    ({"batch_size": 2, "epoch": "a"}, "epoch must be a whole number, not 'a'"),
    ({"batch_size": 2, "start_step": -1}, "start_step must be at least 0"),
    ({"batch_size": 2, "columns": ["x", "z"]}, "z"),
    ({"batch_size": 2, "columns": ["x", "x"]}, "x"),
    ({"batch_size": 2, "columns": []}, "no column is asked for"),
    ({"batch_size": 2, "columns": "x"}, r"columns must be a list of names: \['x'\]"),
    ({"batch_size": 2, "columns": [1]}, "columns must be names, not 1"),
    ({"batch_size": 2, "fill_null": {"z": 1}}, "fill_null names column 'z'"),
    ({"batch_size": 2, "fill_null": 1, "format": "arrow"}, "fill_null is for numpy, torch and jax"),
])
def test_wrong_arguments_of_batches(ds, arguments, message):
    with pytest.raises(ValueError, match=message) as raised:
        ds.batches(**arguments)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("rows, message", [
    ([-1], "there is no row -1: rows are numbered from 0 to 4999"),
    ([5000], "there is no row 5000"), ([0.5], "rows must be whole numbers, not float64"),
    ([True], "rows must be whole numbers, not bool"), (["a"], "rows must be whole numbers"),
    (3, "rows must be a list"), ([[1]], "rows must be a list"),
    ([2**70], "rows must be whole numbers")])
def test_wrong_rows_of_take(ds, rows, message):
    with pytest.raises(ValueError, match=message):
        ds.take(rows)
    assert ds.take([0])["x"].tolist() == [0]


def test_wrong_arguments_of_open(numbers):
    with pytest.raises(ValueError, match="timeout must be a positive number"):
        forebay.open(numbers, timeout=0)
    with pytest.raises(ValueError, match="nothing"):
        forebay.open(numbers, columns=["nothing"])
    with pytest.raises(ValueError):
        forebay.open(numbers, store="tape:4GiB")
    with pytest.raises(ValueError, match="'y'"):
        forebay.open(numbers, columns=["x"]).take([1], columns=["y"])


@pytest.mark.parametrize("options, message", [
    ({"s3.region": None}, "option s3.region must be a text or a number, not None"),
    ({"s3.region": b"x"}, "option s3.region must be a text"),
    ({1: "x"}, "options have names, and 1 is none")])
def test_wrong_options_of_open(numbers, options, message):
    with pytest.raises(ValueError, match=message):
        forebay.open(numbers, options=options)


@pytest.mark.parametrize("level, code", [("verbose", 1), ("inof", 1), ("info", 0), ("", 0)])
def test_a_log_level_that_is_none_is_refused(level, code):
    done = subprocess.run([sys.executable, "-c", "import forebay"], capture_output=True,
                          text=True, env={**os.environ, "FOREBAY_LOG": level}, timeout=60)
    assert done.returncode == code
    if code:
        assert f"ValueError: FOREBAY_LOG is '{level}': the levels are debug, info, " in done.stderr


def test_a_path_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        forebay.open(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        forebay.open(tmp_path / "*.parquet")


def test_a_folder_without_tables(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises((FileNotFoundError, ValueError), match="empty"):
        forebay.open(tmp_path / "empty")


def test_a_folder_with_mixed_formats(tmp_path):
    import pyarrow.feather
    folder = tmp_path / "mixed"
    folder.mkdir()
    table = pa.table({"x": [1]})
    pq.write_table(table, folder / "a.parquet")
    pa.feather.write_feather(table, folder / "b.arrow")
    with pytest.raises(ValueError, match="a.parquet.*b.arrow|b.arrow.*a.parquet"):
        forebay.open(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "secret.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    path.chmod(0)
    with pytest.raises(PermissionError, match="secret.parquet"):
        forebay.open(path)


def test_a_file_that_is_no_table(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 this is not it PAR1")
    with pytest.raises((errors.CorruptData, ValueError), match="bad.parquet"):
        forebay.open(tmp_path / "bad.parquet")


def test_a_node_that_is_not_there(numbers, tmp_path):
    with pytest.raises((FileNotFoundError, ConnectionError), match="no.sock"):
        forebay.open(numbers, node=str(tmp_path / "no.sock"), timeout=1)


def test_a_source_that_changed_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": list(range(10))}), path)
    ds = forebay.open(path)
    pickled = pickle.dumps(ds)
    assert pickle.loads(pickled).version == ds.version
    pq.write_table(pa.table({"x": list(range(20))}), path)
    with pytest.raises(forebay.SourceChanged, match="t.parquet"):
        list(ds.batches(10))
    with pytest.raises(forebay.SourceChanged, match="has changed since it was opened"):
        pickle.loads(pickled)
    assert forebay.open(path).num_rows == 20


def test_every_status_has_its_exception():
    expected = {
        "invalid": ValueError, "not found": FileNotFoundError,
        "permission denied": PermissionError, "source changed": forebay.SourceChanged,
        "corrupt": forebay.CorruptData, "no room": forebay.NoRoom,
        "unavailable": ConnectionError, "deadline passed": TimeoutError,
        "not supported": NotImplementedError, "cancelled": forebay.Cancelled,
        "internal error": RuntimeError}
    codes = _native.status_codes()
    assert set(codes) == {"ok", *expected}
    for name, code in codes.items():
        if name == "ok":
            continue
        raised = errors.exception_for(code, "what happened")
        assert type(raised) is expected[name] and str(raised) == "what happened"
        again = pickle.loads(pickle.dumps(raised))
        assert type(again) is type(raised) and str(again) == "what happened"
