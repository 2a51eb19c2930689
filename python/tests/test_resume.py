"""Going on after an interruption: with other ranks, workers and batch sizes, and exactly."""

import copy
import json
import pickle
import random
import time

import nodes
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay

torch = pytest.importorskip("torch")

from torch_jobs import Job, loader_for, rows_of  # noqa: E402

from forebay.torch import Batch, DataLoader, Dataset, Loader, cursor_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("quiet_torch")
ORDER = {"shuffle": "global", "seed": 5, "columns": ["x"]}
READERS = [None, 0, 1, 3]  # native threads, or so many workers
READER_NAMES = ["threads", "0 workers", "1 worker", "3 workers"]


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory):
    """One node for all tests here."""
    with nodes.own_node(tmp_path_factory.mktemp("resume")) as spec:
        yield spec


@pytest.fixture(scope="module")
def ds(numbers):
    return forebay.open(numbers)


def order_of(ds, **order):
    """All rows as an uninterrupted job of one rank sees them."""
    batches = ds.batches(1000, remainder="keep", **{**ORDER, **order})
    return [row for batch in batches for row in batch["x"].tolist()]


def steps_of(loader, count=None):
    """Rows of the next batches, and the loader that gave them, left in the middle."""
    rows = []
    for batch in loader:
        rows.append(rows_of(batch))
        if len(rows) == count:
            break
    return rows


def test_a_state_is_small_json_and_the_same_on_every_rank(ds):
    states = []
    for rank in range(3):
        dataset = Dataset(ds, global_batch_size=100, rank=rank, world_size=3, **ORDER)
        steps_of(Loader(dataset), 7)
        states.append(dataset.state_dict())
    assert states[0] == states[1] == states[2] == json.loads(json.dumps(states[0]))
    assert states[0]["position"] == 700 and len(json.dumps(states[0])) < 500


@pytest.mark.parametrize("after", READERS, ids=READER_NAMES)
@pytest.mark.parametrize("before", READERS, ids=READER_NAMES)
def test_what_was_received_counts_and_not_what_was_prefetched(ds, before, after):
    expected = order_of(ds)
    dataset = Dataset(ds, 100, **ORDER)
    loader = loader_for(dataset, before)
    rows = steps_of(loader, 7)
    state = loader.state_dict()
    assert state == dataset.state_dict() and state["position"] == 700
    resumed = Dataset(ds, 100, **ORDER)
    resumed.load_state_dict(state)
    assert len(resumed) == 43
    assert sum(rows + steps_of(loader_for(resumed, after)), []) == expected


@pytest.mark.parametrize("shuffle", ["sequential", "window", "global"])
def test_several_interruptions_and_other_shapes_leave_the_order_alone(ds, shuffle):
    order = {"shuffle": shuffle, "window": 3 if shuffle == "window" else None}
    expected = order_of(ds, **order)
    rows, state = [], None
    for world, batch, steps in [(2, 37, 5), (5, 100, 3), (1, 11, 9), (3, 64, 4), (8, 40, None)]:
        ranks = [Dataset(ds, global_batch_size=batch * world, remainder="keep", rank=rank,
                         world_size=world, **{**ORDER, **order}) for rank in range(world)]
        if state is not None:
            for dataset in ranks:
                dataset.load_state_dict(state)
        received = [steps_of(Loader(dataset), steps) for dataset in ranks]
        for step in range(max(map(len, received))):
            rows += sum((own[step] for own in received if step < len(own)), [])
        states = [dataset.state_dict() for dataset in ranks]
        assert all(other == states[0] for other in states)
        state = states[0]
    assert rows == expected and state["position"] == 5000


@pytest.mark.parametrize("remainder, position", [("drop", 4900), ("pad", 5000),
                                                 ("wrap", 5000), ("keep", 5000)])
def test_at_the_end_every_rank_says_so(ds, remainder, position):
    for rank in range(3):
        dataset = Dataset(ds, global_batch_size=700, rank=rank, world_size=3,
                          remainder=remainder, **ORDER)
        length = len(dataset)
        assert len(steps_of(Loader(dataset))) == length
        assert dataset.state_dict()["position"] == position
        again = Dataset(ds, global_batch_size=700, rank=rank, world_size=3,
                        remainder=remainder, **ORDER)
        again.load_state_dict(dataset.state_dict())
        assert len(again) == 0 and steps_of(Loader(again)) == []
        again.set_epoch(1)
        assert len(again) == length


