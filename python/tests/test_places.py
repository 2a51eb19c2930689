"""However a place is spelled, every surface takes it for the same one."""

import json
import subprocess

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from flight_server import descriptor, flight_node
from nodes import PROGRAMS

import forebay

# As Spark and Hadoop, browsers, shells and people write a local path.
SPELLINGS = ["{}", "{}/", "{}//", "file:{}", "file://{}", "file://{}/", "file://localhost{}",
             "FILE:{}", "local://{}"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table whose name has blanks and percent signs in it; its decoded namesake is another."""
    root = tmp_path_factory.mktemp("places")
    pq.write_table(pa.table({"x": [7]}), _made(root / "a b c") / "t.parquet")
    pq.write_table(pa.table({"x": [1, 2, 3]}), _made(root / "a b%20c") / "t.parquet")
    return root / "a b%20c"


def _made(path):
    path.mkdir()
    return path


def open_rows(uri, store):
    batches = forebay.open(uri, store=store).batches(2, remainder="keep", format="arrow")
    return [row for batch in batches
            for row in pa.record_batch(batch).column("x").to_pylist()]


def files_names(uri, store):
    return [entry.path for entry in forebay.files(uri, store=store).list()]


def fsspec_names(uri, store):
    fs = fsspec.filesystem("forebay", source=uri, store=store, skip_instance_cache=True)
    return sorted(fs.find(""))


def command(*arguments):
    done = subprocess.run([PROGRAMS / "forebay", *map(str, arguments)], text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def command_inspect(uri, store):
    return json.loads(command("inspect", uri, "--store", store, "-o", "json"))["rows"]


def command_pull(uri, store, tmp_path):
    command("pull", uri, tmp_path / "out", "--store", store)
    return sorted(path.name for path in (tmp_path / "out").iterdir() if path.name[0] != ".")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_python_and_the_command_line_open_every_spelling(folder, store, tmp_path, spelling):
    uri = spelling.format(folder)
    assert open_rows(uri, store) == [1, 2, 3]
    assert files_names(uri, store) == ["t.parquet"]
    assert fsspec_names(uri, store) == ["t.parquet"]
    assert command_inspect(uri, store) == 3
    assert command_pull(uri, store, tmp_path) == ["t.parquet"]


def test_every_spelling_is_one_version(folder, store):
    trees = {forebay.files(spelling.format(folder), store=store).version
             for spelling in SPELLINGS}
    assert len(trees) == 1


def test_flight_takes_every_spelling_and_no_relative_path(folder, tmp_path):
    with flight_node(tmp_path) as node, node.connect() as client:
        for spelling in SPELLINGS:
            info = client.get_flight_info(descriptor(uri=spelling.format(folder)))
            assert info.total_records == 3, spelling
        for relative in ("t", "./t", "file:t"):
            with pytest.raises(pa.ArrowInvalid, match="relative path"):
                client.get_flight_info(descriptor(uri=relative))


def test_one_slash_is_not_taken_for_a_folder(store):
    with pytest.raises(ValueError, match="write s3://name/path"):
        forebay.open("s3:/bucket/table", store=store)


@pytest.mark.parametrize("surface", [forebay.open, forebay.files])
def test_an_option_that_nothing_reads_is_refused(surface, folder, store):
    with pytest.raises(ValueError, match=r"no option s3.endpont; did you mean s3.endpoint\?"):
        surface(folder, store=store, options={"s3.endpont": "http://127.0.0.1:1"})


def test_an_option_of_tables_is_refused_for_files(folder, store):
    with pytest.raises(ValueError, match="forebay.filter is for tables"):
        forebay.files(folder, store=store, options={"forebay.filter": "x > 1"})


def test_what_lies_beside_data_is_passed_over_or_named(tmp_path, store):
    folder = _made(tmp_path / "data")
    pq.write_table(pa.table({"x": [1, 2, 3]}), folder / "t.parquet")
    for name in ("README.md", "_SUCCESS", "LICENSE"):
        (folder / name).write_text("words")
    assert open_rows(str(folder), store) == [1, 2, 3]
    (folder / "more.csv").write_text("x\n4\n")
    with pytest.raises(ValueError, match=r"more.csv is CSV, .* forebay.files\(...\)"):
        forebay.open(folder, store=store)
