"""inspect, warmup and bench on a real node."""

import os
import re
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from programs import write_table


def test_inspect_shows_the_table_and_loads_nothing(cli, table):
    shown = cli.json("inspect", table)
    assert shown["uri"] == f"file://{table}"
    assert re.fullmatch("[0-9a-f]{32}", shown["version"])
    assert (shown["format"], shown["rows"], shown["files"]) == ("parquet", 80_000, 4)
    assert shown["source_bytes"] == sum(p.stat().st_size for p in table.iterdir())
    assert 1 <= shown["units"] <= shown["ranges"]
    assert [(c["name"], c["type"]) for c in shown["columns"]] == [
        ("id", "int64"), ("flag", "bool"), ("text", "string")]
    assert shown["cached"]["rows"] == shown["cached"]["chunks"] == 0
    assert shown["node_pid"] in cli.node_pids()


def test_inspect_of_some_columns_counts_their_chunks_alone(cli, table):
    one = cli.json("inspect", table, "--columns", "id")
    two = cli.json("inspect", table, "--columns", "id,text")
    assert [c["name"] for c in two["columns"]] == ["id", "text"]
    assert one["cached"]["chunk_count"] < two["cached"]["chunk_count"]


def test_inspect_text(cli, table):
    lines = cli.run("inspect", table, "-c", "flag,id").stdout.splitlines()
    assert lines[0] == f"uri      file://{table}"
    assert lines[3:5] == ["rows     80000", lines[4]] and lines[4].startswith("files    4 (")
    assert lines[7].startswith("cached   0.0 %: 0 of 80000 rows, 0 of ")
    assert lines[8:] == ["", "COLUMN  TYPE   NULLABLE  WIDE",
                         "id      int64  yes       no", "flag    bool   yes       no"]


@pytest.mark.fast
def test_warmup_counts_exactly_and_a_second_one_fetches_nothing(cli, table):
    first = cli.json("warmup", table)
    assert first["rows"] == first["row_count"] == 80_000
    assert first["chunks"] == first["chunk_count"] > 0
    assert (first["evicted_chunks"], first["failures"]) == (0, [])
    assert first["fetched_bytes"] > 80_000 * 100
    second = cli.json("warmup", table)
    assert second["fetched_bytes"] == 0
    assert second["chunk_bytes"] == first["chunk_bytes"]
    cached = cli.json("inspect", table)["cached"]
    assert cached == {"rows": 80_000, "chunks": first["chunks"], "chunk_count": first["chunks"]}


def test_warmup_writes_plain_lines_where_there_is_no_terminal(cli, table):
    done = cli.run("warmup", table)
    assert done.returncode == 0
    assert "\r" not in done.stderr and "\x1b" not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert re.match(r"warmup: [0-9.]+ %, \d+ of 80000 rows", line), done.stderr
    assert "rows     80000 of 80000\n" in done.stdout


def test_warmup_draws_a_bar_on_a_terminal(cli, table):
    screen, keyboard = os.openpty()
    done = cli.run("warmup", table, stderr=keyboard, stdout=-1, capture_output=False)
    os.close(keyboard)
    drawn = os.read(screen, 65536).decode()
    os.close(screen)
    assert done.returncode == 0
    assert re.search(r"\rwarmup \[[#.]{24}\] +[0-9.]+ %  \d+/80000 rows", drawn), drawn
    assert drawn.endswith("\r\x1b[K")  # the bar is gone at the end
    assert done.stdout.startswith("uri ")


def test_warmup_names_the_file_that_could_not_be_loaded(cli, tmp_path):
    # Large enough that the bad file is a unit of its own.
    folder = write_table(tmp_path / "t", files=3, rows=150_000)
    bad = folder / "1.parquet"
    data = bytearray(bad.read_bytes())
    data[4:200_000] = bytes(199_996)  # pages are gone, the footer is whole
    bad.write_bytes(data)
    done = cli.run("warmup", folder)
    assert done.returncode == 11, done.stderr
    assert re.search(rf"^forebay: could not load .*{bad}", done.stderr, re.M), done.stderr
    last = done.stderr.splitlines()[-1]
    match = re.fullmatch(r"forebay: only (\d+) of 450000 rows were loaded; "
                         "run warmup again once the cause is gone", last)
    assert match and 0 < int(match[1]) <= 300_000, last
    assert f"rows     {match[1]} of 450000\n" in done.stdout