def test_the_length_is_what_is_left(ds):
    dataset = Dataset(ds, 100, **ORDER)
    for remainder, left in [("drop", 13), ("pad", 14), ("wrap", 14), ("keep", 14)]:
        other = Dataset(ds, 300, remainder=remainder, **ORDER)
        steps_of(dataset, 10)
        other.load_state_dict(dataset.state_dict())
        assert len(other) == len(steps_of(other)) == left


@pytest.mark.parametrize("remainder, whole", [("drop", 16), ("pad", 17), ("wrap", 17),
                                              ("keep", 17)])
def test_the_length_of_a_loader_is_that_of_the_epoch(ds, remainder, whole):
    """Lightning counts on from where it was, up to the length."""
    dataset = Dataset(ds, 300, remainder=remainder, **ORDER)
    for loader in (Loader(dataset), DataLoader(dataset)):
        assert len(loader) == whole
        for step, _ in enumerate(loader, 1):
            state = loader.state_dict()
            if step == 7:
                break
        loader.load_state_dict(state)
        assert len(loader) == whole and len(steps_of(loader)) == whole - 7
        dataset.load_state_dict(dataset.state_dict())  # at the end
        assert len(loader) == whole and steps_of(loader) == []
        dataset.set_epoch(1)


def test_an_epoch_begins_at_its_first_row_unless_a_state_was_loaded_for_it(ds):
    dataset = Dataset(ds, 100, **ORDER)
    steps_of(dataset, 4)
    state = dataset.state_dict()
    dataset.set_epoch(0)
    assert dataset.position == 0 and len(dataset) == 50
    dataset.load_state_dict(state)
    dataset.set_epoch(0)  # what a loop over the remaining epochs does
    assert dataset.position == 400 and len(dataset) == 46
    steps_of(dataset, 1)
    dataset.set_epoch(0)
    assert dataset.position == 0
    dataset.load_state_dict(state)
    dataset.set_epoch(0, start_step=2)
    assert dataset.position == 200
    dataset.load_state_dict(state)
    dataset.set_epoch(1)
    assert (dataset.epoch, dataset.position) == (1, 0)


def test_iterating_again_without_a_word_begins_anew(ds):
    expected = order_of(ds)
    for workers in READERS:
        dataset = Dataset(ds, 100, **ORDER)
        dataset.set_epoch(0, start_step=45)
        loader = loader_for(dataset, workers)
        assert sum(steps_of(loader), []) == expected[4500:]
        assert sum(steps_of(loader), []) == expected


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_that_stay_go_on_anywhere(ds, workers):
    dataset = Dataset(ds, 500, **ORDER)
    loader = loader_for(dataset, workers, persistent_workers=True)
    state = None
    for epoch in range(3):
        dataset.set_epoch(epoch)
        steps_of(loader, 3)
        state = dataset.state_dict()
        assert (state["epoch"], state["position"]) == (epoch, 1500)
    dataset.load_state_dict(state)
    assert sum(steps_of(loader), []) == order_of(ds, epoch=2)[1500:]


def test_states_of_other_jobs_are_refused(ds, tmp_path):
    state = Dataset(ds, 100, **ORDER).state_dict()
    with pytest.raises(ValueError, match="has seed 5, and this job 6"):
        Dataset(ds, 100, **{**ORDER, "seed": 6}).load_state_dict(state)
    with pytest.raises(ValueError, match="follows the global order, and this job the window"):
        Dataset(ds, 100, shuffle="window", seed=5).load_state_dict(state)
    with pytest.raises(forebay.SourceChanged, match="was saved with version"):
        Dataset(ds, 100, **ORDER).load_state_dict({**state, "dataset": "0" * 32})
    with pytest.raises(NotImplementedError, match="has format 9"):
        Dataset(ds, 100, **ORDER).load_state_dict({**state, "forebay_cursor": 9})
    for nonsense in ({}, {"epoch": 1}, {**state, "position": -1}, {**state, "position": 5001},
                     {**state, "rows": torch.zeros(2)}, 7):
        with pytest.raises(ValueError):
            Dataset(ds, 100, **ORDER).load_state_dict(nonsense)


