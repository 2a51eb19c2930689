"""The speeds that Forebay promises, each as a ratio to something measured in the same run.

Runs of the two sides are interleaved and the median ratio is printed. Absolute times on a
shared machine prove nothing; look at the ratio column.

    bench/run            everything
    bench/run shuffle    the benches whose name contains "shuffle"
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import clusters
import flight
import forebay
import iceberg
import kubeflow
import loaders
import mounts
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
from harness import BUILD, NARROW_ROWS, ROUNDS, Bench, end_node, ratio, timed
from tables import narrow_table, wide_table


def sum_batches(batches, columns):
    return sum(float(batch[name].sum()) for batch in batches for name in columns)


def bench_sequential(bench):
    dataset = bench.open(narrow_table(bench))
    columns = ["id", "x", "y", "label"]
    size = 65536
    plain = {name: np.concatenate([b[name] for b in dataset.batches(1 << 20, format="numpy", remainder="keep")]) for name in columns}

    def memory():
        rows = len(plain["id"])
        sum_batches(({n: plain[n][i : i + size] for n in columns} for i in range(0, rows, size)), columns)

    def ours():
        sum_batches(dataset.batches(size, format="numpy", remainder="keep"), columns)

    ours()
    value, a, b = ratio(ours, memory)
    bench.report("warm sequential scan, sums", value, f"× plain memory ({b * 1e3:.0f} ms; ours {a * 1e3:.0f} ms)", 0.90)


def bench_shuffle_wide(bench):
    for row_bytes, bar in ((1024, 0.5), (4096, 0.8)):
        dataset = bench.open(wide_table(bench, row_bytes))
        buffer = {}

        def copied():
            for batch in dataset.batches(1024, format="numpy", remainder="drop"):
                rows = batch["emb"]
                out = buffer.setdefault(rows.shape, np.empty_like(rows))
                np.copyto(out, rows)
                yield {"emb": out}

        def sequential():
            sum_batches(copied(), ["emb"])

        def shuffled():
            sum_batches(dataset.batches(1024, shuffle="global", seed=7, format="numpy"), ["emb"])

        sequential(), shuffled()
        value, a, b = ratio(shuffled, sequential)
        name = f"warm global shuffle, {row_bytes // 1024} KiB rows, sums"
        bench.report(name, value, f"× our sequential with a copy ({b * 1e3:.0f} ms; ours {a * 1e3:.0f} ms)", bar)


def bench_shuffle_narrow(bench):
    folder = narrow_table(bench)
    dataset = bench.open(folder)
    table = pyarrow.dataset.dataset(folder).to_table().combine_chunks()
    permutation = np.random.default_rng(3).permutation(table.num_rows)
    rows = min(table.num_rows, 4_000_000)

    def take():
        for i in range(0, rows, 1024):
            table.take(permutation[i : i + 1024])

    def ours():
        for step, _ in enumerate(dataset.batches(1024, shuffle="global", seed=7, format="numpy")):
            if step == rows // 1024:
                break

    ours()
    value, a, b = ratio(ours, take)
    speed = f"({rows / b / 1e6:.1f} M rows/s; ours {rows / a / 1e6:.1f})"
    bench.report("warm global shuffle, 4 narrow columns, batch 1024", value, f"× pyarrow Table.take {speed}", 2.0)
    bench_map_style(bench, table, rows / a)


def bench_map_style(bench, table, our_rows_per_second):
    try:
        import torch
        from torch.utils.data import DataLoader
    except ImportError:
        print("skipped: torch is not installed, so there is no DataLoader to compare with")
        return
    loader_rows = 200_000
    columns = {name: torch.from_numpy(table[name][:loader_rows].to_numpy().copy()) for name in table.column_names}

    class MapStyle(torch.utils.data.Dataset):
        def __len__(self):
            return loader_rows

        def __getitem__(self, i):
            return {name: values[i] for name, values in columns.items()}

    def loader():
        for _ in DataLoader(MapStyle(), batch_size=1024, shuffle=True, num_workers=2):
            pass

    seconds = statistics.median(timed(loader) for _ in range(3))
    theirs = loader_rows / seconds
    note = f"× torch map-style DataLoader, 2 workers ({theirs / 1e6:.3f} M rows/s)"
    bench.report("  the same", our_rows_per_second / theirs, note, 50)


def bench_cold_fill(bench):
    folder = narrow_table(bench)
    pa.set_cpu_count(os.cpu_count())
    ours_times, theirs_times = [], []
    for i in range(ROUNDS):
        theirs_times.append(timed(lambda: pyarrow.dataset.dataset(folder).to_table()))
        # A store, and so a node, that holds nothing yet.
        dataset = forebay.open(str(folder), store=f"mem:{(4 << 30) + i}B")
        ours_times.append(timed(lambda: map_everything(dataset)))
        end_node(dataset)
    value = statistics.median(b / a for a, b in zip(ours_times, theirs_times))
    note = f"× pyarrow to_table ({statistics.median(theirs_times):.2f} s; ours {statistics.median(ours_times):.2f} s)"
    bench.report("cold fill into memory, until every row is mapped", value, note, 0.6)


def map_everything(dataset):
    next(iter(dataset.batches(1, shuffle="global")))


def bench_permutation(bench):
    out = subprocess.run(
        [BUILD / "bench" / "plan_bench", "--benchmark_format=json", "--benchmark_filter=ForwardRange"], capture_output=True, text=True, check=True
    )
    worst = max(b["ns/index"] for b in json.loads(out.stdout)["benchmarks"])
    bench.report("permutation, worst of 2^k−1, 2^k, 2^k+1", worst, "per index", 5, "ns")


def many_files(bench):
    """10,000 files with 1e9 rows: a column of one value, so that they stay small."""
    folder = bench.folder / "many"
    if not folder.exists():
        folder.mkdir()
        pq.write_table(pa.table({"x": np.zeros(100_000, dtype=np.int8)}), folder / "0.parquet")
        for i in range(1, 10_000):
            shutil.copy(folder / "0.parquet", folder / f"{i}.parquet")
    return folder


def node_bench(path, store):
    out = subprocess.run([BUILD / "bench" / "node_bench", path, store], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def bench_open(bench):
    found = node_bench(many_files(bench), "mem:1GiB")
    extra = found["open_ms"] - found["list_ms"]
    note = f"besides the listing ({found['list_ms']:.0f} ms), {found['objects']} files, {found['rows']:.0e} rows"
    bench.report("open a warm dataset", extra, note, 50, "ms")


def bench_handover(bench):
    found = node_bench(narrow_table(bench), "mem:16GiB")
    bench.report("hand-over of a chunk", found["handover_us"], f"in bulk; one alone {found['single_handover_us']:.0f} µs", 50, "us")


# One of the 8 processes: reads an epoch, waits for the others, reports its memory. Not a
# function here, since a process that imports pyarrow for the bench would be larger.
READER = """
import sys, forebay
dataset = forebay.open(sys.argv[1], store=sys.argv[2])
for batch in dataset.batches(1024, shuffle="global", seed=1, format="numpy"):
    pass
