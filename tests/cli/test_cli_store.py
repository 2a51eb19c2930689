"""store ls, verify and gc on directories that a real warmup filled."""

import os
import re
import time

import pytest


@pytest.fixture
def filled(cli, table):
    """A store with a whole table in it, and no node."""
    cli.json("warmup", table)
    cli.end_nodes()
    return cli.store


def chunk_files(store):
    return sorted(p for p in store.glob("chunks/*/*") if p.is_file())


def test_ls_lists_what_is_there_and_changes_nothing(cli, filled):
    def state():
        return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in filled.rglob("*")}
    before = state()
    listed = cli.json("store", "ls", filled)
    assert state() == before
    files = chunk_files(filled)
    assert listed["chunk_count"] == len(listed["chunks"]) == len(files)
    assert listed["bytes"] == sum(p.stat().st_size for p in files)
    assert {c["key"] for c in listed["chunks"]} == {p.name[:32] for p in files}
    assert {c["kind"] for c in listed["chunks"]} == {"table", "manifest"}
    used = [c["last_use"] for c in listed["chunks"]]
    assert used == sorted(used, reverse=True)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", t) for t in used)


def test_ls_text(cli, filled):
    done = cli.run("store", "ls", filled)
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["KEY", "KIND", "SIZE", "LAST", "USE"]
    assert len(lines) == 1 + len(chunk_files(filled))
    assert re.fullmatch(rf"forebay: {len(lines) - 1} chunks, [0-9.]+ MiB\n", done.stderr)


def test_ls_works_without_permission_to_write(cli, filled):
    os.chmod(filled, 0o500)
    try:
        assert cli.json("store", "ls", filled)["chunk_count"] > 0
    finally:
        os.chmod(filled, 0o700)


def test_verify_of_a_good_store(cli, filled):
    report = cli.json("store", "verify", filled)
    files = chunk_files(filled)
    assert report == {"chunk_count": len(files), "corrupt": 0, "bad": [],
                      "bytes": sum(p.stat().st_size for p in files)}


DAMAGE = {
    "flipped": lambda p, d: p.write_bytes(d[:100] + bytes([d[100] ^ 1]) + d[101:]),
    "cut": lambda p, d: p.write_bytes(d[:-1]),
    "longer": lambda p, d: p.write_bytes(d + b"\0"),
    "empty": lambda p, d: p.write_bytes(b""),
    "zeroed": lambda p, d: p.write_bytes(bytes(len(d))),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_verify_finds_damage_and_the_table_comes_back(cli, table, filled, damage):
    files = chunk_files(filled)
    victim = max(files, key=lambda p: p.stat().st_size)
    DAMAGE[damage](victim, victim.read_bytes())
    done = cli.run("store", "verify", filled)
    assert done.returncode == 6, done.stderr
    assert f"forebay: chunk {victim.name[:32]}: " in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"forebay: 1 of {len(files)} chunks are corrupt and no longer served; they are in "
        f"{filled}/quarantine and will be read from the source again")
    assert not victim.exists()
    assert len(list((filled / "quarantine").iterdir())) == 1
    assert cli.json("store", "verify", filled)["corrupt"] == 0
    again = cli.json("warmup", table)
    assert again["rows"] == 80_000 and again["fetched_bytes"] > 0
    assert len(chunk_files(filled)) == len(files)


def test_gc_removes_debris_of_dead_writers_only(cli, filled):
    good = len(chunk_files(filled))
    temp = filled / "tmp"
    temp.mkdir(exist_ok=True)
    old = temp / "left-behind"
    old.write_bytes(b"x" * 1000)
    os.utime(old, (time.time() - 7200,) * 2)
    young = temp / "being-written"
    young.write_bytes(b"x")
    report = cli.json("store", "gc", filled)
    assert (report["temp_files"], report["temp_bytes"]) == (1, 1000)
    assert not old.exists() and young.exists()
    assert report["evicted_chunks"] == 0
    assert report["chunks_left"] == good == len(chunk_files(filled))


def test_gc_moves_foreign_files_aside(cli, filled):
    bucket = chunk_files(filled)[0].parent
    (bucket / "stranger").write_bytes(b"hello")
    assert cli.json("store", "gc", filled)["quarantined_files"] == 1
    assert not (bucket / "stranger").exists()


def test_gc_evicts_the_least_recently_used_down_to_the_quota(cli, filled):
    files = chunk_files(filled)
    for age, path in enumerate(files):  # the first is the youngest
        os.utime(path, (time.time() - 100 * age,) * 2)
    total = sum(p.stat().st_size for p in files)
    quota = total - files[-1].stat().st_size - 1
    planned = cli.json("store", "gc", filled, "--quota", f"{quota}B", "--dry-run")
    assert chunk_files(filled) == files
    done = cli.json("store", "gc", filled, "--quota", f"{quota}B")
    assert done == planned
    assert chunk_files(filled) == files[:-2]
    assert (done["evicted_chunks"], done["chunks_left"]) == (2, len(files) - 2)
    assert done["bytes_left"] == sum(p.stat().st_size for p in files[:-2]) <= quota


def test_gc_to_nothing_empties_the_store(cli, table, filled):
    assert cli.json("store", "gc", filled, "--quota", 0)["chunks_left"] == 0
    assert chunk_files(filled) == []
    assert cli.json("warmup", table)["rows"] == 80_000


def test_gc_under_a_running_node_breaks_nothing(cli, table):
    cli.json("warmup", table)
    assert cli.node_pids()
    cli.json("store", "gc", cli.store, "--quota", 0)
    again = cli.json("warmup", table)
    assert again["rows"] == 80_000 and again["fetched_bytes"] > 0


def test_a_store_of_a_newer_format_is_left_alone(cli, filled):
    (filled / "FORMAT").write_text("forebay-store 999\n")
    for verb in ("ls", "verify", "gc"):
        done = cli.run("store", verb, filled)
        assert done.returncode == 10
        assert "use a newer Forebay or another directory" in done.stderr
