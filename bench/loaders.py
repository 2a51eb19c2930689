"""Speeds of `forebay.torch.Loader`: beside other loaders, beside memcpy, between orders, from
a disk, and between epochs."""

import importlib.util
import logging
import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import ROOT, ROUNDS, end_node, ratio, timed
from tables import narrow_table, wide_table

import forebay

RIVALS = ROOT / "bench" / "rivals"
# name, program with its rows of a round, package, bar
OTHERS = (
    ("torch map-style DataLoader, 2 workers", ("map_style", 200_000), "torch", 80),
    ("MosaicML Streaming, 2 workers", ("streaming_rounds", 100_000), "streaming", 200),
    ("HF datasets, shuffled, torch format", ("datasets_rounds", 200_000), "datasets", 100),
    ("Ray Data iter_torch_batches, shuffle buffer", ("ray_rounds", 4_000_000), "ray", 20),
    # All in memory of its own; no bar was set for that.
    ("the same, materialized before", ("ray_rounds", 4_000_000, "materialized"), "ray", None),
)


def torch_is_there():
    if importlib.util.find_spec("torch") is not None:
        return True
    print("skipped: torch is not installed, and these are speeds of forebay.torch")
    return False


def loader_of(dataset, batch_size=1024, **arguments):
    from forebay.torch import Dataset, Loader
    # A loop without work is always starved, and need not be told.
    logging.getLogger("forebay").setLevel(logging.ERROR)
    return Loader(Dataset(dataset, batch_size, rank=0, world_size=1, **arguments))


def go_through(loader, steps=None):
    """Iterates over an epoch, or its first steps, as a loop without work does."""
    for step, _ in enumerate(loader, 1):
        if step == steps:
            break


def sums(loader):
    """As a loop that looks at all it gets, on one thread."""
    import torch
    torch.set_num_threads(1)
    return sum(batch["emb"].sum() for batch in loader)


class Rival:
    """Another loader, in a process of its own with its own packages."""

    def __init__(self, program, package, table):
        folder = ROOT / "build" / "rivals" / package
        self.missing = package != "torch" and not folder.exists()
        if self.missing:
            return
        path = [str(folder), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(
            [sys.executable, RIVALS / f"{program[0]}.py", table, *map(str, program[1:])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))})
        while (line := self._process.stdout.readline()) != "ready\n":
            if not line:
                raise RuntimeError(f"{program[0]}.py ended before it was ready")
        self.round()  # the first one warms up

    def round(self):
        """Rows per second of one more time through its rows."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        rows, seconds = self._process.stdout.readline().split()
        return int(rows) / float(seconds)

    def end(self):
        self._process.stdin.close()
        self._process.wait()


def bench_rivals(bench):
    if not torch_is_there():
        return
    table = narrow_table(bench)
    dataset = bench.open(table)
    loader = loader_of(dataset, shuffle="global", seed=7)
    go_through(loader)
    for name, program, package, bar in OTHERS:
        rival = Rival(program, package, table)
        if rival.missing:
            print(f"skipped: {package} is not installed (tools/setup-bench installs it)")
            continue
        rounds = []
        for _ in range(ROUNDS):
            theirs = rival.round()
            seconds = timed(lambda: go_through(loader))
            rounds.append((len(loader) * 1024 / seconds, theirs))
        rival.end()
        ours, theirs = (statistics.median(r[i] for r in rounds) / 1e6 for i in (0, 1))
        value = statistics.median(a / b for a, b in rounds)
        note = f"× {name} ({theirs:.3f} M rows/s; ours {ours:.1f})"
        if bar is None:
            print(f"{'  besides':<52} {value:>9.2f} {note}", flush=True)
        else:
            bench.report("Loader, global, 4 narrow columns, batch 1024", value, note, bar)


def bench_floats(bench):
    """Rows of 128 × float32 against one thread's memcpy of as many bytes."""
    if not torch_is_there():
        return
    loader = loader_of(bench.open(wide_table(bench, 512)), shuffle="global", seed=7)
    source = np.ones(len(loader) * 1024 * 128, np.float32)
    target = np.zeros_like(source)
    go_through(loader)
    value, a, b = ratio(lambda: go_through(loader), lambda: np.copyto(target, source))
    speeds = f"({source.nbytes / b / 1e9:.1f} GB/s; ours {source.nbytes / a / 1e9:.1f})"
    bench.report("Loader, global, rows of 128 × float32", value,
                 f"× memcpy on one thread {speeds}", 0.6)


