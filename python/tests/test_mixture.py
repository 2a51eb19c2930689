"""Several datasets as one: shares, orders, and going on exactly."""

import json
import pickle
import random

import nodes
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay

torch = pytest.importorskip("torch")

from torch_jobs import loader_for, rows_of  # noqa: E402

from forebay.torch import Loader, Mixture, cursor_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("quiet_torch")
ROWS = {"web": 1000, "code": 300, "books": 70}
FILES = {"web": 7, "code": 4, "books": 1}
STRIDE = 100_000  # source i has the rows i * STRIDE, i * STRIDE + 1, …
WEIGHTS = {"web": 0.6, "code": 0.3, "books": 0.1}
READERS = [None, 0, 1, 3]  # native threads, or so many workers
ORDER = {"shuffle": "global", "seed": 5, "columns": ["x"]}


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory):
    """One node for all tests here."""
    with nodes.own_node(tmp_path_factory.mktemp("mixture")) as spec:
        yield spec


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """Tables of several files, so that they lie in several ranges."""
    folder = tmp_path_factory.mktemp("sources")
    for i, (name, rows) in enumerate(ROWS.items()):
        (folder / name).mkdir()
        for part in range(FILES[name]):
            x = np.arange(rows * part // FILES[name], rows * (part + 1) // FILES[name])
            columns = columns_of(i, name, x + i * STRIDE)
            if i == 1:
                columns = dict(reversed(columns.items()))  # another order of columns
            pq.write_table(pa.table(columns), folder / name / f"{part}.parquet")
    return {name: forebay.open(folder / name) for name in ROWS}


def columns_of(i, name, x):
    return {"x": x, "name": [f"{name} {v}" for v in x],
            "items": [list(range(v % 4)) for v in x],
            "half": pa.array([None if v % 5 == i else v / 2 for v in x], pa.float32())}


def mixture(sources, batch=40, **arguments):
    return Mixture(sources, global_batch_size=batch,
                   **{"weights": WEIGHTS, **ORDER, **arguments})


def steps_of(loader, count=None):
    rows = []
    for batch in loader:
        rows.append(rows_of(batch))
        if len(rows) == count:
            break
    return rows


def all_rows(sources, slots, **arguments):
    """The first slots as one rank sees them that is not interrupted."""
    return sum(steps_of(mixture(sources, 1, **arguments), slots), [])


def sources_of(rows):
    return np.array(rows) // STRIDE


def test_every_prefix_has_its_shares_within_one_slot(sources):
    rows = all_rows(sources, 1500, until="forever")
    origin = sources_of(rows)
    for i, share in enumerate(WEIGHTS.values()):
        counts = np.cumsum(origin == i)
        assert np.all(np.abs(counts - share * np.arange(1, 1501)) < 1)


@pytest.mark.parametrize("shuffle", ["sequential", "window", "global"])
def test_each_source_goes_through_epochs_of_its_own(sources, shuffle):
    order = {"shuffle": shuffle, "window": 2 if shuffle == "window" else None}
    ds = mixture(sources, until="forever", **order)
    rows = np.array(sum(steps_of(Loader(ds), 50), []))
    assert rows.tolist() == all_rows(sources, 2000, until="forever", **order)
    for i, (name, count) in enumerate(ROWS.items()):
        own = rows[sources_of(rows) == i] - i * STRIDE
        epochs = [own[at:at + count] for at in range(0, len(own) - count + 1, count)]
        assert len(epochs) == len(own) // count and len(epochs) >= 1, name
        for epoch in epochs:
            assert sorted(epoch) == list(range(count))
        if shuffle != "sequential" and len(epochs) > 1:
            assert not np.array_equal(epochs[0], epochs[1])


def test_the_columns_of_a_row_stay_together_whatever_their_type(sources):
    ds = mixture(sources, columns=None, fill_null=-1.0)
    for batch in steps_and_batches(ds, 5):
        for i, x in enumerate(batch["x"].tolist()):
            name = list(ROWS)[x // STRIDE]
            assert batch["name"][i] == f"{name} {x}"
            assert batch["items"][i].tolist() == list(range(x % 4))
            null = x % 5 == x // STRIDE
            assert batch["half"][i] == (-1 if null else np.float32(x / 2))


def steps_and_batches(ds, count):
    return [batch for batch, _ in zip(Loader(ds), range(count))]


def test_batches_are_the_same_whatever_reads_them(sources):
    expected = steps_of(mixture(sources))
    assert len(expected) == len(mixture(sources)) == 17
    for workers in READERS:
        ds = mixture(sources)
        loader = loader_for(ds, workers)
        assert steps_of(loader) == expected
        assert ds.state_dict()["position"] == 680


@pytest.mark.parametrize("world", [2, 3, 5, 8])
def test_global_batches_do_not_depend_on_the_number_of_ranks(sources, world):
    expected = steps_of(mixture(sources))
    ranks = [steps_of(mixture(sources, rank=rank, world_size=world)) for rank in range(world)]
    assert [sum(parts, []) for parts in zip(*ranks)] == expected


# The first source to end is "books", with its 70th row at slot 695 to 700.
@pytest.mark.parametrize("until, ended", [("first_exhausted", "books"),
                                          ("all_exhausted", "web")])
def test_a_mixture_ends_when_it_should(sources, until, ended):
    ds = mixture(sources, 1, until=until)
    rows = sum(steps_of(ds), [])
    assert len(rows) == len(ds)
    origin = list(ROWS).index(ended)
    assert np.sum(sources_of(rows) == origin) == ROWS[ended]
    assert sources_of(rows)[-1] == origin
    seen = [set(np.array(rows)[sources_of(rows) == i]) for i in range(3)]
    complete = [len(own) == count for own, count in zip(seen, ROWS.values())]
    assert complete == ([False, False, True] if until == "first_exhausted" else [True] * 3)


def test_a_mixture_forever_has_no_length_and_no_end(sources):
    ds = mixture(sources, until="forever")
    with pytest.raises(TypeError, match="no length"):
        len(ds)
    assert len(steps_of(Loader(ds), 200)) == 200


@pytest.mark.parametrize("remainder, rows", [("drop", 680), ("keep", None), ("pad", None),
                                             ("wrap", 720)])
def test_remainders_are_those_of_slots(sources, remainder, rows):
    slots = len(mixture(sources, 1))
    ds = mixture(sources, remainder=remainder)
    received = steps_of(Loader(ds))
    assert len(received) == len(ds)
    assert sum(map(len, received)) == (slots if rows is None else rows)
    expected = all_rows(sources, 720, until="forever")
    assert sum(received, []) == expected[:sum(map(len, received))]


def test_random_interruptions_and_other_shapes_leave_the_sequence_alone(sources):
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    expected = all_rows(sources, 4000, until="forever")
    rows, state = [], None
    while len(rows) < 1500:
        world, workers = rng.choice([1, 2, 3, 5, 8]), rng.choice(READERS)
        batch = world * rng.randint(1, 20) + rng.randint(0, 3)
        steps = rng.randint(1, 9)
        parts, states = [], []
        for rank in range(world):
            ds = mixture(sources, batch, until="forever", rank=rank, world_size=world)
            if state is not None:
                ds.load_state_dict(state)
            parts.append(steps_of(loader_for(ds, workers if rank == 0 else 0), steps))
            states.append(ds.state_dict())
        assert all(other == states[0] for other in states)
        state = json.loads(json.dumps(states[0]))
        rows += sum((sum(step, []) for step in zip(*parts)), [])
        assert state["position"] == len(rows)
        assert rows == expected[:len(rows)], (world, workers, batch)


def test_weights_change_at_their_step_and_nowhere_else(sources):
    plain = all_rows(sources, 1000, until="forever")
    ds = mixture(sources, until="forever")
    ds.set_weights([0, 0.5, 0.5], from_step=5)
    ds.set_weights({"web": 1, "code": 1, "books": 0}, from_step=10)
    rows = sum(steps_of(Loader(ds), 25), [])
    assert rows[:200] == plain[:200]
    assert np.bincount(sources_of(rows[200:400]), minlength=3).tolist() == [0, 100, 100]
    assert np.bincount(sources_of(rows[400:]), minlength=3).tolist() == [300, 300, 0]
    own = [r for r in rows if r < STRIDE]
    assert own == [r for r in plain if r < STRIDE][:len(own)]  # nothing lost or repeated


@pytest.mark.parametrize("workers", READERS)
@pytest.mark.parametrize("steps", [3, 5, 7, 10, 12])
def test_a_job_goes_on_with_the_weights_it_had(sources, steps, workers):
    def changed(ds):
        ds.set_weights([1, 2, 3], from_step=5)
        ds.set_weights([3, 2, 1], from_step=10)
        return ds
    whole = changed(mixture(sources, until="forever"))
    expected = steps_of(Loader(whole), 20)
    state = whole.state_dict()
    first = changed(mixture(sources, until="forever"))
    assert steps_of(loader_for(first, workers), steps) == expected[:steps]
    # Changes that are past are in the state; those to come are said again.
    again = mixture(sources, until="forever")
    again.load_state_dict(first.state_dict())
    if steps < 10:
        again.set_weights([3, 2, 1], from_step=10)
    if steps < 5:
        again.set_weights([1, 2, 3], from_step=5)
    assert steps_of(loader_for(again, workers), 20 - steps) == expected[steps:]
    assert again.state_dict() == state


def test_workers_that_stay_hear_of_states_and_weights(sources):
    expected = steps_of(Loader(mixture(sources, until="all_exhausted")))
    ds = mixture(sources, until="all_exhausted")
    loader = loader_for(ds, 2, persistent_workers=True)
    steps_of(loader, 4)
    saved = ds.state_dict()
    ds.load_state_dict(saved)
    assert steps_of(loader, 3) == expected[4:7]
    ds.load_state_dict(saved)
    ds.set_weights([1, 0, 0], from_step=6)
    rows = steps_of(loader, 6)
    assert rows[:2] == expected[4:6] and max(sum(rows[2:], [])) < STRIDE


def test_a_running_iteration_and_its_state_keep_their_weights(sources):
    expected = steps_of(Loader(mixture(sources)), 12)
    ds = mixture(sources)
    rows = []
    for batch in Loader(ds):
        rows.append(rows_of(batch))
        if len(rows) == 3:
            ds.set_weights([1, 0, 0], from_step=5)
        if len(rows) == 8:
            break
    assert rows == expected[:8]
    again = mixture(sources)
    again.load_state_dict(ds.state_dict())
    assert steps_of(again, 4) == expected[8:]


def test_weights_of_the_past_cannot_be_changed(sources):
    ds = mixture(sources)
    steps_of(ds, 6)
    state = ds.state_dict()
    ds.load_state_dict(state)
    with pytest.raises(ValueError, match="slot 240 on or later"):
        ds.set_weights([1, 1, 1], from_step=5)
    assert steps_of(ds, 2) == steps_of(mixture(sources))[6:8]
    with pytest.raises(ValueError, match="slot 240 on or later"):
        mixture(sources, weights=[1, 1, 1]).load_state_dict(state)


def test_epochs_of_a_mixture_have_orders_of_their_own(sources):
    ds = mixture(sources)
    first = steps_of(Loader(ds))
    ds.set_epoch(1)
    second = steps_of(Loader(ds), 6)
    assert sources_of(sum(first[:6], [])).tolist() == sources_of(sum(second, [])).tolist()
    assert first[:6] != second
    state = ds.state_dict()
    again = mixture(sources)
    again.load_state_dict(state)
    assert again.epoch == 1
    rest = steps_of(again)
    ds.set_epoch(1, 6)
    assert steps_of(ds) == rest and len(rest) == 11


def test_an_epoch_that_is_begun_again_has_the_weights_that_were_said(sources):
    first = mixture(sources)
    first.set_weights([1, 1, 1], from_step=3)
    steps_of(first, 6)
    ds = mixture(sources)
    ds.load_state_dict(first.state_dict())
    steps_of(Loader(ds))
    assert steps_of(Loader(ds)) == steps_of(mixture(sources))


def test_a_batch_knows_the_whole_cursor(sources):
    ds = mixture(sources)
    for workers in READERS:
        loader = torch.utils.data.DataLoader(ds, batch_size=None, num_workers=workers or 0)
        for _, batch in zip(range(5), loader):
            state = cursor_of(batch)
        reference = mixture(sources)
        steps_of(reference, 5)
        assert state == reference.state_dict()
        assert [s["position"] for s in state["sources"]] == [120, 60, 20]


def test_stateful_data_loaders_go_on_with_mixtures(sources):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")
    expected = steps_of(mixture(sources))
    def loader(ds, workers):
        return stateful.StatefulDataLoader(ds, batch_size=None, num_workers=workers)
    for workers in (0, 2):
        ds = mixture(sources)
        ds.set_weights(WEIGHTS, from_step=3)  # the same, counted anew
        first = loader(ds, workers)
        rows = steps_of(first, 5)
        state = first.state_dict()
        second = mixture(sources)
        second.set_weights(WEIGHTS, from_step=3)
        resumed = loader(second, workers)
        resumed.load_state_dict(state)
        assert rows + steps_of(resumed) == expected
        other = mixture(sources)
        other.load_state_dict(cursor_of(state))
        assert steps_of(loader(other, 3)) == expected[5:]


def test_mixtures_can_be_pickled(sources):
    ds = mixture(sources)
    expected = steps_of(ds)
    steps_of(ds, 4)
    ds.load_state_dict(ds.state_dict())
    assert steps_of(pickle.loads(pickle.dumps(ds))) == expected[4:]


def test_sources_can_be_a_list_of_places(sources):
    places = [source.uri for source in sources.values()]
    ds = Mixture(places, 10, weights=[1, 1, 0], columns=["x"])
    assert list(ds.sources) == ["0", "1", "2"]
    assert steps_of(ds, 1) == [[0, STRIDE, 1, STRIDE + 1, 2, STRIDE + 2, 3, STRIDE + 3, 4,
                                STRIDE + 4]]


def test_states_of_other_jobs_are_refused(sources):
    state = mixture(sources).state_dict()
    others = [({"seed": 6}, "seed"), ({"until": "forever"}, "lasts until"),
              ({"shuffle": "window"}, "order")]
    for arguments, words in others:
        with pytest.raises(ValueError, match=words):
            mixture(sources, **arguments).load_state_dict(state)
    fewer = {name: sources[name] for name in ("web", "code")}
    with pytest.raises(ValueError, match="3 sources"):
        mixture(fewer, weights=[1, 1]).load_state_dict(state)
    renamed = dict(zip(["web", "code", "poems"], sources.values()))
    with pytest.raises(ValueError, match="poems"):
        mixture(renamed, weights=[1, 1, 1]).load_state_dict(state)
    wrong = {**state, "position": 40}
    with pytest.raises(forebay.CorruptData, match="contradicts itself"):
        mixture(sources).load_state_dict(wrong)


def test_what_does_not_fit_together_is_named(sources, tmp_path):
    pq.write_table(pa.table({"x": pa.array([1.5])}), tmp_path / "floats.parquet")
    pq.write_table(pa.table({"x": [1], "extra": ["a"]}), tmp_path / "more.parquet")
    floats = forebay.open(tmp_path / "floats.parquet")
    more = forebay.open(tmp_path / "more.parquet", columns=["x", "extra"])
    with pytest.raises(ValueError, match="'x' is int64 in 'web' and double in 'floats'"):
        mixture({"web": sources["web"], "floats": floats}, weights=[1, 1])
    with pytest.raises(ValueError, match="'extra' is in 'more' and not in 'floats'"):
        mixture({"floats": floats, "more": more}, columns=None, weights=[1, 1])
    with pytest.raises(ValueError, match="source 'floats'.*half"):
        mixture({"web": sources["web"], "floats": floats}, columns=["half"], weights=[1, 1])


@pytest.mark.parametrize("weights, words", [
    ([1, 2], "3 sources, and 2 weights"), ({"web": 1}, "weights of web"),
    ([1, -1, 1], "weight"), ([0, 0, 0], "weight"), ([1, float("nan"), 1], "must be a number"),
    ([1, "2", 1], "must be a number")])
def test_wrong_weights_are_refused(sources, weights, words):
    with pytest.raises(ValueError, match=words):
        mixture(sources, weights=weights)
    ds = mixture(sources)
    with pytest.raises(ValueError, match=words):
        ds.set_weights(weights, from_step=2)
    assert steps_of(ds, 3) == steps_of(mixture(sources), 3)


def test_wrong_arguments_are_refused(sources):
    for arguments, words in [({"until": "late"}, "until must be one of"),
                             ({"shuffle": "some"}, "shuffle must be one of")]:
        with pytest.raises(ValueError, match=words):
            mixture(sources, **arguments)
    with pytest.raises(ValueError, match="there are none"):
        mixture({}, weights=[])
    with pytest.raises(ValueError, match="a dict of them, or a list"):
        mixture(sources["web"].uri, weights=[1])
    with pytest.raises(ValueError, match="cut into batches already"):
        mixture({"web": mixture(sources)}, weights=[1])
