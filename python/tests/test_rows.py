"""Rows to look at: head, sample and ds[i] show what is there, nulls too."""

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay


@pytest.fixture(scope="module")
def table():
    return pa.table({
        "i": pa.array([1, None, 3], pa.int32()), "f": pa.array([None, float("nan"), 2.5]),
        "b": pa.array([True, None, False]), "s": pa.array(["a", None, ""], pa.large_string()),
        "z": pa.array([b"\xff", None, b""]),
        "t": pa.array([0, None, 2], pa.timestamp("us", "Europe/Berlin")),
        "day": pa.array([None, datetime.date(2026, 10, 1), None]),
        "d": pa.array([None, decimal.Decimal("-1.25"), 2], pa.decimal128(9, 2)),
        "v": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int16(), 2)),
        "l": pa.array([[1, None], None, []], pa.list_(pa.int64())),
        "st": pa.array([{"a": 1, "c": "x"}, None, {"a": None, "c": None}],
                       pa.struct([("a", pa.int64()), ("c", pa.string())])),
        "m": pa.array([[("k", 1)], None, [("q", None)]], pa.map_(pa.string(), pa.int64())),
        "n": pa.nulls(3)})


@pytest.fixture
def ds(table, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet")
    return forebay.open(tmp_path / "t.parquet")


def test_a_row_is_a_dict_with_none_for_nulls(ds):
    row = ds[1]
    assert np.isnan(row.pop("f"))
    assert row == {"i": None, "b": None, "s": None, "z": None, "t": None,
                   "day": np.datetime64("2026-10-01"), "d": decimal.Decimal("-1.25"), "v": None,
                   "l": None, "st": None, "m": None, "n": None}
    assert ds[-1] == ds[2]
    assert ds[2]["v"] == [3, None] and ds[2]["l"] == [] and ds[2]["m"] == [("q", None)]
    assert ds[2]["st"] == {"a": None, "c": None}
    assert ds[0]["t"] == np.datetime64(0, "us") and ds[0]["z"] == b"\xff"
    assert type(ds[0]["i"]) is int and type(ds[0]["b"]) is bool and type(ds[2]["f"]) is float


def test_head_shows_the_first_rows_and_no_more_than_there_are(ds):
    assert ds.head(2)["i"] == [1, None]
    assert [row["i"] for row in ds.head()] == [1, None, 3]
    assert len(ds.head(0)) == 0 and ds.head(0)["i"] == []
    assert ds.head(2, columns=["s"]) == [{"s": "a"}, {"s": None}]
    text = repr(ds.head(3, columns=["i", "s", "l"]))
    assert text.splitlines() == ["i     s     l", "1     a     [1, None]", "None  None  None",
                                 "3           []"]


def test_a_slice_is_rows(ds):
    assert [row["i"] for row in ds[1:]] == [None, 3]
    assert ds[::-1]["s"] == ["", None, "a"]
    assert len(ds[3:]) == 0
    assert ds[0:3][1:]["i"] == ds[1:3]["i"] == [None, 3] and ds[0:3][-1] == ds[2]
    with pytest.raises(KeyError, match="there is no column 'q'"):
        ds[0:3]["q"]


def test_a_sample_is_of_different_rows_and_the_same_for_a_seed(numbers):
    ds = forebay.open(numbers)
    x = ds.sample(100, seed=3, columns=["x"])["x"]
    assert len(set(x)) == 100 and max(x) > 2500 > min(x)
    assert ds.sample(100, seed=3, columns=["x"])["x"] == x
    assert ds.sample(100, seed=4, columns=["x"])["x"] != x
    assert sorted(ds.sample(10**6, columns=["x"])["x"]) == list(range(5000))


@pytest.mark.parametrize("row", [3, -4])
def test_a_row_that_is_not_there_is_an_index_error(ds, row):
    with pytest.raises(IndexError, match=f"there is no row {row}: the dataset has 3"):
        ds[row]


@pytest.mark.parametrize("key", ["i", 1.0, True, None])
def test_rows_are_found_by_number_only(ds, key):
    with pytest.raises(TypeError, match="rows are found by their number"):
        ds[key]


def test_a_dataset_is_not_iterated_row_by_row(ds):
    with pytest.raises(TypeError, match="not iterable"):
        iter(ds)


def test_an_empty_table_has_no_rows_to_show(small_tables):
    ds = forebay.open(small_tables[0])
    assert list(ds.head()) == list(ds.sample()) == list(ds[:]) == []
    assert repr(ds.head(columns=["x"])) == "x"
