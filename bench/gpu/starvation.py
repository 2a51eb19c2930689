"""Whether a GPU ever waits for its batches.

    python bench/gpu/starvation.py            with forebay, torch and CUDA; skips elsewhere

Measures, one after the other and in one run: how fast page-locked memory is copied to the
device, how fast the Loader gathers shuffled rows into such memory, and then a loop on the
device that takes batches at 80 % of the smaller of the two. A step is *starved* where the
device was idle before it for more than a tenth of a step, by the device's own clock. The bar
is 1 % of the steps.
"""

import argparse
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

SHARE = 0.8            # of what the machine can do
STARVED_SHARE = 0.01   # the bar
IDLE_SHARE = 0.1       # of a step, from which on it counts as starved
STEPS_QUEUED = 3       # that the loop is ahead of the device, as training loops are


def why_not():
    """Why this machine cannot run it; empty where it can."""
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    if not torch.cuda.is_available():
        return "torch finds no CUDA device here"
    return ""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table-gib", type=int, default=8)
    parser.add_argument("--row-bytes", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--threads", type=int, help="of the Loader; default: its own choice")
    parser.add_argument("--prefetch", type=int, help="of the Loader; default: its own choice")
    parser.add_argument("--folder", help="where the table is made, or is")
    return parser.parse_args()


def make_table(folder, row_bytes, table_bytes):
    """Files of 512 MiB, all alike: one is written and copied. A row's floats are its number
    in its file, so that it packs well and can be checked."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    folder.mkdir(parents=True)
    rows, width = (512 << 20) // row_bytes, row_bytes // 4
    values = np.repeat(np.arange(rows, dtype=np.float32), width)
    column = pa.FixedSizeListArray.from_arrays(pa.array(values), width)
    pq.write_table(pa.table({"emb": column}), folder / "000.parquet", compression="zstd",
                   row_group_size=rows // 16)
    for i in range(1, table_bytes // (512 << 20)):
        shutil.copy(folder / "000.parquet", folder / f"{i:03}.parquet")


def copy_bandwidth(batch_bytes):
    """Bytes per second from page-locked memory to the device, in pieces of a batch."""
    import torch
    pieces = [torch.empty(batch_bytes, dtype=torch.uint8, pin_memory=True) for _ in range(8)]
    target = [torch.empty_like(piece, device="cuda") for piece in pieces]
    speeds = []
    for _ in range(6):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(8):
            for piece, place in zip(pieces, target):
                place.copy_(piece, non_blocking=True)
        torch.cuda.synchronize()
        speeds.append(64 * batch_bytes / (time.perf_counter() - began))
    return statistics.median(speeds[1:])


def gather_bandwidth(dataset, settings, epochs=3):
    """Bytes per second of a loop that takes page-locked batches and does nothing."""
    from forebay.torch import Loader
    loader = Loader(dataset, pin_memory=True, **settings)
    speeds = []
    for epoch in range(epochs + 1):
        dataset.set_epoch(epoch)
        began, size = time.perf_counter(), 0
        for batch in loader:
            size += batch["emb"].nbytes
        speeds.append(size / (time.perf_counter() - began))
    return statistics.median(speeds[1:])


def device_bandwidth(dataset, settings):
    """Bytes per second of a loop that takes batches on the device and does nothing."""
    import torch
    from forebay.torch import Loader
    loader = Loader(dataset, device="cuda", **settings)
    for epoch in (50, 51):
        dataset.set_epoch(epoch)
        began, size = time.perf_counter(), 0
        for batch in loader:
            size += batch["emb"].nbytes
        torch.cuda.synchronize()
    return size / (time.perf_counter() - began)


def busy_seconds(steps):
    """Of one step, when batches are there."""
    import torch
    tensor = torch.zeros((256, 256), device="cuda")
    for _ in range(2):  # the first time wakes the device up
        steps.clear()
        for _ in range(500):
            steps.step(tensor)
        torch.cuda.synchronize()
    return steps.seconds() / 500


class Steps:
    """A training loop on the device: each step reads its batch and works for a while."""

    def __init__(self, step_seconds):
        self._cycles = 100_000
        for _ in range(3):
            short, self._cycles = self._cycles, 2 * self._cycles
            long_seconds = busy_seconds(self)
            self._cycles = short
            per_cycle = (long_seconds - busy_seconds(self)) / short
            self._cycles += int((step_seconds - busy_seconds(self)) / per_cycle)
        self.clear()

    def clear(self):
        self.begun, self.ended, self.sums = [], [], []

    def step(self, tensor):
        import torch
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begun.record()
        self.sums.append(tensor[:, 0].sum(dtype=torch.float64))
        torch.cuda._sleep(self._cycles)
        ended.record()
        self.begun.append(begun)
        self.ended.append(ended)
        if len(self.ended) > STEPS_QUEUED:
            self.ended[-1 - STEPS_QUEUED].synchronize()

    def idle_seconds(self):
        """Before each step but the first."""
        import torch
        torch.cuda.synchronize()
        return [a.elapsed_time(b) / 1e3 for a, b in zip(self.ended, self.begun[1:])]

    def seconds(self):
        return self.begun[0].elapsed_time(self.ended[-1]) / 1e3


def consume(dataset, settings, step_seconds, epochs):
    """Steps over some epochs, after one that warms up; checks that all rows came."""
    from forebay.torch import Loader
    loader = Loader(dataset, device="cuda", **settings)
    steps = Steps(step_seconds)
    for epoch in range(epochs + 1):
        if epoch == 1:
            steps.clear()
        dataset.set_epoch(100 + epoch)
        for batch in loader:
            steps.step(batch["emb"])
    found = sum(float(value) for value in steps.sums)
    rows_of_file = (512 << 20) // dataset.row_bytes
    files = dataset.table_rows // rows_of_file
    expected = epochs * files * rows_of_file * (rows_of_file - 1) / 2
    assert found == expected, f"the rows on the device add up to {found}, not {expected}"
    return steps, loader.stats()


def open_dataset(folder, args):
    import forebay
    from forebay.torch import Dataset
    table_bytes = args.table_gib << 30
    opened = forebay.open(str(folder), store=f"mem:{2 * table_bytes}B")
    began = time.perf_counter()
    opened.warmup()
    print(f"filled {args.table_gib} GiB in {time.perf_counter() - began:.1f} s")
    dataset = Dataset(opened, args.batch, shuffle="global", seed=7, rank=0, world_size=1)
    dataset.row_bytes, dataset.table_rows = args.row_bytes, opened.num_rows
    return opened, dataset


def run(args, folder):
    import torch
    table = folder / "table"
    if not table.exists():
        make_table(table, args.row_bytes, args.table_gib << 30)
    opened, dataset = open_dataset(table, args)
    batch_bytes = args.batch * args.row_bytes
    settings = {"threads": args.threads, "prefetch": args.prefetch}
    copy = copy_bandwidth(batch_bytes)
    gather = gather_bandwidth(dataset, settings)
    rate = SHARE * min(copy, gather)
    print(f"{torch.cuda.get_device_name()}, {len(os.sched_getaffinity(0))} cores, rows of "
          f"{args.row_bytes} bytes, batches of {batch_bytes / 2**20:.0f} MiB")
    most = device_bandwidth(dataset, settings)
    print(f"host to device {copy / 1e9:.1f} GB/s, gather {gather / 1e9:.1f} GB/s, both at once "
          f"{most / 1e9:.1f} GB/s; batches are taken at {rate / 1e9:.1f} GB/s")
    steps, stats = consume(dataset, settings, batch_bytes / rate, args.epochs)
    os.kill(opened._table.node_pid(), signal.SIGTERM)
    return report(steps, batch_bytes, rate, stats)


def report(steps, batch_bytes, rate, stats):
    idle = steps.idle_seconds()
    step = batch_bytes / rate
    starved = sum(gap > IDLE_SHARE * step for gap in idle) / len(idle)
    reached = batch_bytes * len(steps.sums) / steps.seconds()
    print(f"{len(idle)} steps of {step * 1e6:.0f} µs: {reached / 1e9:.1f} GB/s reached, idle "
          f"{100 * sum(idle) / steps.seconds():.2f} % of the time, median "
          f"{statistics.median(idle) * 1e6:.0f} µs, longest {max(idle) * 1e6:.0f} µs")
    print(f"starved steps: {100 * starved:.2f} % (bar: ≤ {100 * STARVED_SHARE:.0f} %) "
          f"{'ok' if starved <= STARVED_SHARE else 'MISSED'}")
    if os.environ.get("FOREBAY_BENCH_STEPS"):
        print("starved:", [(i + 1, int(gap * 1e6)) for i, gap in enumerate(idle)
                           if gap > IDLE_SHARE * step][:200])
    print(f"the last epoch's waits: {stats}")
    return 0 if starved <= STARVED_SHARE else 1


def main():
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return 0
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="forebay-gpu-") as scratch:
        os.environ.setdefault("XDG_RUNTIME_DIR", scratch)
        return run(args, Path(args.folder or scratch))


if __name__ == "__main__":
    sys.exit(main())
