"""Speeds of Iceberg tables: planning, fills, deletes of every kind, pruning."""

import json
import os
import statistics
import subprocess
import sys

import forebay
import numpy as np
import pyarrow as pa
from harness import BUILD, NARROW_ROWS, ROOT, ROUNDS, end_node, timed

sys.path.insert(0, str(ROOT / "tests" / "tables"))
from iceberg_writer import File, IcebergTable  # noqa: E402

COLUMNS = [("id", "long"), ("x", "double"), ("y", "float"), ("label", "int")]
FILES = 50


def made(bench, name, make):
    """A table in the bench's folder, made once."""
    folder = bench.folder / name
    if not folder.exists():
        make(folder)
    return folder


def part_of_table(i, rows):
    rng = np.random.default_rng(i)
    return pa.table({"id": np.arange(i * rows, (i + 1) * rows), "x": rng.random(rows),
                     "y": rng.random(rows, dtype=np.float32),
                     "label": rng.integers(0, 10, rows, dtype=np.int32)})


def table_with_data(folder, version=2):
    table = IcebergTable(folder, COLUMNS, version)
    rows = NARROW_ROWS // FILES
    data = [table.data_file(part_of_table(i, rows)) for i in range(FILES)]
    table.commit(data=data)
    return table, data


def dead_rows(i, rows):
    """A tenth of a file's rows, the same ones for every kind of delete."""
    return np.sort(np.random.default_rng(1000 + i).choice(rows, rows // 10, replace=False))


def with_position_deletes(folder):
    table, data = table_with_data(folder)
    deletes = []
    for i, file in enumerate(data):
        for part in np.array_split(dead_rows(i, file.rows), 1000 // FILES):
            deletes.append(table.position_deletes({file.path: part}))
    table.commit(deletes=deletes)


def with_deletion_vectors(folder):
    table, data = table_with_data(folder, version=3)
    table.commit(deletes=table.deletion_vectors(
        {file.path: dead_rows(i, file.rows) for i, file in enumerate(data)}))


def with_equality_deletes(folder):
    table, _ = table_with_data(folder)
    keys = np.random.default_rng(7).choice(NARROW_ROWS, 50 * 10_000, replace=False)
    table.commit(deletes=[table.equality_deletes(pa.table({"id": part}))
                          for part in np.array_split(keys, 50)])


def ready(folder, number):
    """Seconds from nothing until every row of the version is in the store."""
    store = f"mem:{(8 << 30) + number}B"
    opened = []

    def work():
        opened.append(forebay.open(str(folder), store=store))
        opened[0].warmup()

    seconds = timed(work)
    end_node(opened[0])
    return seconds


def ready_ratio(ours, theirs):
    pairs = [(ready(theirs, 2 * i), ready(ours, 2 * i + 1)) for i in range(ROUNDS)]
    note = f"{statistics.median(a for a, _ in pairs):.2f} s; ours {statistics.median(b for _, b in pairs):.2f} s"
    return statistics.median(a / b for a, b in pairs), note


def bench_fill(bench):
    plain = made(bench, "iceberg-plain", table_with_data)
    # The same files, as a folder of Parquet.
    value, note = ready_ratio(plain, plain / "data")
    bench.report("Iceberg fill, no deletes", value, f"× plain Parquet fill ({note})", 0.9)


def bench_deletes(bench):
    plain = made(bench, "iceberg-plain", table_with_data)
    for name, make, bar in (("position deletes, 1,000 files", with_position_deletes, 0.7),
                            ("deletion vectors", with_deletion_vectors, 0.85),
                            ("equality deletes, 50 × 10,000 keys", with_equality_deletes, 0.5)):
        folder = made(bench, "iceberg-" + name.split()[0], make)
        value, note = ready_ratio(folder, plain)
        bench.report(f"version ready with {name}", value, f"× without ({note})", bar)


def bench_selection(bench):
    """A shuffled epoch through a selection against one without."""
    with_deletes = made(bench, "iceberg-position", with_position_deletes)
    plain = made(bench, "iceberg-plain", table_with_data)
    tables = [bench.open(folder) for folder in (with_deletes, plain)]
    for table in tables:
        table.warmup()

    def per_row(table):
        batches = table.batches(1024, shuffle="global", seed=1)
        next(iter(batches))
        return timed(lambda: [None for _ in batches]) / table.num_rows

    costs = [[per_row(table) for table in tables] for _ in range(ROUNDS)]
    value = statistics.median(a / b for a, b in costs)
    bench.report("gather through a selection, per row", value, "× without", 1.3, "x")


def large_metadata(folder):
    """100,000 data files in 200 manifests; the files themselves are not there."""
    table = IcebergTable(folder, COLUMNS, partition=("label", "identity"))
    files = [File(str(folder / "data" / f"{i:06}.parquet"), 1000, 12345,
                  partition={"label_identity": i % 100}, lower={1: i * 1000, 3: "a"},
                  upper={1: i * 1000 + 999, 3: "z"}) for i in range(100_000)]
    table.commit(data=files, files_per_manifest=500)


def bench_plan(bench):
    folder = made(bench, "iceberg-large", large_metadata)
    metadata = folder / "metadata" / "v1.metadata.json"

    def ours():
        out = subprocess.run([BUILD / "bench" / "scan_bench", metadata], capture_output=True,
                             text=True, check=True)
        found = json.loads(out.stdout)
        assert found["files"] == 100_000
        return found["seconds"]

    from pyiceberg.table import StaticTable
    table = StaticTable.from_metadata(metadata.as_uri())

    def theirs():
        return timed(lambda: len(list(table.scan().plan_files())))

    pairs = [(theirs(), ours()) for _ in range(min(ROUNDS, 3))]
    seconds = statistics.median(b for _, b in pairs)
    value = statistics.median(a / b for a, b in pairs)
    bench.report("planning 100,000 files in 200 manifests", value, "× PyIceberg", 5)
    bench.report("planning 100,000 files in 200 manifests", seconds, "", 1.5, "s")


def many_columns(folder):
    names = [(f"c{i}", "double") for i in range(300)]
    table = IcebergTable(folder, names)
    rng = np.random.default_rng(3)
    table.commit(data=[
        table.data_file(pa.table({name: rng.random(20_000) for name, _ in names}))
        for _ in range(8)])


def bench_projection(bench):
    folder = made(bench, "iceberg-columns", many_columns)
    size = sum(f.stat().st_size for f in (folder / "data").iterdir())
    dataset = forebay.open(str(folder), columns=["c7", "c100", "c299"], store="mem:1000000001B")
    state = dataset.warmup()
    fetched = source_bytes(dataset)
    end_node(dataset)
    assert state.rows_done == 160_000
    bench.report("3 of 300 columns: bytes read", 100 * fetched / size, f"of {size >> 20} MiB", 5, "%")


def source_bytes(dataset):
    """All bytes that the dataset's node has read from its sources."""
    out = subprocess.run([ROOT / "bin" / "forebay", "status", "-o", "json"],
                         capture_output=True, text=True, check=True)
    pid = dataset._table.node_pid()
    node = next(n for n in json.loads(out.stdout)["nodes"] if n["pid"] == pid)
    return node["source_bytes"]


def days(folder):
    table = IcebergTable(folder, [("day", "date"), ("x", "double")], partition=("day", "day"))
    data = []
    for day in range(365):
        rows = pa.table({"day": pa.array(np.full(1000, 20000 + day, "i4"), pa.date32()),
                         "x": np.random.default_rng(day).random(1000)})
        data += [table.data_file(rows, partition={"day_day": 20000 + day}) for _ in range(4)]
    table.commit(data=data, files_per_manifest=100)


def bench_pruning(bench):
    folder = made(bench, "iceberg-days", days)
    out = subprocess.run(
        [ROOT / "bin" / "forebay", "inspect", folder, "--filter", "day = '2025-01-01'",
         "--store", "mem:1000000002B", "-o", "json"], capture_output=True, text=True, check=True)
    files = json.loads(out.stdout)["files"]
    bench.report("one day of 365: data files opened", 100 * files / 1460, f"{files} of 1460", 1, "%")


BENCHES = {
    "iceberg-plan": bench_plan,
    "iceberg-fill": bench_fill,
    "iceberg-deletes": bench_deletes,
    "iceberg-selection": bench_selection,
    "iceberg-projection": bench_projection,
    "iceberg-pruning": bench_pruning,
}
