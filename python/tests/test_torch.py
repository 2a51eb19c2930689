"""The torch dataset in a DataLoader, however its workers are started."""

import multiprocessing
import multiprocessing.forkserver
import os
import signal
import warnings

import nodes
import pytest

import forebay

if os.environ.get("CI"):
    import torch
else:
    torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader  # noqa: E402

from forebay.torch import Dataset, LeasedDataset, Mixture  # noqa: E402

ORDER = {"shuffle": "global", "seed": 5, "columns": ["x", "y", "name"]}


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory):
    """One for all tests here: the fork server has the environment it was started in, and
    torch imported, so that its workers start fast."""
    with nodes.own_node(tmp_path_factory.mktemp("torch")) as spec:
        multiprocessing.set_forkserver_preload(["forebay.torch"])
        yield spec
        server = multiprocessing.forkserver._forkserver
        # A forked worker that is still ending keeps the server alive: do not wait for it.
        if server._forkserver_pid is not None:
            os.kill(server._forkserver_pid, signal.SIGTERM)
        server._stop()


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Python's own: a process with threads (torch has some) that forks.
        warnings.filterwarnings("ignore", ".*use of fork\\(\\) may lead to deadlocks.*")
        # torch's own: more workers than cores.
        warnings.filterwarnings("ignore", "This DataLoader will create")
        yield


def rows_of(loader):
    return [batch["x"].tolist() for batch in loader]


@pytest.fixture
def expected(numbers):
    ds = forebay.open(numbers)
    return rows_of(ds.batches(100, **ORDER))


# A spawned worker imports torch anew, which takes seconds: most of those run with the slow.
STARTS = [("fork", n) for n in range(5)] + [("forkserver", n) for n in range(1, 5)] + \
    [("spawn", 1), ("spawn", 2)]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("parent_first", [False, True], ids=["fresh", "parent read first"])
@pytest.mark.parametrize("start, workers", STARTS)
def test_workers_deliver_the_same_rows_in_order(numbers, expected, start, workers,
                                                parent_first):
    dataset = Dataset(numbers, 100, **ORDER)
    if parent_first:
        assert rows_of(DataLoader(dataset, batch_size=None)) == expected
    context = multiprocessing.get_context(start) if workers else None
    loader = DataLoader(dataset, batch_size=None, num_workers=workers,
                        multiprocessing_context=context)
    assert len(loader) == len(dataset) == 50
    assert rows_of(loader) == expected


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("parent_first", [False, True], ids=["fresh", "parent read first"])
@pytest.mark.parametrize("workers", [3, 4])
def test_more_spawned_workers_deliver_the_same_rows(numbers, expected, workers, parent_first):
    test_workers_deliver_the_same_rows_in_order(numbers, expected, "spawn", workers,
                                                parent_first)


def test_workers_that_stay_hear_of_the_next_epoch(numbers):
    ds = forebay.open(numbers)
    dataset = Dataset(ds, 500, shuffle="global", columns=["x"])
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True,
                        multiprocessing_context="fork")
    for epoch in (0, 1, 2):
        dataset.set_epoch(epoch)
        assert rows_of(loader) == rows_of(ds.batches(500, shuffle="global", epoch=epoch))


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("start", [0, 1, 2, 47, 50])
def test_resuming_at_a_step_keeps_the_order(numbers, expected, workers, start):
    dataset = Dataset(numbers, 100, start_step=start, **ORDER)
    loader = DataLoader(dataset, batch_size=None, num_workers=workers,
                        multiprocessing_context="fork" if workers else None)
    assert len(dataset) == 50 - start and rows_of(loader) == expected[start:]
    dataset.set_epoch(0)
    assert len(dataset) == 50


