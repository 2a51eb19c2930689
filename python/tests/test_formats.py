"""What text and lists become, by the caller's choice, in each format."""

import every_type
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import forebay
from forebay import Padded, Ragged, Strings

ROWS = 40
TEXT = ["string", "large_string", "binary", "large_binary", "fixed_binary"]


def numpy_of(value):
    return np.asarray(value)


@pytest.fixture(params=["numpy", "torch", "jax"])
def format(request):
    if request.param != "numpy":
        pytest.importorskip(request.param)
    return request.param


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """Every type without nulls, in groups that batches lie across."""
    path = tmp_path_factory.mktemp("formats") / "typed.parquet"
    table = every_type.table()
    pq.write_table(table, path, row_group_size=70)
    return path, table


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """Lists whose nulls have items under them, as only Arrow files may."""
    values = pa.array(range(10), pa.int32())
    mask = pa.array([False, True, False, False])
    table = pa.table({
        "tokens": pa.ListArray.from_arrays(pa.array([0, 2, 5, 5, 10], pa.int32()), values,
                                           mask=mask),
        "words": pa.ListArray.from_arrays(pa.array([0, 2, 5, 5, 10], pa.int32()),
                                          pa.array([f"w{i}" * i for i in range(10)]), mask=mask),
        "deep": pa.array([[[1, 2], [3]], [], [[]], [[4], [5, 6, 7], []]],
                         pa.list_(pa.list_(pa.int16()))),
        "pairs": pa.array([[("a", 1)], [], [("b", 2), ("c", 3)], []],
                          pa.map_(pa.string(), pa.int64())),
        "twins": pa.array([["a", "bc"], ["", "d"], ["e", ""], ["f", "g"]],
                          pa.list_(pa.string(), 2)),
        "name": pa.array(["x", None, "zz", ""])})
    path = tmp_path_factory.mktemp("lists") / "lists.arrow"
    pa.feather.write_feather(table, path, compression="uncompressed")
    return path


def rows_of(strings):
    """The bytes of each row."""
    offsets = numpy_of(strings.offsets).tolist()
    raw = numpy_of(strings.bytes).tobytes()
    assert offsets[0] == 0 and offsets[-1] == len(raw)
    return [raw[first:last] for first, last in zip(offsets, offsets[1:])]


def as_bytes(values):
    return [value.encode() if isinstance(value, str) else value for value in values]


@pytest.mark.parametrize("shuffle", ["sequential", "global"])
def test_text_as_offsets_and_bytes_is_what_was_written(typed, format, shuffle):
    path, table = typed
    ds = forebay.open(path)
    how = {"batch_size": 64, "shuffle": shuffle, "seed": 5, "columns": ["int32", *TEXT],
           "remainder": "keep"}
    pairs = zip(ds.batches(**how, format=format, strings="offsets"),
                ds.batches(**how, format="arrow"))
    for got, wanted in pairs:
        wanted = pa.record_batch(wanted)
        for name in TEXT:
            assert type(got[name]) is Strings
            assert rows_of(got[name]) == as_bytes(wanted[name].to_pylist()), name
        assert numpy_of(got["int32"]).tolist() == wanted["int32"].to_pylist()


def test_bytes_of_text_stay_after_their_batch_is_gone(typed):
    path, table = typed
    ds = forebay.open(path)
    kept = [batch["string"] for batch in ds.batches(50, columns=["string"], strings="offsets")]
    del ds
    texts = [row for strings in kept for row in rows_of(strings)]
    assert texts == as_bytes(table["string"].to_pylist())
    assert not kept[0].bytes.flags.writeable  # all processes of the host share it


def test_text_that_is_empty_or_absent(lists, small_tables, format):
    how = {"format": format, "strings": "offsets"}
    assert rows_of(forebay.open(small_tables[0]).take([], **how)["name"]) == []
    name = forebay.open(lists).take([3, 3], ["name"], **how)["name"]
    assert rows_of(name) == [b"", b""]


def test_nulls_in_text_are_filled_with_text(lists, format):
    ds = forebay.open(lists)
    how = {"columns": ["name"], "format": format, "strings": "offsets"}
    got = ds.take(range(4), **how, fill_null={"name": "none"})["name"]
    assert rows_of(got) == [b"x", b"none", b"zz", b""]
    with pytest.raises(ValueError, match="column name has nulls: choose"):
        ds.take(range(4), **how)
    with pytest.raises(ValueError, match="choose a text"):
        ds.take(range(4), **how, fill_null={"name": None})


def test_ragged_lists_have_the_items_of_all_rows(lists, format):
    got = forebay.open(lists).take(range(4), ["tokens", "deep"], format, fill_null=0,
                                   lists="ragged")
    tokens, deep = got["tokens"], got["deep"]
    assert type(tokens) is type(deep) is type(deep.values) is Ragged
    assert numpy_of(tokens.offsets).tolist() == [0, 2, 2, 2, 7]
    assert numpy_of(tokens.values).tolist() == [0, 1, 5, 6, 7, 8, 9]
    assert numpy_of(deep.offsets).tolist() == [0, 2, 2, 3, 6]
    assert numpy_of(deep.values.offsets).tolist() == [0, 2, 3, 3, 4, 7, 7]
    assert numpy_of(deep.values.values).tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_padded_lists_are_as_wide_as_the_longest(lists, format):
    got = forebay.open(lists).take(
        range(4), ["tokens", "deep"], format, fill_null=0, lists="padded",
        pad_value={"tokens": -100})
    tokens, deep = got["tokens"], got["deep"]
    assert numpy_of(tokens.lengths).tolist() == [2, 0, 0, 5]
    assert numpy_of(tokens.values).tolist() == [[0, 1, -100, -100, -100], [-100] * 5, [-100] * 5,
                                                [5, 6, 7, 8, 9]]
    assert type(deep) is type(deep.values) is Padded
    assert numpy_of(deep.values.values).shape == (4, 3, 3)
    assert numpy_of(deep.values.values)[3].tolist() == [[4, 0, 0], [5, 6, 7], [0, 0, 0]]
    assert numpy_of(deep.values.lengths).tolist() == [[2, 1, 0], [0, 0, 0], [0, 0, 0], [1, 3, 0]]


