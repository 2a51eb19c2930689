"""Every type, from every format, in every order: the rows that pyarrow reads."""

import datetime
import warnings

import every_type
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import forebay

SHARES = {"full": 0.0, "some nulls": 0.2, "mostly nulls": 0.95, "all nulls": 1.0}


def write(table, path, kind):
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=70)
    elif kind == "orc":
        pa.orc.write_table(table, str(path), stripe_size=1024)
    else:
        pa.feather.write_feather(table, path, compression="uncompressed", chunksize=70)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """(kind, share) → file, all written before the first is opened."""
    base = tmp_path_factory.mktemp("types")
    files = {}
    for kind in ("parquet", "ipc", "orc"):
        for share_name, share in SHARES.items():
            table = every_type.table(share, every_type.ORC if kind == "orc" else None)
            path = base / f"{share_name.replace(' ', '_')}.{kind if kind != 'ipc' else 'arrow'}"
            write(table, path, kind)
            files[kind, share_name] = path
    return files


def expected(path, kind):
    return pa.dataset.dataset(path, format=kind).to_table()


def assert_same(got, wanted):
    assert got.schema.names == wanted.schema.names
    for name in wanted.schema.names:
        assert got.schema.field(name).type == wanted.schema.field(name).type, name
        assert got[name].to_pylist() == wanted[name].to_pylist(), name
    got.validate(full=True)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("kind", ["parquet", "ipc", "orc"])
def test_all_rows_are_those_pyarrow_reads(written, kind, share):
    path = written[kind, share]
    ds = forebay.open(path)
    wanted = expected(path, kind)
    assert_same(pa.table(ds), wanted)
    assert_same(pa.table(ds.batches(64, remainder="keep")), wanted)
    rows = np.random.default_rng(5).permutation(every_type.ROWS)
    assert_same(pa.table(ds.take(rows, format="arrow")), wanted.take(pa.array(rows)))
    shuffled = pa.table(ds.batches(64, shuffle="global", seed=9, remainder="keep"))
    order = ds.batches(every_type.ROWS, shuffle="global", seed=9, columns=["int64"],
                       format="arrow")
    positions = {value: i for i, value in enumerate(wanted["int64"].to_pylist())}
    if len(positions) == every_type.ROWS:
        rows = [positions[v] for b in order for v in pa.record_batch(b)["int64"].to_pylist()]
        assert sorted(rows) == list(range(every_type.ROWS)) != rows
        assert_same(shuffled, wanted.take(pa.array(rows)))


def plain(value):
    """Values as Python compares them, whatever library they came from."""
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    if isinstance(value, np.ndarray):
        return [plain(v) for v in (value if value.dtype.kind in "mM" else value.tolist())]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return value if value.dtype.kind in "mM" else value.item()
    return value


def rows_of(values):
    """A struct's dict of columns as a list of dicts."""
    if isinstance(values, dict):
        columns = {name: rows_of(v) for name, v in values.items()}
        return [dict(zip(columns, row)) for row in zip(*columns.values())]
    return values if isinstance(values, list) else plain(values)


@pytest.mark.parametrize("how", ["take", "sequential", "global"])
def test_numpy_values_are_those_of_pyarrow(written, how):
    path = written["parquet", "full"]
    ds = forebay.open(path)
    wanted = expected(path, "parquet")
    if how == "take":
        got = ds.take(range(every_type.ROWS))
    else:
        got, = ds.batches(every_type.ROWS, shuffle=how)
        if how == "global":
            order, = ds.batches(every_type.ROWS, shuffle=how, columns=["string", "int64"])
            places = {v: i for i, v in enumerate(wanted["int64"].to_pylist())}
            wanted = wanted.take(pa.array([places[v] for v in order["int64"].tolist()]))
    for name in wanted.schema.names:
        kind = wanted.schema.field(name).type
        if pa.types.is_temporal(kind):
            numbers = wanted[name].cast(pa.int32() if kind.bit_width == 32 else pa.int64())
            assert got[name].dtype.kind == ("M" if name[:2] in ("da", "ti") and
                                            not name.startswith("time3") and
                                            not name.startswith("time6") else "m"), name
            assert got[name].view("i8").tolist() == numbers.to_pylist(), name
        elif name == "deep":
            lists = [rows_of({k: plain(v) for k, v in row.items()}) for row in got[name]]
            assert lists == wanted[name].to_pylist()
        elif name == "map":
            assert [[(k, int(v)) for k, v in row] for row in got[name]] \
                == wanted[name].to_pylist()
        else:
            assert rows_of(got[name]) == wanted[name].to_pylist(), name