def test_a_plain_data_loader_has_its_cursors_in_its_batches(ds):
    expected = order_of(ds)
    for workers in (0, 2):
        dataset = Dataset(ds, 100, **ORDER)
        context = "fork" if workers else None
        loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=workers,
                                             multiprocessing_context=context)
        for step, batch in enumerate(loader, 1):
            assert isinstance(batch, Batch) and cursor_of(batch)["position"] == 100 * step
            if step == 6:
                break
        if workers:
            with pytest.raises(RuntimeError, match="does not know what the loop has received"):
                dataset.state_dict()
        else:
            assert dataset.state_dict() == cursor_of(batch)
        dataset.load_state_dict(cursor_of(batch))
        assert sum(steps_of(Loader(dataset)), []) == expected[600:]


def test_a_batch_keeps_its_place(ds):
    batch = next(iter(Dataset(ds, 100, **ORDER)))
    for kept in (copy.copy(batch), batch.copy(), pickle.loads(pickle.dumps(batch)),
                 torch.utils.data.default_convert(batch), copy.deepcopy(batch)):
        assert cursor_of(kept) == cursor_of(batch) and kept["x"].equal(batch["x"])
    with pytest.raises(ValueError, match="made anew from another's items"):
        cursor_of(Batch(batch))
    with pytest.raises(TypeError, match="has no place in an epoch"):
        cursor_of(dict(batch))


def test_batches_that_are_no_dicts_are_counted_too(ds):
    dataset = Dataset(ds, 100, from_arrow=lambda batch: len(batch), **ORDER)
    for workers in READERS:
        dataset.set_epoch(0)
        for received in loader_for(dataset, workers):
            assert received == 100
            if dataset.position == 300:
                break
        assert dataset.state_dict()["position"] == 300


