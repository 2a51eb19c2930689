"""The loader: what its threads do ahead of the loop, how they end, and what it counts."""

import ctypes
import gc
import logging
import multiprocessing
import os
import sys
import threading
import time
import types
import warnings
import weakref

import nodes
import pyarrow as pa
import pytest

import forebay
from forebay.loader_stats import CAUSES, LoaderStats, costs_of
from forebay.ordered_map import OrderedMap

torch = pytest.importorskip("torch")

from forebay.torch import Batch, Dataset, Loader, cursor_of  # noqa: E402

ORDER = {"shuffle": "global", "seed": 5, "columns": ["x", "y"]}


@pytest.fixture(scope="module", autouse=True)
def store(tmp_path_factory):
    with nodes.own_node(tmp_path_factory.mktemp("loader")) as spec:
        yield spec


@pytest.fixture(scope="module")
def ds(numbers):
    return forebay.open(numbers)


@pytest.fixture
def dataset(ds):
    return Dataset(ds, 100, **ORDER)


def rows(batches):
    return [batch["x"].tolist() for batch in batches]


def prefetch_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("forebay-")]


@pytest.mark.parametrize("threads, prefetch", [(1, 1), (1, 8), (2, 4), (5, 2)])
@pytest.mark.parametrize("shuffle", ["sequential", "window", "global"])
def test_batches_are_those_of_the_dataset(ds, shuffle, threads, prefetch):
    dataset = Dataset(ds, 100, shuffle=shuffle, columns=["x"], remainder="keep")
    expected = rows(ds.batches(100, shuffle=shuffle, remainder="keep"))
    assert rows(Loader(dataset, threads=threads, prefetch=prefetch)) == expected
    loader = Loader(dataset, threads=threads, prefetch=prefetch, transform=lambda batch: batch)
    assert rows(loader) == expected and len(loader) == len(expected)


@pytest.mark.fast
def test_epochs_follow_each_other(ds, dataset):
    loader = Loader(dataset)
    for epoch in (0, 1, 2, 5, 3, 3, 4):
        dataset.set_epoch(epoch)
        assert rows(loader) == rows(ds.batches(100, epoch=epoch, **ORDER)), epoch
    for _ in range(2):  # the same again
        assert rows(loader) == rows(ds.batches(100, epoch=4, **ORDER))


def test_transforms_run_ahead_in_other_threads_and_keep_the_order(dataset):
    expected = rows(dataset)
    seen = set()

    def transform(batch):
        seen.add(threading.current_thread().name)
        time.sleep(0.0005 * (batch["x"][0].item() % 4))  # they do not end in order
        return {"x": batch["x"], "double": batch["x"] * 2}

    for batch, own in zip(Loader(dataset, threads=3, transform=transform), expected):
        assert batch["x"].tolist() == own and batch["double"].equal(batch["x"] * 2)
        assert isinstance(batch, Batch) and cursor_of(batch) == dataset.state_dict()
    assert seen and threading.main_thread().name not in seen


def test_at_most_so_many_batches_are_ahead(dataset):
    made = []
    iterator = iter(Loader(dataset, threads=4, prefetch=6, transform=made.append))
    nodes.wait_until(lambda: len(made) == 6, "nothing is prefetched")
    next(iterator)
    nodes.wait_until(lambda: len(made) == 7, "prefetching does not go on")
    time.sleep(0.05)
    assert len(made) == 7


def test_from_arrow_gets_the_arrow_batch(dataset):
    for batch in Loader(dataset, from_arrow=pa.record_batch):
        assert isinstance(batch, pa.RecordBatch) and batch.num_rows == 100
    own = Dataset(dataset.dataset, 100, from_arrow=lambda batch: pa.record_batch(batch), **ORDER)
    assert all(isinstance(batch, pa.RecordBatch) for batch in own)
    sums = Loader(own, transform=lambda batch: sum(batch["x"].to_pylist()))
    assert sum(sums) == sum(range(5000))




