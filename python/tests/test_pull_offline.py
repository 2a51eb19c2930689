"""forebay path and pull with a shared directory while the source cannot be reached."""

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest
from nodes import own_node
from test_pull import forebay, own_cache, tree_of  # noqa: F401 - a fixture

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "fuse"))
from s3_server import S3Server

QUICK = ["-O", "http.backoff-ms=1"]  # eight attempts all the same
CONTENTS = {"model.bin": os.urandom(300_000), "a/b.jpg": b"b" * 1000, "a/c/empty": b""}


@pytest.fixture
def server(tmp_path):
    with S3Server(tmp_path / "s3") as server:
        server.make_bucket("models")
        for name, data in CONTENTS.items():
            server.put("models", name, data)
        yield server


@contextlib.contextmanager
def another_host(monkeypatch):
    """Nothing cached, nothing verified, a node of its own."""
    folder = tempfile.mkdtemp()
    try:
        with own_node(folder), monkeypatch.context() as environment:
            environment.setenv("XDG_CACHE_HOME", f"{folder}/cache")
            yield
    finally:
        shutil.rmtree(folder)


def path(server, shared, *words, uri="s3://models/model.bin", check=True):
    return forebay("path", uri, "--shared", shared, *server.options(), *QUICK, *words, check=check)


def pull(server, shared, target, *words, uri="s3://models", check=True):
    return forebay("pull", uri, target, "--shared", shared, *server.options(), *QUICK,
                   "-o", "json", *words, check=check)


def test_a_file_that_hosts_have_is_found_without_its_source(server, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    before = path(server, shared)
    assert before.stderr == ""
    server.process.kill()
    with another_host(monkeypatch):
        start = time.monotonic()
        after = forebay("path", "s3://models/model.bin", "--shared", shared, *server.options())
        assert time.monotonic() - start < 20
        assert after.stdout == before.stdout
        assert Path(after.stdout.strip()).read_bytes() == CONTENTS["model.bin"]
        (line,) = after.stderr.splitlines()
        assert line.startswith("forebay: s3://models/model.bin cannot be reached (")
        assert "going on with its version " in line and line.endswith("s ago")
        pull(server, shared, tmp_path / "copy", uri="s3://models/model.bin")
        assert (tmp_path / "copy").read_bytes() == CONTENTS["model.bin"]


def test_the_version_that_was_seen_last_is_used(server, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    old = path(server, shared).stdout
    server.put("models", "model.bin", b"new")
    new = path(server, shared).stdout
    assert new != old
    server.process.kill()
    with another_host(monkeypatch):
        assert path(server, shared).stdout == new


def test_a_source_that_hangs_is_given_up_in_time(server, tmp_path):
    before = path(server, tmp_path / "shared").stdout
    os.kill(server.process.pid, signal.SIGSTOP)
    start = time.monotonic()
    after = path(server, tmp_path / "shared", "--timeout", "2s")
    assert time.monotonic() - start < 10
    assert after.stdout == before and "cannot be reached" in after.stderr


@pytest.mark.slow
def test_a_source_that_hangs_is_given_up_after_half_a_minute(server, tmp_path):
    before = path(server, tmp_path / "shared").stdout
    os.kill(server.process.pid, signal.SIGSTOP)
    start = time.monotonic()
    assert path(server, tmp_path / "shared").stdout == before
    assert 25 < time.monotonic() - start < 40


def test_a_tree_that_is_there_as_a_whole_comes_without_its_source(server, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    pull(server, shared, tmp_path / "first")
    server.put("models", "a/b.jpg", b"new")
    assert json.loads(pull(server, shared, tmp_path / "first").stdout)["files"] == 1
    server.process.kill()
    with another_host(monkeypatch):
        done = pull(server, shared, tmp_path / "second")
        assert "s3://models cannot be reached" in done.stderr
        assert json.loads(done.stdout)["files"] == len(CONTENTS)
        assert tree_of(tmp_path / "second") == CONTENTS | {"a/b.jpg": b"new"}
        again = pull(server, shared, tmp_path / "second")
        assert json.loads(again.stdout)["files_kept"] == len(CONTENTS)


def test_a_tree_of_which_a_file_is_missing_is_an_error(server, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    pull(server, shared, tmp_path / "first")
    (entry,) = shared.glob("files/*/*/content/b.jpg")
    shutil.rmtree(entry.parents[1])
    server.process.kill()
    with another_host(monkeypatch):
        failed = pull(server, shared, tmp_path / "second", "--timeout", "20s", check=False)
        assert failed.returncode == 8, failed.stderr
        assert "not all files of s3://models are in the shared directory" in failed.stderr
        assert "going on with" not in failed.stderr and not (tmp_path / "second").exists()


def test_a_listing_is_not_kept_of_what_is_not_there(server, tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    forebay("pull", "s3://models", tmp_path / "first", *server.options())
    pull(server, shared, tmp_path / "first")  # has all of it, from elsewhere
    server.process.kill()
    with another_host(monkeypatch):
        failed = pull(server, shared, tmp_path / "second", check=False)
        assert failed.returncode == 8 and len(failed.stderr.splitlines()) == 1, failed.stderr


def test_what_was_never_asked_for_there_is_an_error(server, tmp_path):
    shared = tmp_path / "shared"
    path(server, shared)
    server.process.kill()
    for uri in ("s3://models/a/b.jpg", "s3://models/model.bin?x=1"):
        failed = path(server, shared, uri=uri, check=False)
        assert failed.returncode == 8 and failed.stdout == "", failed.stderr


def test_the_same_name_on_another_server_is_another_file(server, tmp_path):
    shared = tmp_path / "shared"
    path(server, shared)
    elsewhere = [word.replace(server.endpoint, "http://127.0.0.1:9") for word in server.options()]
    failed = forebay("path", "s3://models/model.bin", "--shared", shared, *elsewhere, *QUICK,
                     check=False)
    assert failed.returncode == 8 and failed.stdout == ""


def test_a_source_that_answers_is_believed(server, tmp_path):
    shared = tmp_path / "shared"
    path(server, shared)
    wrong = [word.replace("TESTSECRET", "WRONG") for word in server.options()]
    refused = forebay("path", "s3://models/model.bin", "--shared", shared, *wrong, *QUICK,
                      check=False)
    assert refused.returncode == 4 and refused.stdout == "", refused.stderr
    server.files.delete_file("models/model.bin")
    gone = path(server, shared, check=False)
    assert gone.returncode == 3 and gone.stdout == "", gone.stderr


def test_a_node_that_cannot_be_reached_says_nothing_about_the_source(server, tmp_path):
    shared = tmp_path / "shared"
    path(server, shared)
    failed = path(server, shared, "--node", tmp_path / "none.sock", "--timeout", "3s", check=False)
    assert failed.returncode != 0 and failed.stdout == "", failed.stderr
    assert "going on with" not in failed.stderr


def test_local_files_have_no_listings(server, tmp_path):
    shared = tmp_path / "shared"
    (tmp_path / "model").write_bytes(b"local")
    forebay("path", tmp_path / "model", "--shared", shared)
    assert list((shared / "listings").iterdir()) == []
    path(server, shared)
    assert len(list((shared / "listings").iterdir())) == 1