def test_ranks_come_from_arguments_or_the_environment(numbers, monkeypatch):
    ds = forebay.open(numbers)
    given = rows_of(Dataset(ds, 100, rank=1, world_size=2))
    assert given == rows_of(ds.batches(100, rank=1, world_size=2))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert rows_of(Dataset(ds, 100)) == given
    with pytest.raises(ValueError, match="give both rank and world_size, or neither"):
        Dataset(ds, 100, rank=1)


def test_ranks_come_from_torch_distributed(numbers, tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0,
                                         world_size=1)
    try:
        assert len(Dataset(numbers, 100)) == 50
    finally:
        torch.distributed.destroy_process_group()


def test_wrong_arguments_are_an_error_when_the_dataset_is_made(numbers):
    with pytest.raises(ValueError, match="batch_size must be at least 1"):
        Dataset(numbers, 0)
    with pytest.raises(ValueError, match="nothing"):
        Dataset(numbers, 4, columns=["nothing"])


def test_batches_are_tensors_that_may_be_written(numbers):
    for shuffle in ("sequential", "global"):
        for batch in DataLoader(Dataset(numbers, 1000, shuffle=shuffle), batch_size=None):
            assert batch["vector"].shape == (1000, 4) and batch["y"].dtype == torch.float32
            assert batch["flag"].dtype == torch.bool and isinstance(batch["name"], list)
            batch["vector"] += 1
            assert torch.equal(batch["vector"][:, 0], batch["x"].float() + 1)


class TestADataLoaderThatCollates:
    """It would put each batch into a batch of its own."""

    RIGHT = r"write DataLoader\(ds, batch_size=None\)"

    @pytest.mark.parametrize("workers", [0, 2])
    @pytest.mark.parametrize("size", [{}, {"batch_size": 4}])
    def test_is_refused_with_the_right_line(self, numbers, workers, size):
        loader = DataLoader(Dataset(numbers, 100), num_workers=workers, **size)
        with pytest.raises(ValueError, match=self.RIGHT):
            next(iter(loader))

    def test_is_refused_for_leases_and_mixtures(self, numbers, tmp_path):
        leased = LeasedDataset(numbers, 100, leases=tmp_path / "leases.db")
        mixture = Mixture([numbers, numbers], 100, weights=[1, 1])
        for dataset in (leased, mixture):
            with pytest.raises(ValueError, match=self.RIGHT):
                next(iter(DataLoader(dataset)))

    def test_is_fine_with_a_function_that_knows_of_lists(self, numbers):
        loader = DataLoader(Dataset(numbers, 100), batch_size=2, collate_fn=lambda items: items)
        assert [item["x"].shape for item in next(iter(loader))] == [(100,), (100,)]

    def test_is_fine_for_a_dataset_around_ours(self, numbers):
        class RowsOf(torch.utils.data.IterableDataset):
            def __iter__(self):
                for batch in Dataset(numbers, 100):
                    yield from batch["x"]

        batch = next(iter(DataLoader(RowsOf(), batch_size=8)))
        assert batch.tolist() == list(range(8))


class TestABatchLargerThanTheTable:
    def test_is_an_error(self, small_tables):
        with pytest.raises(ValueError, match="no batches: all 97 rows together do not fill a batch "
                                             "of 100, .*remainder=\"keep\""):
            Dataset(small_tables[97], 100)
        with pytest.raises(ValueError, match="do not fill 2 ranks' batches of 49"):
            Dataset(small_tables[97], 49, rank=1, world_size=2)
        with pytest.raises(ValueError, match="do not fill a global batch of 98"):
            Dataset(small_tables[97], global_batch_size=98)
        with pytest.raises(ValueError, match="there are no batches"):
            Mixture([small_tables[97]], 100, weights=[1])

    def test_is_none_where_the_rows_fill_one(self, small_tables):
        assert len(Dataset(small_tables[97], 97)) == 1
        assert len(Dataset(small_tables[97], 100, remainder="keep")) == 1
        assert len(Dataset(small_tables[97], 100, remainder="pad")) == 1
        assert len(Dataset(small_tables[0], 100)) == 0