def marked(batch):
    return batch


def test_an_error_surfaces_at_its_step_with_its_traceback(dataset):
    calls = []

    def transform(batch):
        calls.append(batch["x"][0].item())
        if len(calls) == 8:
            raise ZeroDivisionError("the transform's own")
        return batch

    iterator = iter(Loader(dataset, threads=1, prefetch=20, transform=transform))
    nodes.wait_until(lambda: len(calls) >= 8, "nothing is prefetched")
    for _ in range(7):
        next(iterator)
    with pytest.raises(ZeroDivisionError, match="the transform's own") as raised:
        next(iterator)
    assert any(frame.name == "transform" for frame in raised.traceback)
    assert dataset.state_dict()["position"] == 700  # from before the batch that failed
    with pytest.raises(RuntimeError, match="ended with an error"):
        next(iterator)


def test_a_batch_that_cannot_be_converted_is_not_counted(tmp_path):
    table = pa.table({"x": pa.array([1, 2, 3, 4, None, 6])})
    pa.parquet.write_table(table, tmp_path / "nulls.parquet")
    for arguments in ({}, {"transform": marked}):
        dataset = Dataset(tmp_path, 2)
        iterator = iter(Loader(dataset, **arguments))
        next(iterator), next(iterator)
        with pytest.raises(ValueError, match="column x has nulls"):
            next(iterator)
        assert dataset.state_dict()["position"] == 4
        with pytest.raises(RuntimeError, match="ended with an error"):
            next(iterator)


def test_an_error_of_the_next_epochs_first_batch_is_that_epochs(tmp_path):
    table = pa.table({"x": pa.array([None, 2, 3, 4, 5, 6])})
    pa.parquet.write_table(table, tmp_path / "nulls.parquet")
    dataset = Dataset(tmp_path, 2)
    loader = Loader(dataset)
    dataset.set_epoch(0, start_step=1)  # after the null
    assert rows(loader) == [[3, 4], [5, 6]]
    assert dataset.state_dict()["position"] == 6
    dataset.set_epoch(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="column x has nulls"):
            next(iter(loader))
    assert dataset.state_dict()["position"] == 0


def test_a_first_batch_that_was_made_early_comes_once_and_only_in_its_epoch(ds, dataset):
    loader = Loader(dataset)
    for epoch in (0, 1, 2, 7, 7):  # the last ones are not what the loader expects
        dataset.set_epoch(epoch)
        expected = rows(ds.batches(100, **{**ORDER, "epoch": epoch}))
        received = []
        for batch in loader:
            received.append(batch["x"].tolist())
            assert dataset.state_dict()["position"] == 100 * len(received)
            assert dataset.state_dict()["epoch"] == epoch
        assert received == expected


def test_a_loader_that_has_begun_the_next_epoch_goes_at_once(dataset):
    loader = Loader(dataset)
    list(loader)
    early = weakref.ref(loader._passes._early)
    assert early() is not None
    gc.disable()
    try:
        del loader
        assert early() is None
    finally:
        gc.enable()


def test_threads_end_when_the_loop_does(dataset):
    gc.collect()  # those of tests before, which an exception's traceback may hold
    for ending in ("break", "error", "end", "garbage"):
        iterator = iter(Loader(dataset, threads=3, transform=marked))
        next(iterator)
        assert len(prefetch_threads()) == 3
        if ending == "error":
            with pytest.raises(KeyError):
                for _ in iterator:
                    raise KeyError
        elif ending == "end":
            assert len(list(iterator)) == 49
        elif ending == "garbage":
            iterator.itself = iterator
        del iterator
        gc.collect()
        assert prefetch_threads() == [], ending