def test_warmup_says_when_the_store_is_smaller_than_the_table(cli, table):
    cli.env["FOREBAY_STORE"] = f"ssd:{cli.store}:4MiB"
    done = cli.run("warmup", table)
    assert done.returncode == 7, done.stderr
    last = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"forebay: the store is smaller than the table: \d+ of \d+ chunks left "
                        r"it again while it was loaded; give --store at least [0-9.]+ MiB, or "
                        "name fewer --columns", last), last
    assert cli.run("warmup", table, "-c", "id").returncode == 0


WRONG = [
    ("{tmp}/missing", [], 3, "missing"),
    ("{tmp}/empty", [], 3, "empty"),
    ("{table}", ["--columns", "id,nope"], 2, "there is no column 'nope'"),
    ("frob://x/y", [], 10, "frob"),
]


@pytest.mark.parametrize("verb", ["inspect", "warmup", "bench"])
@pytest.mark.parametrize("uri, more, code, words", WRONG, ids=[w[0] for w in WRONG])
def test_a_table_that_cannot_be_opened(cli, table, tmp_path, verb, uri, more, code, words):
    (tmp_path / "empty").mkdir()
    done = cli.run(verb, uri.format(tmp=tmp_path, table=table), *more)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.startswith("forebay: ") and done.stderr.count("\n") == 1
    assert words in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_nobody_may_read_is_exit_code_4(cli, tmp_path):
    folder = write_table(tmp_path / "t", files=1, rows=10)
    (folder / "0.parquet").chmod(0)
    assert cli.run("inspect", folder).returncode == 4


def test_names_do_not_steer_the_terminal(cli, tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"a\x1b[31m": [1], "größe": [2]}), folder / "0.parquet")
    done = cli.run("inspect", folder)
    assert "a?[31m  int64" in done.stdout
    assert "größe   int64" in done.stdout
    assert cli.json("inspect", folder)["columns"][0]["name"] == "a\x1b[31m"


def test_keys_in_a_uri_are_not_shown(cli):
    done = cli.run("inspect", "http://me:secret@127.0.0.1:1/x.parquet", "--timeout", "3s")
    assert done.returncode != 0
    assert "secret" not in done.stdout + done.stderr


def test_bench_prints_ratios_to_a_plain_copy(cli, table):
    shown = cli.json("bench", table, "--passes", 1, "--batch-size", 256)
    passes = {p["pass"]: p for p in shown["passes"]}
    assert list(passes) == ["copy", "sequential", "global"]
    assert passes["copy"]["of_copy"] == 1
    for name in ("sequential", "global"):
        assert passes[name]["rows"] == 80_000
        assert passes[name]["bytes"] >= 80_000 * (8 + 100)
        assert passes[name]["of_copy"] == pytest.approx(
            passes[name]["gb_per_second"] / passes["copy"]["gb_per_second"])
    text = cli.run("bench", table, "--passes", 1).stdout.splitlines()
    assert text[0].split() == ["PASS", "ROWS/S", "GB/S", "OF", "COPY"]
    assert text[1].split()[0] == "copy" and text[1].split()[-1] == "1.00"


def test_bench_of_an_empty_table_says_so(cli, tmp_path):
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t" / "0.parquet")
    done = cli.run("bench", tmp_path / "t")
    assert done.returncode == 2
    assert done.stderr == "forebay: the table has no rows: there is nothing to measure\n"


def test_a_second_verb_after_the_node_died_finds_everything(cli, table):
    cli.json("warmup", table)
    (pid,) = cli.node_pids()
    cli.end_nodes()
    shown = cli.json("inspect", table)
    assert shown["cached"]["rows"] == 80_000
    assert shown["node_pid"] != pid


def test_the_store_can_be_named(cli, table, tmp_path):
    other = tmp_path / "other"
    cli.json("warmup", table, "--store", f"ssd:{other}")
    assert cli.json("store", "ls", other)["chunk_count"] > 0
    assert not cli.store.exists()
    shutil.rmtree(other)