def test_a_batch_of_empty_lists_has_no_width(lists):
    got = forebay.open(lists).take([2, 2], ["tokens"], lists="padded")["tokens"]
    assert got.values.shape == (2, 0) and got.lengths.tolist() == [0, 0]


def test_text_in_lists_and_maps(lists, format):
    got = forebay.open(lists).take(range(4), ["words", "pairs", "twins"], format, fill_null="",
                                   lists="ragged", strings="offsets")
    assert rows_of(got["words"].values) == [(f"w{i}" * i).encode() for i in (0, 1, 5, 6, 7, 8, 9)]
    assert numpy_of(got["pairs"].offsets).tolist() == [0, 1, 1, 3, 3]
    assert rows_of(got["pairs"].values["key"]) == [b"a", b"b", b"c"]
    assert numpy_of(got["pairs"].values["value"]).tolist() == [1, 2, 3]
    assert numpy_of(got["twins"].offsets).tolist() == [0, 2, 4, 6, 8]
    assert rows_of(got["twins"].values) == [b"a", b"bc", b"", b"d", b"e", b"", b"f", b"g"]


def test_lists_as_objects_have_text_as_objects(lists):
    got = forebay.open(lists).take([0, 3], ["words"], strings="offsets")["words"]
    assert got[0].tolist() == ["", "w1"] and len(got[1]) == 5


def test_fixed_size_lists_have_two_dimensions(numbers, format):
    for batch in forebay.open(numbers).batches(100, columns=["x", "vector"], format=format,
                                               shuffle="global", lists="padded"):
        vector = numpy_of(batch["vector"])
        assert vector.shape == (100, 4)
        assert (vector == numpy_of(batch["x"])[:, None]).all()


def test_each_column_may_have_a_shape_of_its_own(lists):
    got = forebay.open(lists).take(
        [0, 3], ["tokens", "deep", "words"], lists={"tokens": "padded", "deep": "ragged"})
    assert [type(got[name]) for name in ("tokens", "deep", "words")] \
        == [Padded, Ragged, np.ndarray]


@pytest.mark.parametrize("how, message", [
    ({"strings": "bytes"}, "strings must be one of"),
    ({"lists": {"tokens": "wide"}}, "lists must be one of"),
    ({"lists": {"token": "ragged"}}, "names column 'token', which is not read"),
    ({"pad_value": 1}, "pad_value is for lists=\"padded\""),
    ({"lists": "padded", "pad_value": 2**40}, "does not fit the items of column tokens"),
    ({"lists": "padded", "pad_value": "x"}, "does not fit the items of column tokens"),
    ({"lists": {"words": "padded"}}, "column words has other items"),
    ({"lists": "ragged", "format": "arrow"}, "Arrow batches have their own")])
def test_wrong_choices_say_what_is_wrong(lists, how, message):
    with pytest.raises(ValueError, match=message):
        forebay.open(lists).take([0, 3], ["tokens", "words"], **how)


def test_padding_rows_are_empty_text_and_lists(lists, small_tables):
    last = list(forebay.open(small_tables[3]).batches(2, remainder="pad", strings="offsets"))[1]
    assert rows_of(last["name"]) == [b"row 2", b""]
    last = list(forebay.open(lists).batches(3, remainder="pad", lists="ragged", fill_null=0,
                                            columns=["tokens"]))[1]
    assert last["tokens"].offsets.tolist() == [0, 5, 5, 5]


def test_a_torch_loader_delivers_them_too(lists):
    torch = pytest.importorskip("torch")
    from forebay.torch import DataLoader, Dataset, Loader
    ds = Dataset(lists, 4, columns=["tokens", "name"], fill_null={"name": "", "tokens": 0},
                 strings="offsets", lists="padded")
    for loader in (Loader(ds, transform=lambda batch: batch), Loader(ds), DataLoader(ds),
                   DataLoader(ds, num_workers=1, multiprocessing_context="fork")):
        batch, = loader
        assert batch.position == 4
        assert rows_of(batch["name"]) == [b"x", b"", b"zz", b""]
        assert torch.equal(batch["tokens"].lengths, torch.tensor([2, 0, 0, 5]))
        batch["name"].bytes.add_(1)  # ours to write to


def test_jax_does_not_cut_off_large_numbers(tmp_path):
    jax = pytest.importorskip("jax")
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3], "large": [1, 2**40, 3]}), path)
    ds = forebay.open(path)
    assert ds.take([2, 0], ["x"], "jax")["x"].tolist() == [3, 1]
    with pytest.raises(ValueError, match="column large has values of 64 bits"):
        ds.take([0, 1, 2], format="jax")
    with jax.enable_x64(True):
        assert ds.take([0, 1], format="jax")["large"].tolist() == [1, 2**40]


def test_without_jax_the_format_says_what_is_missing(numbers):
    try:
        import jax  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install jax"):
            forebay.open(numbers).batches(10, format="jax")
