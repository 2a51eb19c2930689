"""Which rows come, in which order, to whom."""

import itertools
import warnings

import numpy as np
import pyarrow as pa
import pytest

import forebay


def rows_of(batches):
    return [batch["x"].tolist() for batch in batches]


def delivered(ds, **how):
    """All ranks' and workers' batches by (rank, step), without filler."""
    out = {}
    for rank in range(how.get("world_size", 1)):
        for worker in range(how.get("worker_count", 1)):
            mine = ds.batches(**{**how, "rank": rank, "worker": worker}, columns=["x"])
            for i, batch in enumerate(mine):
                step = worker + i * how.get("worker_count", 1)
                mask = batch.get("__mask__", np.ones(len(batch["x"]), bool))
                out[rank, step] = (batch["x"][mask].tolist(), len(mask))
            assert len(mine) == len([k for k in out if k[0] == rank and
                                     k[1] % how.get("worker_count", 1) == worker])
    return out


ROWS = (0, 1, 3, 10, 97)


@pytest.mark.filterwarnings("ignore:there are no batches")
@pytest.mark.parametrize("remainder", ["drop", "pad", "wrap", "keep"])
@pytest.mark.parametrize("shuffle", ["sequential", "global"])
def test_every_row_comes_as_the_remainder_says(small_tables, remainder, shuffle):
    for rows in ROWS:
        ds = forebay.open(small_tables[rows])
        assert ds.num_rows == rows
        order, = rows_of(ds.batches(rows, shuffle=shuffle, seed=4)) if rows else ([],)
        assert sorted(order) == list(range(rows))
        for ranks, workers, size in itertools.product((1, 2, 4), (1, 3), (1, 4, 40)):
            got = delivered(ds, batch_size=size, world_size=ranks, worker_count=workers,
                            remainder=remainder, shuffle=shuffle, seed=4)
            steps = sorted({step for _, step in got})
            # Batches joined over the ranks are the order, cut into pieces of ranks × size.
            joined = [sum((got[r, s][0] for r in range(ranks) if (r, s) in got), [])
                      for s in steps]
            together = ranks * size
            whole, left = divmod(rows, together)
            pieces = [order[i * together:(i + 1) * together] for i in range(whole)]
            if left and remainder != "drop":
                pieces.append(order[whole * together:])
                if remainder == "wrap":
                    cycle = itertools.cycle(order)
                    pieces[-1] = pieces[-1] + list(itertools.islice(cycle, together - left))
            assert joined == pieces, (rows, ranks, workers, size)
            if remainder != "keep":  # the same number of steps, and of rows, on every rank
                assert all(len(v) == 2 and v[1] == size for v in got.values())
                assert len(got) == len(steps) * ranks


def test_the_order_does_not_depend_on_files(numbers, tmp_path):
    import pyarrow.parquet as pq
    one = tmp_path / "one.parquet"
    pq.write_table(pa.table({"x": np.arange(5000)}), one, row_group_size=123)
    how = {"batch_size": 100, "shuffle": "global", "seed": 3, "epoch": 2}
    assert rows_of(forebay.open(one).batches(**how)) \
        == rows_of(forebay.open(numbers).batches(**how))


@pytest.mark.fast
def test_seeds_and_epochs_give_other_orders(numbers):
    ds = forebay.open(numbers)
    orders = {(seed, epoch): tuple(next(iter(ds.batches(5000, shuffle="global", seed=seed,
                                                        epoch=epoch)))["x"].tolist())
              for seed in (0, 1) for epoch in (0, 1)}
    assert len(set(orders.values())) == 4
    again, = ds.batches(5000, shuffle="global", seed=1, epoch=1)
    assert tuple(again["x"].tolist()) == orders[1, 1]


@pytest.mark.parametrize("shuffle", ["sequential", "global"])
def test_starting_at_a_step_gives_the_rest(numbers, shuffle):
    ds = forebay.open(numbers)
    whole = rows_of(ds.batches(64, shuffle=shuffle, seed=1, remainder="keep"))
    for start in (0, 1, 40, len(whole) - 1, len(whole), len(whole) + 5):
        rest = ds.batches(64, shuffle=shuffle, seed=1, remainder="keep", start_step=start)
        assert rows_of(rest) == whole[start:] and len(rest) == len(whole[start:])


