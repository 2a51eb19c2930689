"""What the tests share: each has a store and a private node of its own, which leaves with
it, and tables are made once."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nodes import PROGRAMS, own_node


@pytest.fixture(autouse=True)
def store(tmp_path):
    """The store spec of this test."""
    with own_node(tmp_path) as spec:
        yield spec


@pytest.fixture(autouse=True)
def no_import_in_forked_workers():
    """torch imports this when a worker sends its first tensor, in a thread of its own. Where
    the worker was forked while another thread imported, it waits for that import for ever."""
    if "torch" in sys.modules:
        import torch.nested._internal.nested_tensor  # noqa: F401


@pytest.fixture
def quiet_torch():
    """Warnings about workers that these tests mean to have."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")
        warnings.filterwarnings("ignore", "'set_vital' is deprecated")  # torchdata's
        warnings.filterwarnings("ignore", ".*use of fork\\(\\) may lead to deadlocks.*")
        yield


@pytest.fixture
def node_status():
    """Asks the test's only node."""
    def ask():
        command = [PROGRAMS / "forebay", "status", "-o", "json"]
        text = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
        nodes = json.loads(text)["nodes"]
        assert len(nodes) == 1
        return nodes[0]
    return ask


@pytest.fixture
def run_python():
    """Runs a program in a new Python, to its end, and gives back what it printed."""
    def run(code, *arguments, timeout=120):
        command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


def write_numbers(folder, rows, files=3, rows_per_group=700):
    """x is the row's number; the others follow from it."""
    folder.mkdir(parents=True)
    bounds = np.linspace(0, rows, files + 1).astype(int)
    for i in range(files):
        x = np.arange(bounds[i], bounds[i + 1])
        table = pa.table({
            "x": x, "y": x.astype("f4") / 2, "flag": x % 3 == 0,
            "name": pa.array([f"row {v}" for v in x], pa.string()),
            "vector": pa.FixedSizeListArray.from_arrays(
                pa.array(np.repeat(x, 4).astype("f4")), 4)})
        pq.write_table(table, folder / f"{i:03}.parquet", row_group_size=rows_per_group)
    return folder


@pytest.fixture(scope="session")
def numbers(tmp_path_factory):
    """5,000 rows in three files; row i has x == i."""
    return write_numbers(tmp_path_factory.mktemp("numbers") / "table", 5000)


@pytest.fixture(scope="session")
def small_tables(tmp_path_factory):
    """Tables by their number of rows."""
    base = tmp_path_factory.mktemp("small")
    return {rows: write_numbers(base / str(rows), rows, files=1) for rows in (0, 1, 3, 10, 97)}


@pytest.fixture(scope="session")
def large(tmp_path_factory):
    """About 100 MB decoded, in several row ranges."""
    folder = tmp_path_factory.mktemp("large") / "table"
    folder.mkdir()
    rng = np.random.default_rng(1)
    rows = 200_000
    for i in range(4):
        x = np.arange(i * rows, (i + 1) * rows)
        columns = {f"c{k}": rng.random(rows) for k in range(15)}
        pq.write_table(pa.table({"x": x, **columns}), folder / f"{i}.parquet",
                       row_group_size=50_000, compression="none")
    return folder