def test_the_data_loader_refuses_what_it_could_not_count(ds):
    dataset = Dataset(ds, 100, **ORDER)
    with pytest.raises(ValueError, match="batch_size is the dataset's"):
        DataLoader(dataset, batch_size=4)
    with pytest.raises(ValueError, match="in_order=False"):
        DataLoader(dataset, num_workers=2, in_order=False)
    with pytest.raises(TypeError, match="is for a forebay.torch.Dataset"):
        DataLoader([1, 2, 3])


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_stateful_data_loader(ds, workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    expected = order_of(ds)
    context = "fork" if workers else None

    def loader(dataset, workers=workers, context=context):
        return stateful(dataset, batch_size=None, num_workers=workers,
                        multiprocessing_context=context)

    for count in (1, 7):
        first = loader(Dataset(ds, 100, **ORDER))
        rows = sum(steps_of(first, count), [])
        state = json.loads(json.dumps(first.state_dict()))
        second = loader(Dataset(ds, 100, **ORDER))
        second.load_state_dict(state)
        assert rows + sum(steps_of(second), []) == expected
        # Any other number of workers, and any other loader.
        dataset = Dataset(ds, 100, **ORDER)
        dataset.load_state_dict(cursor_of(state))
        assert rows + sum(steps_of(loader(dataset, 2, "fork")), []) == expected
        dataset.load_state_dict(cursor_of(state))
        assert rows + sum(steps_of(Loader(dataset)), []) == expected
    if workers == 3:
        other = loader(Dataset(ds, 100, **ORDER), 2)
        other.load_state_dict(state)
        with pytest.raises(RuntimeError, match="saved with 3 workers, and there are 2"):
            steps_of(other)


def test_stateful_data_loader_goes_on_with_the_next_epoch(ds):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    for workers in (0, 2):
        context = "fork" if workers else None
        dataset = Dataset(ds, 500, **ORDER)
        first = stateful(dataset, batch_size=None, num_workers=workers,
                         multiprocessing_context=context)
        assert len(steps_of(first)) == 10
        dataset = Dataset(ds, 500, **ORDER)
        second = stateful(dataset, batch_size=None, num_workers=workers,
                          multiprocessing_context=context)
        second.load_state_dict(first.state_dict())
        dataset.set_epoch(1)
        assert sum(steps_of(second), []) == order_of(ds, epoch=1)


@pytest.mark.alone
def test_a_billion_rows_resume_in_less_than_a_second(tmp_path, node_status):
    """1e9 rows as 100 files of 10 million, which are small because all rows are equal."""
    column = pa.array(np.zeros(10_000_000, np.int8))
    pq.write_table(pa.table({"x": column}), tmp_path / "0.parquet", row_group_size=5_000_000)
    for i in range(1, 100):
        (tmp_path / f"{i}.parquet").write_bytes((tmp_path / "0.parquet").read_bytes())
    table = forebay.open(tmp_path)
    assert len(table) == 10**9
    for shuffle in ("sequential", "window", "global"):
        dataset = Dataset(table, 1000, shuffle=shuffle, seed=1)
        state = {**dataset.state_dict(), "epoch": 3, "position": 999_000_000}
        before = _work(node_status())
        began = time.monotonic()
        dataset.load_state_dict(state)
        assert len(dataset) == 1000 and time.monotonic() - began < 1
        assert _work(node_status()) == before  # nothing was read for it
        if shuffle == "sequential":
            began = time.monotonic()
            assert cursor_of(next(iter(Loader(dataset))))["position"] == 999_001_000
            assert time.monotonic() - began < 10


def _work(status):
    return {name: status[name] for name in ("hits", "misses", "fills", "source_bytes")}


@pytest.mark.parametrize("seed", range(12))
def test_ranks_workers_and_remainders_deliver_each_row_as_they_say(small_tables, seed):
    """Random shapes; what a worker gives is what its dataset gives in a worker."""
    draw = random.Random(seed)
    for _ in range(25):
        rows = draw.choice(list(small_tables))
        world, workers = draw.randint(1, 6), draw.randint(1, 4)
        batch = draw.randint(1, 40)
        start = draw.randint(0, rows)
        remainder = draw.choice(["drop", "pad", "wrap", "keep"])
        shape = f"seed={seed} {rows=} {world=} {workers=} {batch=} {start=} {remainder=}"
        received = _received(small_tables[rows], start, world, workers, batch, remainder)
        _check_shares(received, rows - start, world * batch, remainder, shape)


_opened = {}


def _received(folder, start, world, workers, batch, remainder):
    """The rows that are no filler, of each step of each rank."""
    table = _opened.setdefault(folder, None) or forebay.open(folder)
    _opened[folder] = table
    out = []
    for rank in range(world):
        own = [iter(table.batches(batch, rank=rank, world_size=world, worker=worker,
                                  worker_count=workers, start_position=start,
                                  remainder=remainder, **ORDER))
               for worker in range(workers)]
        steps = []
        while (next_batch := next(own[len(steps) % workers], None)) is not None:
            steps.append(_unmasked(next_batch))
        assert all(next(rest, None) is None for rest in own)
        out.append(steps)
    return out


def _unmasked(batch):
    x = batch["x"]
    return (x[batch["__mask__"]] if "__mask__" in batch else x).tolist()


def _check_shares(received, left, step_rows, remainder, shape):
    counts = [len(steps) for steps in received]
    full, rest = divmod(left, step_rows)
    wanted = full + (1 if rest and remainder != "drop" else 0)
    low = wanted - 1 if remainder == "keep" and rest else wanted
    assert all(low <= count <= wanted for count in counts), (shape, counts)
    assert remainder == "keep" or len(set(counts)) == 1, (shape, counts)
    rows = sorted(row for steps in received for step in steps for row in step)
    if remainder == "wrap":
        assert len(rows) == wanted * step_rows and len(set(rows)) >= left, shape
    else:
        assert len(set(rows)) == len(rows), shape
        assert len(rows) == (full * step_rows if remainder == "drop" else left), shape


def _killed_and_resumed(folder, numbers, ds, seed):
    """A job that is killed again and again, and goes on in another shape each time, has
    consumed what an uninterrupted one does."""
    draw = random.Random(seed)
    order = {"shuffle": draw.choice(["global", "window", "sequential"]), "seed": seed}
    job = Job(folder, numbers, remainder="keep", columns=["x"], **order)
    kills = 0
    finished = False
    while not finished:
        world = draw.choice([1, 2, 3, 5, 8])
        workers = draw.choice([None, 0, 1, 2, 3, 4] if world < 5 else [None, 0, 1])
        batch = draw.choice([world * 15, 100, 133])
        kill_at = None
        if kills < 4:
            kill = draw.randint(1, 7)
            kill_at = [kill + draw.randint(0, 2) for _ in range(world)]
        finished = job.run(world, workers, kill_at, global_batch_size=batch)
        kills += not finished
    assert job.rows == order_of(ds, **order), f"seed={seed}"
    assert job.state["position"] == 5000
    return kills


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_killed_jobs_go_on_exactly(tmp_path, numbers, ds, seed):
    assert _killed_and_resumed(tmp_path, numbers, ds, seed) == 4


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_200_kills_leave_the_order_alone(tmp_path, numbers, ds):
    kills = 0
    for seed in range(100, 150):
        folder = tmp_path / str(seed)
        folder.mkdir()
        kills += _killed_and_resumed(folder, numbers, ds, seed)
    assert kills == 200
