"""Order "global" needs all rows in the store: it fills it first, or says that they do not
fit."""

import logging

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
