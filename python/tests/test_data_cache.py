"""Scripts written for Kubeflow's data cache: another import, and the rest as it was."""

import json
import pickle

import pytest

torch = pytest.importorskip("torch")

from forebay.torch import DataCacheDataset, DataLoader, Loader, cursor_of  # noqa: E402


class Words(DataCacheDataset):
    """As such scripts have it: arguments of its own, the seed by position, and a generator."""

    def __init__(self, prefix, seed=0):
        super().__init__(seed)
        self.prefix = prefix
        self.row_count = 0

    def from_arrow_rb_to_tensor(self, chunk):
        self.row_count = self.row_count + chunk.num_rows
        names = chunk.column("name").to_pylist()
        yield {"names": [self.prefix + name for name in names],
               "x": torch.tensor(chunk.column("x").to_pylist())}


class Halves(DataCacheDataset):
    """Makes two things of each batch, and none of those with row 0."""

    def from_arrow_rb_to_tensor(self, chunk):
        x = torch.tensor(chunk.column("x").to_pylist())
        if 0 in x:
            return
        yield {"x": x[:len(x) // 2]}
        yield {"x": x[len(x) // 2:]}


class Returned(DataCacheDataset):
    def from_arrow_rb_to_tensor(self, record_batch):
        return record_batch.num_rows


@pytest.fixture
def table(numbers, monkeypatch):
    monkeypatch.setenv("METADATA_LOC", str(numbers))
    return numbers


def plain(dataset, workers=0):
    return torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers,
                                       multiprocessing_context="fork" if workers else None)


def rows_of(batches):
    return [row for batch in batches for row in batch["x"].tolist()]


def test_a_script_runs_as_it_is(table):
    dataset = Words("> ")
    orders = []
    for epoch in range(2):
        dataset.set_epoch(epoch)
        batches = list(plain(dataset))
        assert batches[0]["names"] == [f"> row {x}" for x in batches[0]["x"].tolist()]
        orders.append(rows_of(batches))
    assert orders[0] != orders[1] and set(map(len, orders)) == {5000 // 128 * 128}
    assert dataset.row_count == 2 * len(orders[0]) and dataset.batch_size == 128


@pytest.mark.parametrize("make", [plain, lambda ds: plain(ds, 2), DataLoader, Loader])
def test_it_goes_on_where_it_was_whatever_reads(table, make):
    whole = rows_of(plain(Words("", seed=3)))
    dataset = Words("", seed=3)
    batches = iter(make(dataset))
    head = [next(batches) for _ in range(7)]
    state = json.loads(json.dumps(cursor_of(head[-1])))
    dataset = Words("", seed=3)
    dataset.load_state_dict(state)
    assert rows_of(head) + rows_of(make(dataset)) == whole


def test_without_a_conversion_batches_are_tensors(table):
    dataset = DataCacheDataset(seed=1, batch_size=500, cache_addr="cache:50051",
                               columns=["x", "y"])
    batches = list(plain(dataset))
    assert sorted(rows_of(batches)) == list(range(5000))
    assert batches[0]["y"].dtype == torch.float32


def test_a_batch_may_become_several_things_and_none_is_lost(table):
    dataset = Halves(batch_size=100)
    with_zero = 1
    whole = list(plain(dataset))
    assert len(whole) == 2 * (50 - with_zero)
    rows = [batch["x"].tolist() for batch in whole]
    for done in (0, 1, 2, 5, 6, len(whole) - 1):
        dataset = Halves(batch_size=100)
        batches = iter(plain(dataset))
        head = [next(batches)["x"].tolist() for _ in range(done)]
        assert head == rows[:done]
        state = dataset.state_dict()
        dataset = Halves(batch_size=100)
        dataset.load_state_dict(state)
        # Between the two halves of a batch, the first comes again.
        assert [b["x"].tolist() for b in plain(dataset)] == rows[done - done % 2:]


@pytest.mark.parametrize("make", [Loader, DataLoader])
def test_loaders_that_count_say_so_when_they_cannot(table, make):
    with pytest.raises(RuntimeError, match="torch's"):
        list(make(Halves(batch_size=100)))


def test_what_is_returned_is_delivered(table):
    assert list(plain(Returned(batch_size=1000))) == [1000] * 5
    assert list(Loader(Returned(batch_size=1000))) == [1000] * 5


def test_it_goes_to_other_processes(table):
    dataset = pickle.loads(pickle.dumps(Words("* ")))
    assert next(iter(plain(dataset)))["names"][0].startswith("* row")


def test_without_a_table_it_says_how_to_name_one(monkeypatch):
    monkeypatch.delenv("METADATA_LOC", raising=False)
    monkeypatch.delenv("FOREBAY_TABLE", raising=False)
    with pytest.raises(ValueError, match="Give uri, or set FOREBAY_TABLE or METADATA_LOC"):
        DataCacheDataset()


def test_a_stateful_data_loader_goes_on_between_two_things_of_a_batch(table):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    def loader():
        return stateful.StatefulDataLoader(Halves(batch_size=100), batch_size=None,
                                           num_workers=2, multiprocessing_context="fork")
    rows = [batch["x"].tolist() for batch in loader()]
    for done in (1, 5, 8):
        first = loader()
        batches = iter(first)
        head = [next(batches)["x"].tolist() for _ in range(done)]
        second = loader()
        second.load_state_dict(first.state_dict())
        rest = [batch["x"].tolist() for batch in second]
        lost = [row for row in rows if row not in head + rest]
        again = [row for row in head if row in rest]
        # Each worker may begin its batch again; nothing is lost.
        assert not lost and len(again) <= 2