def test_an_iterator_of_the_parent_says_that_it_is(dataset):
    iterators = [iter(Loader(dataset)), iter(Loader(dataset, transform=marked))]
    for iterator in iterators:
        next(iterator)

    def in_child():
        for iterator in iterators:
            try:
                next(iterator)
                os._exit(1)
            except (RuntimeError, ValueError) as error:
                assert "forked from" in str(error)
        assert len(rows(Loader(dataset))) == 50
        os._exit(42)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = multiprocessing.get_context("fork").Process(target=in_child)
        child.start()
    child.join(60)
    assert child.exitcode == 42
    assert all(len(rows(iterator)) == 49 for iterator in iterators)


@pytest.mark.parametrize("how", ["plain", "transform"])
def test_a_program_may_end_at_any_moment(numbers, run_python, how):
    code = """
import sys, time
from forebay.torch import Dataset, Loader
transform = (lambda batch: (time.sleep(0.2), batch)[1]) if sys.argv[2] == "transform" else None
loader = Loader(Dataset(sys.argv[1], 100, shuffle="global"), threads=2, transform=transform)
iterator = iter(loader)
print(len(next(iterator)["x"]))
"""
    assert run_python(code, numbers, how) == "100\n"


def test_control_c_ends_a_wait_and_loses_nothing(numbers, run_python):
    code = """
import os, signal, sys, threading, time
from forebay.torch import Dataset, Loader
gate = threading.Event()
def transform(batch):
    gate.wait()
    return batch["x"].tolist()
dataset = Dataset(sys.argv[1], 100, columns=["x"])
iterator = iter(Loader(dataset, transform=transform))
threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
began = time.monotonic()
try:
    next(iterator)
except KeyboardInterrupt:
    print("interrupted", dataset.position, time.monotonic() - began < 20)
gate.set()
print(sum(len(batch) for batch in Loader(dataset, transform=transform)))
"""
    assert run_python(code, numbers) == "interrupted 0 True\n5000\n"


def test_ordered_map_bounds_orders_and_ends():
    items = iter(range(50))
    results = OrderedMap(lambda: next(items, None), lambda i: i * i, threads=4, ahead=3)
    taken = [results.take()[1] for _ in range(50)]
    assert taken == [i * i for i in range(50)]
    assert results.take() == results.take() == (False, None)
    results.close()
    results.close()


def test_ordered_map_raises_what_the_items_source_raises():
    def pull():
        raise OSError("no more")

    results = OrderedMap(pull, str, threads=3, ahead=3)
    with pytest.raises(OSError, match="no more"):
        results.take()
    with pytest.raises(RuntimeError, match="have ended"):
        results.take()


def test_stats_say_where_the_time_went(dataset, caplog):
    def slow(batch):
        time.sleep(0.003)
        return batch

    loader = Loader(dataset, threads=1, prefetch=1, transform=slow)
    with caplog.at_level(logging.INFO, "forebay"):
        assert len(list(loader)) == 50
    stats = loader.stats()
    assert stats["steps"] == 50 and stats["epoch"] == 0 and set(stats["waited"]) == set(CAUSES)
    assert stats["starved_steps"] >= 40
    assert stats["waited"]["transform"] > 0.7 * stats["waited_seconds"] > 0.1
    line = caplog.messages[-1]
    assert line.startswith("epoch 0: 50 steps") and "starved in" in line
    assert "transform" in line
    assert abs(sum(stats["waited"].values()) - stats["waited_seconds"]) < 1e-9


def test_a_slow_loop_is_never_starved(dataset, caplog):
    loader = Loader(dataset)
    with caplog.at_level(logging.INFO, "forebay"):
        for _ in loader:
            time.sleep(0.002)
    stats = loader.stats()
    # Other programs may take the cores for a moment.
    assert stats["starved_steps"] <= 5 and stats["seconds"] > 0.1
    if stats["starved_steps"] == 0:
        assert "never starved" in caplog.messages[-1]


