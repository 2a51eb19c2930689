"""Datasets and batches cross to other libraries by the Arrow PyCapsule protocol."""

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import forebay


@pytest.fixture
def ds(numbers):
    return forebay.open(numbers, columns=["x", "name", "flag"])


def test_to_pyarrow(ds):
    assert pa.schema(ds.schema) == pa.schema(ds)
    assert pa.schema(ds.schema).names == ["x", "name", "flag"]
    assert pa.table(ds)["x"].to_pylist() == list(range(5000))
    batch = ds.take([3, 1], format="arrow")
    assert pa.record_batch(batch).to_pydict() == {
        "x": [3, 1], "name": ["row 3", "row 1"], "flag": [True, False]}
    assert pa.schema(batch) == pa.schema(ds.schema) == pa.table(batch).schema
    reader = pa.RecordBatchReader.from_stream(ds.batches(512, remainder="keep"))
    assert [len(b) for b in reader] == [512] * 9 + [392]


def test_to_polars(ds):
    frame = polars.DataFrame(ds)
    assert frame["x"].to_list() == list(range(5000)) and frame["name"][17] == "row 17"
    assert polars.DataFrame(ds.take([9], format="arrow"))["flag"].to_list() == [True]


def test_to_duckdb(ds):
    counted = duckdb.sql("select sum(x), count(*) from ds where flag").fetchall()
    assert counted == [(sum(range(0, 5000, 3)), 1667)]
    batch = ds.take([1, 4999], format="arrow")
    assert duckdb.sql("select max(x), any_value(name) from batch where x > 1").fetchall() \
        == [(4999, "row 4999")]


def test_to_pandas(ds):
    frame = pandas.DataFrame.from_arrow(ds)
    assert frame["x"].sum() == sum(range(5000)) and frame["name"][4999] == "row 4999"
    assert len(pandas.DataFrame.from_arrow(ds.take([1, 2], format="arrow"))) == 2


def test_arrow_data_outlives_the_dataset(ds):
    table = pa.table(ds)
    batch = pa.record_batch(ds.take([5], format="arrow"))
    del ds
    assert table["x"].to_pylist() == list(range(5000)) and batch["x"].to_pylist() == [5]


def test_a_stream_that_is_not_read_to_its_end_is_let_go(ds):
    reader = pa.RecordBatchReader.from_stream(ds.batches(10))
    assert reader.read_next_batch()["x"].to_pylist() == list(range(10))
    del reader
    capsule = ds.__arrow_c_stream__()
    del capsule


def test_the_schema_reads_like_a_schema(ds):
    assert len(ds.schema) == 3 and ds.columns == ds.schema.names == ["x", "name", "flag"]
    assert ds.schema["name"].type == ds.schema[1].type == "string"
    assert repr(ds.schema) == "x: int64\nname: string\nflag: bool"
    assert [field.nullable for field in ds.schema] == [True] * 3
    assert len(ds) == ds.num_rows == 5000
    assert len(ds.version) == 32 and int(ds.version, 16) >= 0
    assert np.array_equal(ds.take([4], columns=["flag", "x"])["x"], [4])
    assert list(ds.take([4], columns=["flag", "x"])) == ["flag", "x"]