def test_fixed_width_columns_are_not_copied(numbers):
    ds = forebay.open(numbers)
    first, second = (next(iter(ds.batches(50))) for _ in range(2))
    assert not first["x"].flags.writeable and not first["vector"].flags.writeable
    assert first["x"].ctypes.data == second["x"].ctypes.data
    assert first["vector"].shape == (50, 4) and not first["vector"].flags.owndata
    assert first["y"].dtype == np.float32 and first["flag"].dtype == bool
    gathered = ds.take([7, 3])
    assert gathered["x"].flags.writeable and gathered["vector"].flags.writeable


def test_arrays_outlive_what_they_came_from(numbers):
    ds = forebay.open(numbers)
    kept = [batch["x"] for batch in ds.batches(100)]
    taken = ds.take([1, 2, 3])["x"]
    del ds
    assert np.concatenate(kept).tolist() == list(range(5000)) and taken.tolist() == [1, 2, 3]


def test_decoded_encodings_come_as_plain_types(tmp_path):
    words = pa.array(["a", "b", None, "a"])
    table = pa.table({"dictionary": words.dictionary_encode(),
                      "view": words.cast(pa.string_view()),
                      "runs": pa.RunEndEncodedArray.from_arrays([1, 4], pa.array([5, 6]))})
    pa.feather.write_feather(table, tmp_path / "t.arrow", compression="zstd")
    got = pa.table(forebay.open(tmp_path / "t.arrow"))
    assert got["dictionary"].to_pylist() == got["view"].to_pylist() == ["a", "b", None, "a"]
    assert got["runs"].to_pylist() == [5, 6, 6, 6]