def test_batches_can_be_iterated_again_and_side_by_side(numbers):
    batches = forebay.open(numbers).batches(500, shuffle="global")
    assert rows_of(batches) == rows_of(batches)
    for one, other in zip(batches, batches):
        assert np.array_equal(one["x"], other["x"])


def test_a_global_batch_need_not_divide_by_the_ranks(numbers):
    ds = forebay.open(numbers)
    parts = [[len(b["x"]) for b in ds.batches(global_batch_size=10, rank=r, world_size=3)]
             for r in range(3)]
    assert [p[0] for p in parts] == [3, 3, 4] and all(len(p) == 500 for p in parts)


def test_padding_is_masked_in_every_format(small_tables):
    ds = forebay.open(small_tables[10])
    arrays = list(ds.batches(4, remainder="pad"))
    assert arrays[2]["__mask__"].tolist() == [True, True, False, False]
    assert arrays[0]["__mask__"].all() and arrays[2]["name"].tolist() == ["row 8", "row 9", "", ""]
    batch = list(ds.batches(4, remainder="pad", format="arrow"))[2]
    assert batch.filler_rows == 2 and batch.step == 2 and batch.first_position == 8
    assert pa.record_batch(batch)["__mask__"].to_pylist() == [True, True, False, False]
    assert pa.table(ds.batches(4, remainder="pad"))["__mask__"].to_pylist() \
        == [True] * 10 + [False] * 2
    assert "__mask__" not in list(ds.batches(4, remainder="keep"))[2]


def test_dropped_rows_are_counted(numbers):
    ds = forebay.open(numbers)
    assert ds.batches(999).dropped_rows == 5 and ds.batches(1000).dropped_rows == 0
    assert ds.batches(999, remainder="keep").dropped_rows == 0


def test_take_gives_rows_in_the_order_asked_with_repeats(numbers):
    ds = forebay.open(numbers)
    rows = [4999, 0, 7, 7, 2500]
    for asked in (rows, tuple(rows), np.array(rows), np.array(rows, np.uint16), iter_less(rows)):
        got = ds.take(asked)
        assert got["x"].tolist() == rows and got["name"][2] == "row 7"
        assert got["vector"][:, 1].tolist() == [float(r) for r in rows]
    assert ds.take([])["x"].tolist() == []


def iter_less(rows):
    return range(4999, 5000) if not rows else np.asarray(rows, np.int64)


def test_warmup_and_coverage_count_every_row(numbers):
    ds = forebay.open(numbers)
    assert ds.coverage().rows_stored == 0
    seen = []
    state = ds.warmup(progress=lambda s: seen.append((s.rows_done, s.done)))
    assert state.rows_done == state.row_count == 5000 and state.bytes_fetched > 0
    assert seen[-1] == (5000, True) and ds.coverage().rows_stored == 5000
    assert ds.warmup().bytes_fetched == 0


def test_a_progress_function_that_fails_ends_the_warmup(numbers):
    ds = forebay.open(numbers)
    def fail(state):
        raise KeyError("enough")
    with pytest.raises(KeyError, match="enough"):
        ds.warmup(progress=fail)
    with pytest.raises(ValueError, match="this dataset is busy"):
        ds.warmup(progress=lambda state: ds.coverage())
    assert ds.warmup().rows_done == 5000


def test_a_batch_larger_than_the_table_is_a_warning(small_tables):
    ds = forebay.open(small_tables[97])
    with pytest.warns(UserWarning, match="no batches: all 97 rows together do not fill a batch of "
                                         "5000, .*remainder=\"keep\"") as caught:
        batches = ds.batches(5000)
    assert caught[0].filename == __file__
    assert len(batches) == 0 and batches.dropped_rows == 97


@pytest.mark.parametrize("arguments", [
    {"batch_size": 97}, {"batch_size": 5000, "remainder": "keep"},
    {"batch_size": 5000, "remainder": "pad"}, {"batch_size": 60, "start_position": 60},
    {"batch_size": 97, "start_step": 1}, {"batch_size": 97, "worker": 1, "worker_count": 2}])
def test_batches_of_some_rows_are_no_warning(small_tables, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forebay.open(small_tables[97]).batches(**arguments)
        forebay.open(small_tables[0]).batches(10)
