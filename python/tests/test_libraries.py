"""The libraries people read files with, on a tree that is a folder or a bucket of a real S3
server: pandas, pyarrow, DuckDB, polars, PIL, torch, Hugging Face datasets, Ray."""

import json
import multiprocessing
import os
import random
import subprocess
import sys
from pathlib import Path

import duckdb
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from test_s3 import s3  # noqa: F401 - a fixture

fsspec = pytest.importorskip("fsspec")
Image = pytest.importorskip("PIL.Image")

HERE = Path(__file__).parent
OLD = 1_600_000_000  # a file of a local source must be 2 s old before it is read
ROWS = [(i, f"row {i}") for i in range(1000)]
COLORS = {f"images/{kind}/{i}.png": (10 * i, 200 if kind == "cat" else 0, 7)
          for kind in ("cat", "dog") for i in range(5)}
PARTS = {f"parts/{i}.bin": random.Random(i).randbytes(size)
         for i, size in enumerate([0, 1, 1000, 65_536, 300_000])}


def write_everything(folder):
    for name in ("table", "sheets", "parts", "images/cat", "images/dog"):
        (folder / name).mkdir(parents=True)
    for i in range(2):
        part = pd.DataFrame(ROWS[i * 500:(i + 1) * 500], columns=["x", "name"])
        part.to_parquet(folder / f"table/{i}.parquet", row_group_size=100)
        part.to_csv(folder / f"sheets/{i}.csv", index=False)
    for name, color in COLORS.items():
        Image.new("RGB", (32, 24), color).save(folder / name)
    for name, data in PARTS.items():
        (folder / name).write_bytes(data)
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD))


@pytest.fixture(scope="module")
def trees(s3, tmp_path_factory):  # noqa: F811
    """The arguments of the file system, as storage options, by where the tree is."""
    folder = tmp_path_factory.mktemp("tree")
    write_everything(folder)
    options, files = s3
    files.create_dir("tree")
    pa.fs.copy_files(str(folder), "tree", destination_filesystem=files)
    return {"local": {"source": str(folder)}, "s3": {"source": "s3://tree", "options": options}}


@pytest.fixture(params=["local", "s3"])
def how(request, trees):
    return trees[request.param]


@pytest.fixture
def fs(how):
    return fsspec.filesystem("forebay", **how, skip_instance_cache=True)


def rows_of(table):
    return list(zip(table["x"].to_pylist(), table["name"].to_pylist(), strict=True))


def test_pandas(how):
    tables = [pd.read_parquet(f"forebay://table/{i}.parquet", storage_options=how)
              for i in range(2)]
    sheets = [pd.read_csv(f"forebay://sheets/{i}.csv", storage_options=how) for i in range(2)]
    for parts in (tables, sheets, [pd.read_parquet("forebay://table", storage_options=how)]):
        assert list(pd.concat(parts).itertuples(index=False, name=None)) == ROWS


def test_pyarrow(fs):
    assert rows_of(pq.read_table("table", filesystem=fs)) == ROWS
    assert rows_of(pq.read_table("table/1.parquet", filesystem=fs)) == ROWS[500:]
    assert pq.ParquetFile(fs.open("table/0.parquet")).read_row_group(1)["x"][0].as_py() == 100
    for format, name in (("parquet", "table"), ("csv", "sheets")):
        dataset = pa.dataset.dataset(name, filesystem=fs, format=format)
        assert sorted(rows_of(dataset.to_table())) == ROWS
        found = dataset.to_table(filter=pa.dataset.field("x") == 700, columns=["name"])
        assert found["name"].to_pylist() == ["row 700"]


def test_duckdb_and_polars(fs):
    with duckdb.connect() as db:
        db.register_filesystem(fs)
        assert db.sql("select x, name from 'forebay://table/*.parquet' order by x").fetchall() == ROWS
        assert db.sql("select x, name from 'forebay://sheets/*.csv' order by x").fetchall() == ROWS
    assert polars.read_parquet(fs.open("table/0.parquet")).rows() == ROWS[:500]
    assert polars.read_csv(fs.open("sheets/1.csv")).rows() == ROWS[500:]