class TestNulls:
    @pytest.fixture(scope="class")
    @classmethod
    def path(cls, tmp_path_factory):
        table = pa.table({
            "i": pa.array([1, None, 3], pa.int32()), "f": pa.array([None, 2.5, None]),
            "b": pa.array([True, None, False]), "s": pa.array(["a", None, "c"]),
            "t": pa.array([0, None, 2], pa.timestamp("us")),
            "d": pa.array([None, 1, 2], pa.decimal128(9, 2)),
            "v": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int16(), 2)),
            "l": pa.array([[1, None], None, []], pa.list_(pa.int64())),
            "st": pa.array([{"a": 1}, None, {"a": None}], pa.struct([("a", pa.int64())])),
            "n": pa.nulls(3), "ok": pa.array([1, 2, 3])})
        path = tmp_path_factory.mktemp("nulls") / "t.parquet"
        pq.write_table(table, path)
        return path

    @pytest.mark.parametrize("column", ["i", "f", "b", "s", "t", "d", "v", "l", "st", "n"])
    @pytest.mark.parametrize("format", ["numpy", "torch"])
    def test_without_a_choice_they_are_an_error_that_names_the_column(self, path, column,
                                                                     format):
        ds = forebay.open(path)
        with pytest.raises(ValueError, match=rf"^column {column} has nulls: .*fill_null"):
            ds.take([0, 1, 2], columns=[column], format=format)
        assert ds.take([0, 1, 2], columns=["ok"], format=format)["ok"].tolist() == [1, 2, 3]

    @pytest.mark.parametrize("format", ["numpy", "torch"])
    def test_one_error_lists_them_all_with_a_dict_to_paste(self, path, format):
        ds = forebay.open(path)
        with pytest.raises(ValueError) as error:
            ds.take([0, 1, 2], format=format)
        text = str(error.value)
        assert text.startswith("columns i, f, b, s, t, d, v, l, st, n have nulls: choose what to "
                               "put there with fill_null={'i': 0, ")
        pasted = eval(text[text.index("fill_null=") + 10:text.rindex(", or read")])
        assert list(pasted) == ["i", "f", "b", "s", "t", "d", "v", "l", "st", "n"]
        got = ds.take([0, 1, 2], fill_null=pasted)
        assert got["i"].tolist() == [1, 0, 3] and np.isnat(got["t"][1])

    def test_the_dict_to_paste_keeps_what_was_chosen(self, path):
        ds = forebay.open(path)
        with pytest.raises(ValueError, match=r"^columns b, s have nulls: .*fill_null=\{'i': 7, "
                                             r"'b': False, 's': \"\"\}"):
            ds.take([0, 1, 2], columns=["i", "b", "s", "ok"], fill_null={"i": 7})

    def test_one_value_that_does_not_fit_all_is_an_error_with_the_dict(self, path):
        with pytest.raises(ValueError, match=r"^fill_null=0 does not fit column s \(string\): .*"
                                             r"fill_null=\{'i': 0, 's': \"\"\}"):
            forebay.open(path).take([0, 1, 2], columns=["i", "s"], fill_null=0)

    def test_fields_of_structs_can_have_values_of_their_own(self, tmp_path):
        kind = pa.struct([("a", pa.int64()), ("s", pa.string()),
                          ("l", pa.list_(pa.struct([("x", pa.float32())])))])
        rows = [{"a": 1, "s": None, "l": [{"x": None}]}, None, {"a": None, "s": "c", "l": []}]
        pq.write_table(pa.table({"st": pa.array(rows, kind)}), tmp_path / "t.parquet")
        ds = forebay.open(tmp_path / "t.parquet")
        with pytest.raises(ValueError) as error:
            ds.take([0, 1, 2])
        assert "fill_null={'st': {'a': 0, 's': \"\", 'l': float(\"nan\")}}" in str(error.value)
        got = ds.take([0, 1, 2], fill_null={"st": {"a": -1, "s": "?", "l": {"x": 0.5}}})["st"]
        assert got["a"].tolist() == [1, -1, -1] and got["s"].tolist() == ["?", "?", "c"]
        assert got["l"][0]["x"].tolist() == [0.5] and got["l"][1]["x"].tolist() == []
        with pytest.raises(ValueError, match="column st has nulls"):
            ds.take([0, 1, 2], fill_null={"st": {"a": -1, "l": 0}})

    def test_each_column_can_have_its_own_value(self, path):
        fill = {"i": -1, "f": float("nan"), "b": True, "s": "none", "t": np.datetime64("NaT"),
                "d": 0, "v": 9, "l": 7, "st": 5, "n": "nothing"}
        got, = forebay.open(path).batches(3, fill_null=fill)
        assert got["i"].tolist() == [1, -1, 3] and got["i"].dtype == np.int32
        assert np.isnan(got["f"]).tolist() == [True, False, True]
        assert got["b"].tolist() == [True, True, False]
        assert got["s"].tolist() == ["a", "none", "c"]
        assert np.isnat(got["t"]).tolist() == [False, True, False]
        assert [str(v) for v in got["d"]] == ["0", "1.00", "2.00"]
        assert got["v"].tolist() == [[1, 2], [9, 9], [3, 9]]
        assert [v.tolist() for v in got["l"]] == [[1, 7], [], []]
        assert got["st"]["a"].tolist() == [1, 5, 5]
        assert got["n"].tolist() == ["nothing"] * 3

    def test_one_value_can_serve_all(self, path):
        got = forebay.open(path).take([1, 0], columns=["i", "ok"], fill_null=0)
        assert got["i"].tolist() == [0, 1]

    def test_none_is_a_choice_for_objects(self, path):
        got = forebay.open(path).take([1, 0], columns=["s"], fill_null={"s": None})
        assert got["s"].tolist() == [None, "a"]

    @pytest.mark.parametrize("column, value", [
        ("i", 2**40), ("i", 0.5), ("i", "x"), ("i", None), ("b", 1), ("s", 0), ("t", "soon"),
        ("f", "x"), ("d", 0.1), ("t", 0.5), ("t", "2026-10-01T00:00:00.0000001"),
        ("t", "9999999-01-01"), ("t", datetime.datetime.now(datetime.timezone.utc)),
        ("i", {"a": 1})])
    def test_a_value_that_does_not_fit_is_an_error(self, path, column, value):
        with pytest.raises(ValueError, match=f"does not fit column {column} "):
            forebay.open(path).take([0, 1, 2], columns=[column], fill_null={column: value})

    def test_a_number_too_large_for_a_float_does_not_become_infinite(self, tmp_path):
        table = pa.table({"h": pa.array([None], pa.float16()), "f": pa.array([None], pa.float32())})
        pa.feather.write_feather(table, tmp_path / "t.arrow")
        ds = forebay.open(tmp_path / "t.arrow")
        for column, value in (("h", 1e5), ("f", 1e39)):
            with pytest.raises(ValueError, match="does not fit"):
                ds.take([0], columns=[column], fill_null={column: value})
        assert np.isinf(ds.take([0], fill_null=float("inf"))["h"]).all()

    def test_a_time_with_a_zone_fills_columns_with_one(self, tmp_path):
        kind = pa.timestamp("s", "Asia/Tokyo")
        pq.write_table(pa.table({"t": pa.array([None], kind)}), tmp_path / "t.parquet")
        berlin = datetime.timezone(datetime.timedelta(hours=2))
        value = datetime.datetime(2026, 10, 1, 2, tzinfo=berlin)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = forebay.open(tmp_path / "t.parquet").take([0], fill_null=value)
        assert got["t"].tolist() == [datetime.datetime(2026, 10, 1)]

    def test_the_source_stays_as_it_is(self, path):
        ds = forebay.open(path)
        next(iter(ds.batches(3, columns=["i"], fill_null=9)))
        assert pa.table(ds)["i"].to_pylist() == [1, None, 3]