def test_waits_are_put_down_to_what_the_native_part_was_busy_with():
    seconds = {"native": 1.0, "gather": 0.5, "transform": 0.25, "device": 0.0}
    times = {"store": 0.1, "source": 0.6, "decode": 0.2, "gather": 0.1}
    costs = costs_of(seconds, times)
    assert costs == pytest.approx({"gather": 0.6, "transform": 0.25, "device": 0.0,
                                   "store": 0.1, "source": 0.6, "decode": 0.2})
    assert costs_of(seconds, {})["gather"] == 1.5
    stats = LoaderStats(0)
    stats.add(10.0, costs)  # the first one has nothing to hide behind
    stats.add(0.875, costs)
    assert stats.as_dict()["starved_steps"] == 1 and stats.first_wait == 10.0
    assert stats.waits["source"] == pytest.approx(0.6 / 1.75 * 10.875)
    assert "source 3.73 s" in str(stats)


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_without_a_gpu_what_needs_one_is_an_error_that_says_so(dataset):
    with pytest.raises(RuntimeError, match="pin_memory=True needs CUDA"):
        Loader(dataset, pin_memory=True)
    with pytest.raises(RuntimeError, match="device=\"cuda\" needs CUDA"):
        Loader(dataset, device="cuda")
    assert len(rows(Loader(dataset, device="cpu"))) == 50


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("prefetch", [1, 3, 8])
def test_batches_come_on_the_device(ds, dataset, prefetch):
    expected = rows(ds.batches(100, **ORDER))
    for _ in range(2):
        batches = list(Loader(dataset, device="cuda", prefetch=prefetch))
        assert all(batch["y"].is_cuda for batch in batches)
        assert rows(batches) == expected
    pinned = list(Loader(dataset, pin_memory=True))
    assert all(batch["y"].is_pinned() for batch in pinned) and rows(pinned) == expected


_never_freed = []  # the pool calls these when the last batch goes, whenever that is


def test_batches_are_gathered_into_the_memory_of_a_pinned_pool(dataset):
    """The C library stands in for CUDA's: blocks are aligned, counted, and given back."""
    libc = ctypes.CDLL(None)
    devices, blocks = [], set()

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t,
                      ctypes.c_uint)
    def host_alloc(out, size, flags):
        error = libc.posix_memalign(out, ctypes.c_size_t(64), ctypes.c_size_t(size))
        blocks.add((out[0], size))
        return error

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
    def free_host(block):
        return 0

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    def set_device(device):
        devices.append(device)
        return 0

    _never_freed.extend([host_alloc, free_host, set_device])
    memory = forebay._native.PinnedMemory()
    memory.host_alloc, memory.free_host, memory.set_device = (
        ctypes.cast(function, ctypes.c_void_p).value
        for function in (host_alloc, free_host, set_device))
    memory.device = 3
    loader = Loader(dataset)
    loader._passes.pool = pool = forebay._native.pinned_pool(memory)
    expected = rows(dataset)
    for epoch in (0, 0, 0):
        for batch, own in zip(loader, expected):
            assert batch["x"].tolist() == own
            at = batch["y"].data_ptr()
            assert any(first <= at < first + size for first, size in blocks)
    assert pool.fresh_count == len(blocks) == len(devices) and set(devices) == {3}
    assert len(blocks) < 40  # they are used again


def test_wrong_arguments(dataset):
    with pytest.raises(TypeError, match="a Loader is for a forebay.torch.Dataset"):
        Loader([1])
    with pytest.raises(ValueError, match="threads must be at least 1"):
        Loader(dataset, threads=0)
    with pytest.raises(ValueError, match="prefetch must be at least 1"):
        Loader(dataset, prefetch=0)
    with pytest.raises(ValueError, match="window is for shuffle=\"window\""):
        Dataset(dataset.dataset, 100, window=4)
    with pytest.raises(ValueError, match="these are for opening a dataset"):
        Dataset(dataset.dataset, 100, store="mem:1GiB")


class Mesh:
    """What is asked of a torch DeviceMesh."""

    def __init__(self, shape, names, coordinate):
        self.shape, self.mesh_dim_names, self.coordinate = shape, names, coordinate

    def size(self, dimension):
        return self.shape[dimension]

    def get_coordinate(self):
        return self.coordinate