def test_images(fs):
    for name, color in COLORS.items():
        with fs.open(name) as file, Image.open(file) as image:
            assert image.size == (32, 24) and image.getpixel((31, 23)) == color


class Pieces:
    """A map-style dataset, as people write them."""

    def __init__(self, fs):
        self.fs, self.names = fs, sorted(fs.find("parts"))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        with self.fs.open(self.names[i]) as file:
            return self.names[i], file.read(), os.getpid()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_torch(fs, context, quiet_torch):
    data = pytest.importorskip("torch.utils.data")
    loader = data.DataLoader(Pieces(fs), batch_size=None, num_workers=2,
                             multiprocessing_context=context)
    found = list(loader)
    assert {name: data for name, data, _ in found} == PARTS
    assert os.getpid() not in {pid for _, _, pid in found}


def read_part(fs, name):
    return fs.cat(name)


def test_a_pool_of_processes(fs):
    fs.cat("parts/2.bin")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.starmap(read_part, [(fs, name) for name in PARTS])
    assert found == list(PARTS.values())


def run_job(library, cache, *arguments):
    """A program beside this file, with a library of build/rivals; what it printed."""
    folder = HERE.parents[1] / "build/rivals" / library
    if not folder.exists():
        pytest.skip(f"{library} is not there: run tools/setup-test")
    environment = {**os.environ, "PYTHONPATH": str(folder), "HF_HOME": str(cache),
                   "HF_ENDPOINT": "http://127.0.0.1:9", "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run([sys.executable, HERE / f"{library}_jobs.py", *arguments],
                          env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout.splitlines()[-1])


PAIRS = [list(row) for row in ROWS]
LABELLED = sorted([name.split("/")[1], list(color)] for name, color in COLORS.items())
EXPECTED = {
    "parquet": PAIRS, "csv_by_two_processes": PAIRS, "streamed_parquet": PAIRS,
    "streamed_csv": PAIRS, "streamed_by_workers": PAIRS, "streamed_by_spawned_workers": PAIRS,
    "images": LABELLED, "streamed_images": LABELLED,
    "map_by_two_processes": [[name, len(data)] for name, data in PARTS.items()]}


@pytest.mark.parametrize("job", EXPECTED)
def test_datasets(trees, tmp_path, job):
    if job == "streamed_by_spawned_workers":  # seconds for each
        trees = {"s3": trees["s3"]}
    for place, how in trees.items():  # URLs do not name the source: each has a cache of its own
        assert run_job("datasets", tmp_path / place, job, json.dumps(how)) == [EXPECTED[job]], place


def test_datasets_takes_no_copy_for_another(tmp_path):
    """URLs do not name the source. With a DownloadConfig copies are known by their ETag too."""
    def write(name, text, when):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "one.csv").write_text(f"x,name\n1,{text}\n")
        os.utime(tmp_path / name / "one.csv", (when, when))
    hows = [json.dumps({"source": str(tmp_path / name)}) for name in "ab"]
    write("a", "one", OLD)
    write("b", "two", OLD)
    found = run_job("datasets", tmp_path / "hf", "one_sheet", *hows)
    assert found == [[[1, "one"]], [[1, "two"]]]
    write("a", "new", OLD + 1)
    assert run_job("datasets", tmp_path / "hf", "one_sheet", hows[0]) == [[[1, "new"]]]


def test_ray(trees, tmp_path):
    for found in run_job("ray", tmp_path, *map(json.dumps, trees.values())):
        assert sorted(found["parquet"]) == sorted(found["csv"]) == PAIRS
        assert {name: bytes.fromhex(data) for name, data in found["binary"]} == PARTS
        assert {name: tuple(color) for name, color in found["images"]} == COLORS
        assert dict(found["map"]) == {name: len(data) for name, data in PARTS.items()}
