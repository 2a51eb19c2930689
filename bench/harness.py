"""What the benches share: reporting, and ratios of interleaved runs."""

import os
import signal
import statistics
import time
from pathlib import Path

import forebay

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "release"
ROUNDS = int(os.environ.get("FOREBAY_BENCH_ROUNDS", "5"))
# Larger than any last-level cache it will meet.
NARROW_ROWS = int(os.environ.get("FOREBAY_BENCH_ROWS", str(20 << 20)))


class Bench:
    """Where the sample tables are, and what was measured."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.rows = []
        self.open_datasets = []

    def report(self, name, ours, theirs, bar, unit="ratio"):
        met = ours >= bar if unit == "ratio" else ours <= bar
        self.rows.append((name, ours, theirs, bar, unit, met))
        sign = "≥" if unit == "ratio" else "≤"
        print(f"{name:<52} {ours:>9.2f} {unit:<6} {sign} {bar:<7} {'ok' if met else 'MISSED':<7} {theirs}", flush=True)

    def open(self, path, store="mem:16GiB"):
        dataset = forebay.open(str(path), store=store)
        self.open_datasets.append(dataset)
        return dataset


def end_node(dataset):
    try:
        os.kill(dataset._table.node_pid(), signal.SIGTERM)
    except ProcessLookupError:
        pass


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(ours, theirs, rounds=ROUNDS):
    """Median of theirs ÷ ours, interleaved; and the two medians in seconds."""
    ours_times, theirs_times = [], []
    sides = [(theirs, theirs_times), (ours, ours_times)]
    for _ in range(rounds):
        for work, times in sides:
            times.append(timed(work))
        sides.reverse()  # what one leaves to the other (heaps, caches) evens out
    ratios = [b / a for a, b in zip(ours_times, theirs_times)]
    return statistics.median(ratios), statistics.median(ours_times), statistics.median(theirs_times)