def bench_tax(bench):
    """What shuffling costs a loop that sums each batch."""
    if not torch_is_there():
        return
    for row_bytes, bar in ((1024, 0.5), (4096, 0.8)):
        dataset = bench.open(wide_table(bench, row_bytes))
        loaders = [loader_of(dataset, shuffle=order, seed=7) for order in ("global", None)]
        for loader in loaders:
            sums(loader)
        value, a, b = ratio(*(lambda loader=loader: sums(loader) for loader in loaders))
        bench.report(f"Loader, global, {row_bytes // 1024} KiB rows, sums", value,
                     f"× sequential ({b * 1e3:.0f} ms; global {a * 1e3:.0f} ms)", bar)


def forget_pages(folder):
    """Drops a store's files from the page cache, as far as nobody maps them."""
    for file in folder.rglob("*"):
        if file.is_file():
            fd = os.open(file, os.O_RDONLY)
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def bench_window(bench):
    """Window order with a tenth of the table in memory and all of it on a disk. The disk's
    page cache is dropped before each epoch."""
    if not torch_is_there():
        return
    table = wide_table(bench, 4096, table_bytes=2 << 30)
    disk = bench.folder / "window-disk"
    store = f"mem:{(2 << 30) // 10}B,ssd:{disk}:8GiB"
    warm = forebay.open(str(table), store=store)
    warm.warmup()

    def epoch(**order):
        dataset = forebay.open(str(table), store=store)
        forget_pages(disk)
        loader = loader_of(dataset, 256, **order)
        return timed(lambda: sums(loader))

    pairs = [(epoch(shuffle=None), epoch(shuffle="window", window=6, seed=7, epoch=i))
             for i in range(ROUNDS)]
    value = statistics.median(a / b for a, b in pairs)
    sequential, window = (statistics.median(column) for column in zip(*pairs))
    bench.report("Loader, window, SSD tier, memory tier 10 %", value,
                 f"× sequential ({sequential:.2f} s; window {window:.2f} s)", 0.8)
    end_node(warm)
    shutil.rmtree(disk)


def step_times(loader, epochs, work_seconds):
    """Seconds of all steps but the first of each epoch, and of those."""
    steps, boundaries = [], []
    last = None
    for epoch in range(epochs):
        loader.dataset.set_epoch(epoch)
        first = True
        for _ in loader:
            now = time.perf_counter()
            if last is not None:
                (boundaries if first else steps).append(now - last)
            first = False
            last = time.perf_counter()
            while time.perf_counter() - last < work_seconds:
                pass
    return steps, boundaries


def bench_boundary(bench):
    """From the last batch of an epoch to the first of the next, in median steps. A step is
    all from one batch to the next, with the loop's own work."""
    if not torch_is_there():
        return
    dataset = bench.open(narrow_table(bench))
    for work, name in ((0, "a loop without work"), (100e-6, "100 µs of work a step")):
        loader = loader_of(dataset, shuffle="global", seed=7)
        steps, boundaries = step_times(loader, ROUNDS + 1, work)
        median, boundary = statistics.median(steps), statistics.median(boundaries)
        bench.report(f"epoch boundary, {name}", boundary / median,
                     f"median steps of {median * 1e6:.0f} µs (boundary {boundary * 1e6:.0f} µs, "
                     f"mean step {statistics.mean(steps) * 1e6:.0f} µs)", 2, "steps")


def huge_table(bench):
    """1e11 rows in 10,000 files: a column of one value, so that they stay small."""
    folder = bench.folder / "huge"
    if not folder.exists():
        folder.mkdir()
        pq.write_table(pa.table({"x": np.zeros(10_000_000, np.int8)}), folder / "0.parquet")
        for i in range(1, 10_000):
            shutil.copy(folder / "0.parquet", folder / f"{i}.parquet")
    return folder


def bench_epoch_start(bench):
    """Making the stream of an epoch, before any row is read."""
    from forebay.stream_options import stream_options
    dataset = bench.open(huge_table(bench), store="mem:1GiB")
    assert dataset.num_rows == 10**11
    for order in ("global", "window"):
        times = []
        for epoch in range(1, 12):
            options = stream_options(batch_size=1024, shuffle=order, seed=7, epoch=epoch)
            times.append(timed(lambda: dataset._table.stream(options)))
        bench.report(f"starting an epoch of 1e11 rows, {order}", statistics.median(times) * 1e3,
                     "10,000 files", 1, "ms")


BENCHES = {
    "loaders-rivals": bench_rivals,
    "loaders-floats": bench_floats,
    "loaders-tax": bench_tax,
    "loaders-window": bench_window,
    "loaders-boundary": bench_boundary,
    "loaders-start": bench_epoch_start,
}
