"""Random histories that PyIceberg writes give the rows that PyIceberg gives, at every step."""

import os
import time
import warnings
from pathlib import Path

import forebay
import lake
import pyarrow as pa
import pytest
from iceberg_history import History

STEPS = 8
SEEDS = range(14)
SEEDS_S3 = range(1000, 1006)


def settle(folder):
    """A local file must be 2 s old before it is read; tests need not wait for that."""
    past = time.time() - 60
    for path in Path(folder).rglob("*"):
        os.utime(path, (past, past))


def plain(kind):
    """A type without what PyIceberg and Forebay choose differently: large offsets, uuids."""
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(plain(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(f.name, plain(f.type)) for f in kind])
    return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)


def rows(table):
    return sorted(map(repr, table.to_pylist()))


def compare(uri, table, how, snapshot=None):
    state = {} if snapshot is None else {"snapshot": snapshot}
    expected = table.scan(snapshot_id=snapshot).to_arrow()
    found = pa.table(forebay.open(uri, **how, **state))
    assert found.column_names == expected.column_names
    assert [plain(t) for t in found.schema.types] == [plain(t) for t in expected.schema.types]
    assert rows(found) == rows(expected)


def compare_filtered(uri, history, how):
    bound = history.random.randrange(history.next_id + 1)
    text = f"id >= {bound}"
    expected = history.table.scan(row_filter=text).to_arrow()
    assert rows(pa.table(forebay.open(uri, filter=text, **how))) == rows(expected)


def run(catalog, seed, uri, how, settled=lambda: None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyIceberg's, about deletes that match nothing
        history = History(catalog, f"db.t{seed}", seed)
        try:
            for _ in range(STEPS):
                history.step()
                settled()
                compare(uri, history.table, how)
            older = history.random.sample(list(history.table.snapshots()),
                                          min(3, len(history.table.snapshots())))
            for snapshot in older:
                compare(uri, history.table, how, snapshot.snapshot_id)
            compare_filtered(uri, history, how)
        except BaseException:
            print(f"seed {seed}:", *history.log, sep="\n  ")
            raise


def run_locally(seed, folder):
    from pyiceberg.catalog.sql import SqlCatalog
    catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db",
                         warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("db")
    run(catalog, seed, f"iceberg+sqlite://{folder}/catalog.db/db.t{seed}", {},
        lambda: settle(folder / "warehouse"))


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    """(catalog, host): tables in a real S3 server, behind a real REST catalog."""
    if lake.s3_program() is None or lake.rest_classes() is None:
        pytest.skip("versitygw or Iceberg's REST catalog is not there: run tools/setup-test")
    from pyiceberg.catalog import load_catalog
    with lake.s3(tmp_path_factory.mktemp("s3")) as options, \
            lake.rest(tmp_path_factory.mktemp("rest"), options,
                      **{"vend-prefix": "s3://lake/"}) as host:
        catalog = load_catalog("rest", type="rest", uri=f"http://{host}")
        catalog.create_namespace("db")
        yield catalog, host


def run_in_s3(seed, rest):
    catalog, host = rest
    run(catalog, seed, f"iceberg+rest://{host}/db.t{seed}", {})


@pytest.mark.parametrize("seed", SEEDS)
def test_histories_on_disk(seed, tmp_path):
    run_locally(seed, tmp_path)


@pytest.mark.parametrize("seed", SEEDS_S3)
def test_histories_in_s3_behind_a_rest_catalog(seed, rest):
    run_in_s3(seed, rest)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", range(100, 300, 20))
def test_many_histories_on_disk(first, tmp_path):
    for seed in range(first, first + 20):
        (tmp_path / str(seed)).mkdir()
        run_locally(seed, tmp_path / str(seed))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("first", range(2000, 2100, 20))
def test_many_histories_in_s3_behind_a_rest_catalog(first, rest):
    for seed in range(first, first + 20):
        run_in_s3(seed, rest)