print("done", flush=True)
sys.stdin.readline()
for line in open("/proc/self/smaps_rollup"):
    if line.startswith("Pss:"):
        print(int(line.split()[1]) * 1024, flush=True)
sys.stdin.readline()
"""


def bench_memory(bench):
    folder, store = narrow_table(bench), "mem:16GiB"
    bench.open(folder, store).warmup()
    command = [sys.executable, "-c", READER, str(folder), store]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    readers = [subprocess.Popen(command, **pipes) for _ in range(8)]
    for reader in readers:
        assert reader.stdout.readline() == "done\n"
    found = [ask_memory(reader) for reader in readers]
    for reader in readers:
        reader.communicate("\n")
    table_bytes = NARROW_ROWS * 24
    allowed = 1.1 * table_bytes + 8 * (40 << 20)
    note = f"together {sum(found) >> 20} MiB, allowed {int(allowed) >> 20} MiB, table {table_bytes >> 20} MiB"
    bench.report("memory of 8 processes on one table ÷ allowed", sum(found) / allowed, note, 1.0, "x")


def ask_memory(reader):
    reader.stdin.write("\n")
    reader.stdin.flush()
    return int(reader.stdout.readline())


BENCHES = {
    "sequential": bench_sequential,
    "shuffle-wide": bench_shuffle_wide,
    "shuffle-narrow": bench_shuffle_narrow,
    "cold-fill": bench_cold_fill,
    "permutation": bench_permutation,
    "open": bench_open,
    "handover": bench_handover,
    "memory": bench_memory,
    **clusters.BENCHES,
    **flight.BENCHES,
    **iceberg.BENCHES,
    **kubeflow.BENCHES,
    **loaders.BENCHES,
    **mounts.BENCHES,
}


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory(prefix="forebay-bench-") as folder:
        bench = Bench(os.environ.get("FOREBAY_BENCH_DIR", folder))
        bench.folder.mkdir(exist_ok=True)
        for name, run in BENCHES.items():
            if wanted in name:
                run(bench)
        for dataset in bench.open_datasets:
            end_node(dataset)
    missed = [row[0] for row in bench.rows if not row[-1]]
    if missed:
        print(f"{len(missed)} of {len(bench.rows)} bars missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