@pytest.mark.parametrize("mesh, rank, size", [
    (Mesh((2, 4), ("dp", "tp"), [1, 3]), 1, 2),
    (Mesh((4, 2), ("tp", "dp"), [3, 0]), 0, 2),
    (Mesh((2, 3, 2), ("dp_replicate", "dp_shard", "tp"), [1, 2, 0]), 5, 6),
    (Mesh((3, 2), None, [2, 1]), 2, 3)])
def test_peers_of_a_model_see_identical_batches(ds, mesh, rank, size):
    own = Dataset(ds, 100, mesh=mesh, **ORDER)
    expected = rows(ds.batches(100, rank=rank, world_size=size, **ORDER))
    assert rows(own) == expected
    assert rows(Dataset(ds, 100, dp_rank=rank, dp_size=size, **ORDER)) == expected


def test_places_that_make_no_sense(ds):
    with pytest.raises(ValueError, match="no dimension of the mesh is called dp"):
        Dataset(ds, 100, mesh=Mesh((2, 2), ("tp", "pp"), [0, 0]))
    with pytest.raises(ValueError, match="this process is not in the mesh"):
        Dataset(ds, 100, mesh=Mesh((2,), ("dp",), None))
    with pytest.raises(ValueError, match="give both dp_rank and dp_size, or neither"):
        Dataset(ds, 100, dp_rank=1)
    with pytest.raises(ValueError, match="give only one of"):
        Dataset(ds, 100, rank=0, world_size=2, dp_rank=0, dp_size=2)


@pytest.mark.parametrize("name", ["DataLoaderDispatcher", "IterableDatasetShard"])
def test_sharing_out_twice_is_found(ds, monkeypatch, name):
    """Classes of Accelerate that iterate over a dataset, as they are called there."""
    module = types.ModuleType("accelerate.data_loader")
    code = f"""
class {name}:
    def __init__(self, dataset):
        self.dataset = dataset
    def __iter__(self):
        for batch in self.dataset:
            yield batch
"""
    exec(code, module.__dict__)
    monkeypatch.setitem(sys.modules, "accelerate", types.ModuleType("accelerate"))
    monkeypatch.setitem(sys.modules, "accelerate.data_loader", module)
    sharing = getattr(module, name)
    with pytest.raises(RuntimeError, match=f"rows would be shared out twice.*{name}"):
        next(iter(sharing(Dataset(ds, 100, rank=0, world_size=2, **ORDER))))
    workers = torch.utils.data.DataLoader(Dataset(ds, 100, rank=0, world_size=2, **ORDER),
                                          batch_size=None, num_workers=1,
                                          multiprocessing_context="fork")
    with pytest.raises(RuntimeError, match="rows would be shared out twice"):
        next(iter(sharing(workers)))
    assert len(rows(sharing(Dataset(ds, 100, **ORDER)))) == 50  # nothing is shared out here


def test_a_dataset_made_before_the_process_group_says_so(ds, monkeypatch):
    dataset = Dataset(ds, 100, **ORDER)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 4)
    with pytest.raises(RuntimeError, match="made for 1 ranks before torch.distributed was"):
        next(iter(Loader(dataset)))
    given = Dataset(ds, 100, rank=0, world_size=1, **ORDER)
    assert len(rows(given)) == 50


def test_keeping_all_rows_says_when_ranks_have_unequal_steps(ds, caplog):
    for batch, said in [(1000, 0), (700, 1)]:
        dataset = Dataset(ds, global_batch_size=batch, rank=0, world_size=5, remainder="keep")
        caplog.clear()
        list(Loader(dataset))
        warned = [r for r in caplog.records if "remainder=\"keep\"" in r.getMessage()]
        assert len(warned) == said
    assert "first ranks have 8 steps and the last 7" in warned[0].getMessage()