def test_torch_tensors(written):
    torch = pytest.importorskip("torch")
    ds = forebay.open(written["parquet", "full"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for shuffle in ("sequential", "global"):
            got, = ds.batches(every_type.ROWS, shuffle=shuffle, format="torch")
            arrays, = ds.batches(every_type.ROWS, shuffle=shuffle)
            for name, array in arrays.items():
                if name in ("struct", "deep", "map"):
                    continue
                if array.dtype.kind in "mM":
                    assert got[name].dtype == torch.int64
                    assert got[name].tolist() == array.view("i8").tolist(), name
                elif array.dtype == object:
                    assert isinstance(got[name], list) and len(got[name]) == len(array)
                    assert plain([getattr(v, "tolist", lambda v=v: v)() for v in got[name]]) \
                        == plain(array), name
                else:
                    assert got[name].tolist() == array.tolist(), name
    assert got["float"].dtype == torch.float32 and got["uint16"].dtype == torch.uint16
    assert got["fixed_list"].shape == (every_type.ROWS, 3)
    assert got["struct"]["a"].dtype == torch.int64 and isinstance(got["struct"]["b"][0], str)


def test_writing_to_a_tensor_changes_nothing_else(numbers):
    pytest.importorskip("torch")
    ds = forebay.open(numbers)
    for batch in ds.batches(100, format="torch"):
        batch["x"].zero_()
        batch["vector"].zero_()
    assert np.concatenate([b["x"] for b in ds.batches(100)]).tolist() == list(range(5000))
